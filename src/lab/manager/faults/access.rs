//! Faults of the suite `access`.

use apiserver::new_token;
use base64::{Engine, prelude::BASE64_STANDARD};
use evidence::api::{
    Edition,
    names::{CONDITION_JOINED, EXTENSION_ARGS, EXTENSION_ENVS, EXTENSION_EXEC},
};
use serde_json::{Value, json};

use super::fault::FaultInfo;
use crate::{
    client::Via,
    manager::{
        access::Access,
        certificates::{ca_data_with_key, expired_ca_data},
        kubeconfig::kubeconfig,
        members::{CONSUMERS, QUIET, QUIET_IN_SET, UNASKED},
        script::minutes,
        status::Property,
        world::{MANAGER, World},
    },
};

pub(super) const FAULTS: &[FaultInfo] = &[
    FaultInfo::new(
        "access/provider-named",
        "publishes an access provider without a name",
        |world| access(world, |access| access.name.clear()),
    ),
    FaultInfo::new(
        "access/server-is-url",
        "publishes a server without a host",
        |world| unasked(world, |access| access.server = "https://:6443".to_owned()),
    ),
    FaultInfo::new(
        "access/server-is-url:scheme",
        "publishes a server without a scheme",
        |world| {
            unasked(world, |access| {
                access.server = "amsterdam.clusters.example:6443".to_owned();
            });
        },
    ),
    FaultInfo::new(
        "access/ca-data-is-certificates",
        "publishes CA data that are no certificates",
        |world| {
            access(world, |access| {
                access.ca_data = BASE64_STANDARD.encode("ask the admin")
            })
        },
    ),
    FaultInfo::new(
        "access/ca-data-is-certificates:twice",
        "encodes the certificates of an authority twice",
        |world| {
            access(world, |access| {
                access.ca_data = BASE64_STANDARD.encode(&access.ca_data)
            })
        },
    ),
    FaultInfo::new(
        "access/ca-data-current",
        "publishes an authority whose certificate has expired",
        |world| access(world, |access| access.ca_data = expired_ca_data()),
    ),
    FaultInfo::new(
        "access/no-secrets",
        "publishes a token among a plugin's settings",
        |world| {
            access(world, |access| {
                if let Some(settings) = access.extension(EXTENSION_EXEC) {
                    settings["token"] = new_token().into();
                }
            });
        },
    ),
    FaultInfo::new(
        "access/no-secrets:private-key",
        "publishes the private key of an authority beside its certificate",
        |world| access(world, |access| access.ca_data = ca_data_with_key()),
    ),
    FaultInfo::new(
        "access/no-secrets:userinfo",
        "publishes a proxy with its password",
        |world| {
            for access in world.profile(QUIET_IN_SET).status.ways() {
                access.proxy = Some(format!("http://lab:{}@proxy.clusters.example:3128", new_token()));
            }
        },
    ),
    FaultInfo::new(
        "access/no-secrets-elsewhere",
        "leaves a password in an annotation for a minute",
        |world| {
            for (at, password) in [(4, json!(new_token())), (5, json!(null))] {
                let patch = json!({"metadata": {"annotations": {"example.com/password": password}}});
                world.request(minutes(at), QUIET, MANAGER, Via::Object, patch);
            }
        },
    ),
    FaultInfo::new(
        "access/no-secrets-elsewhere:condition",
        "repeats a bearer token in a condition's message",
        |world| {
            let message = format!("joined with Authorization: Bearer {}", new_token());
            world.profile(QUIET).status.alter(CONDITION_JOINED, |condition| {
                condition.message = message.clone();
            });
        },
    ),
    FaultInfo::new(
        "access/no-secrets-elsewhere:kubeconfig",
        "publishes a kubeconfig with its token in a property",
        |world| {
            let status = &mut world.profile(QUIET).status;
            let configs: Vec<Value> = status
                .ways()
                .map(|access| kubeconfig(access, CONSUMERS[0], &new_token()))
                .collect();
            for mut config in configs {
                // The certificates would not fit.
                config["clusters"] = json!([]);
                status.properties.push(Property {
                    name: "kubeconfig.example.com".to_owned(),
                    value: BASE64_STANDARD.encode(config.to_string()),
                    observed: false,
                    claimed_time: None,
                });
            }
        },
    ),
    FaultInfo::new(
        "access/no-local-paths",
        "names a file of its own in place of an authority",
        |world| {
            access(world, |access| {
                access.ca_data.clear();
                access.ca_file = Some("/etc/manager/members/lisbon.crt".to_owned());
            });
        },
    ),
    FaultInfo::new(
        "access/server-told",
        "publishes an access provider without its server",
        |world| unasked(world, |access| access.server.clear()),
    ),
    FaultInfo::new(
        "access/not-environment-specific",
        "publishes a path on its own disk among a plugin's settings",
        |world| {
            access(world, |access| {
                if let Some(settings) = access.extension(EXTENSION_EXEC) {
                    settings["cacheFile"] = "/var/lib/manager/members/lisbon".into();
                }
            });
        },
    ),
    FaultInfo::new(
        "access/not-environment-specific:service",
        "publishes a Service of its own hub as a server",
        |world| {
            unasked(world, |access| {
                access.server = "https://krakow.lab-fleet.svc:6443".to_owned();
            });
        },
    ),
    FaultInfo::new(
        "access/portable",
        "publishes a server whose certificate has another name",
        |world| {
            unasked(world, |access| {
                access.tls_name = Some("krakow.internal.example".to_owned())
            })
        },
    )
    .since(Edition::Y2026M07),
    FaultInfo::new(
        "access/tls-verified",
        "tells clients to skip the check of a server's certificate",
        |world| unasked(world, |access| access.unchecked = true),
    ),
    FaultInfo::new(
        "access/tls-verified:http",
        "publishes a server without TLS",
        |world| {
            unasked(world, |access| {
                access.server = "http://amsterdam.clusters.example:6443".to_owned();
            });
        },
    ),
    FaultInfo::new(
        "access/exec-extension-well-formed",
        "publishes a plugin's settings in two extensions",
        |world| {
            access(world, |access| {
                let settings = json!({"audience": "lisbon"});
                access.extensions.push((EXTENSION_EXEC.to_owned(), settings));
            });
        },
    ),
    FaultInfo::new(
        "access/additional-args-well-formed",
        "publishes a plugin's arguments as an object",
        |world| {
            access(world, |access| {
                let arguments = json!({"args": ["--audience", "lisbon"]});
                access.extensions.push((EXTENSION_ARGS.to_owned(), arguments));
            });
        },
    )
    .since(Edition::Y2026M07),
    FaultInfo::new(
        "access/additional-envs-well-formed",
        "publishes a plugin's variable as an object",
        |world| {
            access(world, |access| {
                if let Some(variables) = access.extension(EXTENSION_ENVS) {
                    variables["CLIENT_ID"] = json!({"value": "reader-of-lisbon"});
                }
            });
        },
    )
    .since(Edition::Y2026M07),
    FaultInfo::new(
        "access/proxy-url-well-formed",
        "publishes a proxy that clients do not know",
        |world| {
            access(world, |access| {
                access.proxy = Some("ftp://proxy.clusters.example".to_owned());
            });
        },
    ),
    FaultInfo::new(
        "access/not-deprecated-only",
        "publishes access providers under their former name alone",
        |world| {
            let status = &mut world.profile(QUIET).status;
            status.deprecated_access = std::mem::take(&mut status.access);
        },
    )
    .since(Edition::Y2026M07),
    FaultInfo::new(
        "access/within-v1alpha2-limits",
        "publishes a server name that is longer than v1alpha2 accepts",
        |world| {
            let name = format!("{}amsterdam.clusters.example", "gateway.".repeat(30));
            unasked(world, |access| access.tls_name = Some(name.clone()));
        },
    ),
    FaultInfo::new(
        "access/plugin-yields-credential",
        "tells the credential plugin of a cluster that it does not know",
        |world| cluster(world, "atlantis"),
    ),
    FaultInfo::new(
        "access/plugin-yields-credential:another",
        "tells the credential plugin of another cluster",
        |world| cluster(world, QUIET_IN_SET),
    ),
];

/// Sets the cluster name that the quiet member's plugin gets.
fn cluster(world: &mut World, name: &str) {
    access(world, |access| {
        if let Some(settings) = access.extension(EXTENSION_EXEC) {
            settings["clusterName"] = name.into();
        }
    });
}

/// Changes the access provider of a member without a stand-in: with a wrong provider, no rule about credentials could be
/// judged.
fn unasked(world: &mut World, change: impl FnMut(&mut Access)) {
    world.profile(UNASKED).status.ways().for_each(change);
}

/// Changes the quiet member's access providers.
fn access(world: &mut World, change: impl FnMut(&mut Access)) {
    world.profile(QUIET).status.ways().for_each(change);
}
