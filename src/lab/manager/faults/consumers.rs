//! Faults of the suite `consumers`.

use apiserver::new_token;
use evidence::api::names::{LABEL_CONSUMER, LABEL_SECRET_PROFILE, LABEL_SECRET_PROFILE_NAMESPACE};
use serde_json::{Value, json};

use super::fault::FaultInfo;
use crate::{
    manager::{
        driven::Misbehaviour,
        members::{CONSUMERS, LEAVER, QUIET, SET_NAMESPACE},
        world::{Namespace, Secret, World, consumer_namespace},
    },
    member::StandIn,
};

/// A namespace that belongs to no consumer.
const STRAY: &str = "lab-stray";
/// A consumer beside those that the manager usually serves.
const UNDECLARED: &str = "lab-audit";

pub(super) const FAULTS: &[FaultInfo] = &[
    FaultInfo::new(
        "consumers/secret-namespace-labelled",
        "puts credentials into a namespace that is no consumer's",
        |world| stray_secret(world, Namespace::new(STRAY, [])),
    ),
    FaultInfo::new(
        "consumers/secret-namespace-labelled:empty",
        "puts credentials into a namespace whose consumer has no name",
        |world| stray_secret(world, Namespace::new(STRAY, [(LABEL_CONSUMER, "")])),
    ),
    FaultInfo::new(
        "consumers/secret-names-profile",
        "leaves the profile's name in a Secret's label empty",
        |world| {
            let mut secret = extra_secret(world);
            let label = LABEL_SECRET_PROFILE.to_owned();
            secret.labels.insert(label, String::new());
            world.secrets.push(secret);
        },
    ),
    FaultInfo::new(
        "consumers/secret-names-profile:unknown",
        "labels a Secret with a profile that does not exist",
        |world| {
            let mut secret = extra_secret(world);
            let label = LABEL_SECRET_PROFILE.to_owned();
            secret
                .labels
                .insert(label, "reference-manager-atlantis".to_owned());
            world.secrets.push(secret);
        },
    ),
    FaultInfo::new(
        "consumers/secret-names-profile:namespace",
        "labels a Secret with a namespace that does not hold its profile",
        |world| {
            let mut secret = extra_secret(world);
            let label = LABEL_SECRET_PROFILE_NAMESPACE.to_owned();
            secret.labels.insert(label, SET_NAMESPACE.to_owned());
            world.secrets.push(secret);
        },
    ),
    FaultInfo::new(
        "consumers/secret-names-profile:left-behind",
        "keeps a Secret whose member has left",
        |world| {
            // Assigned to a member that stays, it outlives its own.
            world.alter_secret(LEAVER, CONSUMERS[0], |secret| secret.member = QUIET.to_owned());
        },
    ),
    FaultInfo::new(
        "consumers/secret-has-kubeconfig",
        "stores a kubeconfig under another key",
        |world| world.alter_secret(QUIET, CONSUMERS[0], |secret| secret.key = "kubeconfig".to_owned()),
    ),
    FaultInfo::new(
        "consumers/secret-has-kubeconfig:context",
        "stores a kubeconfig whose context names no cluster in it",
        |world| {
            kubeconfig(world, |config| {
                config["contexts"][0]["context"]["cluster"] = json!("atlantis");
            });
        },
    ),
    FaultInfo::new(
        "consumers/secret-single-consumer",
        "puts another consumer's credential into a Secret, beside the consumer's own",
        |world| {
            let mut other = Value::Null;
            world.alter_secret(QUIET, CONSUMERS[1], |secret| {
                other = secret.kubeconfig["users"][0].clone();
            });
            kubeconfig(world, |config| second_user(config, &other));
        },
    ),
    FaultInfo::new(
        "consumers/secret-single-consumer:two-users",
        "puts two users' credentials into one Secret",
        |world| {
            let second = json!({"name": "second", "user": {"token": new_token()}});
            kubeconfig(world, |config| second_user(config, &second));
        },
    ),
    FaultInfo::new(
        "consumers/secret-single-consumer:shared",
        "gives two consumers one token",
        |world| {
            let shared = new_token();
            for consumer in CONSUMERS {
                world.alter_secret(QUIET, consumer, |secret| secret.renew(&shared));
            }
        },
    ),
    FaultInfo::new(
        "consumers/consumer-name-unique",
        "keeps two namespaces for one consumer",
        |world| {
            let second = Namespace::new(STRAY, [(LABEL_CONSUMER, CONSUMERS[0])]);
            world.namespaces.push(second);
        },
    ),
    FaultInfo::new(
        "consumers/kubeconfig-self-contained",
        "names a file on the manager's disk in a kubeconfig",
        |world| {
            kubeconfig(world, |config| {
                let file = json!("/etc/manager/members/lisbon.crt");
                config["clusters"][0]["cluster"]["certificate-authority"] = file;
            });
        },
    ),
    FaultInfo::new(
        "consumers/kubeconfig-self-contained:exec",
        "hands out a kubeconfig that runs a program",
        |world| {
            kubeconfig(world, |config| {
                config["users"][0]["user"] = json!({"exec": {
                    "apiVersion": "client.authentication.k8s.io/v1",
                    "command": "get-token",
                    "interactiveMode": "Never",
                }});
            });
        },
    ),
    FaultInfo::new(
        "consumers/kubeconfig-points-at-member",
        "hands out a kubeconfig for a server that the profile does not mention",
        |world| {
            kubeconfig(world, |config| {
                let server = json!("https://atlantis.clusters.example:6443");
                config["clusters"][0]["cluster"]["server"] = server;
            });
        },
    ),
    FaultInfo::new(
        "consumers/declared-consumer-served",
        "withholds one profile's credentials from a consumer",
        |world| {
            let namespace = consumer_namespace(CONSUMERS[0]);
            world
                .secrets
                .retain(|secret| secret.member != QUIET || secret.namespace != namespace);
        },
    ),
    FaultInfo::new(
        "consumers/kubeconfig-works",
        "hands out a token that the member does not know",
        |world| {
            world.alter_secret(QUIET, CONSUMERS[0], |secret| {
                secret.login.token = new_token();
            });
        },
    ),
    FaultInfo::new(
        "consumers/least-privilege",
        "makes a consumer the member's administrator",
        |world| {
            world.alter_secret(QUIET, CONSUMERS[0], |secret| {
                secret.login.rights = StandIn::CLUSTER_ADMIN;
            });
        },
    ),
    FaultInfo::new(
        "consumers/secret-labelled",
        "gives a consumer a Secret that does not name its profile",
        |world| {
            // Nobody has declared this consumer, so only the Secret itself shows that it is served.
            let profile = world.profile(QUIET).clone();
            let mut secret = Secret::of(&profile, UNDECLARED);
            secret.labels.clear();
            let namespace = Namespace::new(&secret.namespace, [(LABEL_CONSUMER, UNDECLARED)]);
            world.namespaces.push(namespace);
            world.secrets.push(secret);
        },
    ),
    FaultInfo::new(
        "consumers/secrets-retired",
        "keeps the Secrets of a member that has left",
        |world| world.misbehaviours.add(Misbehaviour::KeepsSecrets),
    )
    .driven(),
];

/// Changes the first consumer's kubeconfig for the quiet member.
fn kubeconfig(world: &mut World, change: impl Fn(&mut Value)) {
    world.alter_secret(QUIET, CONSUMERS[0], |secret| change(&mut secret.kubeconfig));
}

/// Adds a user of the quiet member to a kubeconfig.
fn second_user(config: &mut Value, user: &Value) {
    let context = json!({"cluster": QUIET, "user": user["name"]});
    for (list, added) in [
        ("users", user.clone()),
        ("contexts", json!({"name": "second", "context": context})),
    ] {
        if let Some(list) = config[list].as_array_mut() {
            list.push(added);
        }
    }
}

/// One more Secret for the first consumer, with credentials of its own.
fn extra_secret(world: &mut World) -> Secret {
    let profile = world.profile(QUIET).clone();
    let mut secret = Secret::of(&profile, CONSUMERS[0]);
    secret.name = "lab-extra".to_owned();
    secret
}

/// One more Secret, in a namespace of its own.
fn stray_secret(world: &mut World, namespace: Namespace) {
    let mut secret = extra_secret(world);
    secret.namespace = namespace.name.clone();
    world.namespaces.push(namespace);
    world.secrets.push(secret);
}
