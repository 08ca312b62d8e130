//! Small evidences of any kind, for the tests.

mod members;
mod placements;
mod testbed;

use std::{fmt::Debug, sync::Arc};

use jiff::Timestamp;
use proptest::{collection, option, prelude::*, sample::select};
use serde_json::json;

use crate::{
    api::{
        AccessProvider, Cluster, ClusterManager, ClusterProfile, Condition, Edition, Extension, Feature,
        Json, Labels, Metadata, Property, Spec, Status, Version as Versions, Writer,
    },
    *,
};

/// Text that a careless format would trip over, and repeats, so that parts agree as often as they differ.
fn text() -> impl Strategy<Value = String> {
    select(vec![
        "",
        "a",
        "b",
        "null",
        "7",
        "two words",
        "\"quoted\"\n---\n",
        "ünïcode \u{2028}",
        "\\",
    ])
    .prop_map(str::to_owned)
}

/// A reason, with an id or without.
fn reason() -> impl Strategy<Value = Reason> {
    let id = select(vec![
        None,
        Some(ReasonId::NoDriver),
        Some(ReasonId::MemberForbidden),
    ]);
    (id, text()).prop_map(|(id, words)| match id {
        Some(id) => Reason::of(id, words),
        None => words.into(),
    })
}

fn shared() -> impl Strategy<Value = Arc<str>> {
    text().prop_map(Arc::from)
}

fn boxed() -> impl Strategy<Value = Box<str>> {
    text().prop_map(Box::from)
}

fn time() -> impl Strategy<Value = Timestamp> {
    (-62_000_000_000_i64..250_000_000_000, 0..1_000_000_000_i32)
        .prop_map(|(seconds, nanos)| Timestamp::new(seconds, nanos).expect("in range"))
}

fn labels() -> impl Strategy<Value = Labels> {
    collection::btree_map(text(), text(), 0..3)
}

fn few<T: Debug>(of: impl Strategy<Value = T>) -> impl Strategy<Value = Vec<T>> {
    collection::vec(of, 0..3)
}

fn writer() -> impl Strategy<Value = Writer> {
    let owns = collection::btree_set(boxed(), 0..3).prop_map(|paths| paths.into_iter().collect());
    (shared(), shared(), shared(), option::of(shared()), owns).prop_map(
        |(manager, operation, subresource, time, owns)| Writer {
            manager,
            operation,
            subresource,
            time,
            owns,
        },
    )
}

fn metadata() -> impl Strategy<Value = Metadata> {
    let names = (shared(), shared(), shared(), text());
    let options = (
        option::of(any::<i64>()),
        option::of(shared()),
        option::of(shared()),
        option::of(shared()),
    );
    let maps = (labels(), labels());
    (names, options, maps, option::of(few(writer()))).prop_map(|(names, options, maps, writers)| Metadata {
        name: names.0,
        namespace: names.1,
        uid: names.2,
        resource_version: names.3,
        generation: options.0,
        generate_name: options.1,
        creation_timestamp: options.2,
        deletion_timestamp: options.3,
        labels: Arc::new(maps.0),
        annotations: Arc::new(maps.1),
        writers: writers.map(Arc::from),
    })
}

fn access_provider() -> impl Strategy<Value = AccessProvider> {
    let content = select(vec![
        json!(null),
        json!({"a": [1, -2, true, null]}),
        json!("text"),
        json!([]),
    ]);
    let extension = (boxed(), content).prop_map(|(name, content)| Extension {
        name,
        extension: Json::from(&content),
    });
    (
        boxed(),
        option::of(boxed()),
        option::of(any::<bool>()),
        few(extension),
    )
        .prop_map(|(name, server, skip, extensions)| AccessProvider {
            name: name.into(),
            cluster: Cluster {
                server: server.clone(),
                proxy_url: server,
                insecure_skip_tls_verify: skip,
                extensions,
                ..Cluster::default()
            },
        })
}

fn status() -> impl Strategy<Value = Status> {
    let property = (boxed(), boxed(), option::of(boxed())).prop_map(|(name, value, at)| Property {
        name: name.into(),
        value: value.into(),
        last_observed_time: at.map(Into::into),
    });
    let condition = (boxed(), boxed(), option::of(boxed()), option::of(any::<i64>())).prop_map(
        |(kind, status, at, generation)| Condition {
            kind: kind.into(),
            reason: status.clone().into(),
            message: status.clone().into(),
            status: status.into(),
            last_transition_time: at.map(Into::into),
            observed_generation: generation,
        },
    );
    let access = || few(access_provider());
    (
        option::of(shared()),
        few(property),
        few(condition),
        access(),
        access(),
    )
        .prop_map(
            |(kubernetes, properties, conditions, access, credentials)| Status {
                version: Versions { kubernetes },
                properties: properties.into(),
                conditions: conditions.into(),
                access_providers: access.into(),
                credential_providers: credentials.into(),
            },
        )
}

pub(super) fn profile() -> impl Strategy<Value = ClusterProfile> {
    let spec = (option::of(text()), option::of(shared())).prop_map(|(display_name, manager)| Spec {
        display_name,
        cluster_manager: manager.map(|name| ClusterManager { name }),
    });
    (shared(), metadata(), spec, status()).prop_map(|(api_version, metadata, spec, status)| ClusterProfile {
        api_version,
        metadata,
        spec: Arc::new(spec),
        status,
    })
}

fn versions_of<T: Clone + Debug>(object: impl Strategy<Value = T>) -> impl Strategy<Value = History<T>> {
    let version = (time(), object).prop_map(|(at, object)| Version { at: Some(at), object });
    let origin = select(vec![Origin::Listed, Origin::Created, Origin::Relisted]);
    let deleted = option::of((time(), option::of(text())));
    (origin, collection::vec(version, 1..4), deleted).prop_map(|(origin, versions, deleted)| {
        let (deleted, version) = deleted.unzip();
        History {
            origin,
            versions,
            deleted,
            deleted_version: version.flatten().map(String::into_boxed_str),
        }
    })
}

fn kind() -> impl Strategy<Value = Kind> {
    select(vec![
        Kind::Inventory,
        Kind::Timeline,
        Kind::Secrets,
        Kind::UnlabelledSecrets,
        Kind::Requests,
        Kind::Probe,
        Kind::Members,
        Kind::Plugins,
        Kind::Driver,
        Kind::PlacementDecisions,
        Kind::PlacementTimeline,
        Kind::Testbed,
        Kind::MemberCalls,
        Kind::PluginCalls,
        Kind::Mentions,
        Kind::Outputs,
    ])
}

fn window() -> impl Strategy<Value = Window> {
    // Until a time that a run may see.
    let time = || time().prop_map(|time| time.min(Timestamp::from_second(4_000_000_000).expect("a time")));
    (time(), time()).prop_map(|(one, other)| Window {
        from: one.min(other),
        until: one.max(other),
    })
}

fn object() -> impl Strategy<Value = ObjectRef> {
    (text(), text(), text()).prop_map(|(kind, namespace, name)| ObjectRef {
        kind,
        namespace,
        uid: name.clone(),
        resource_version: name.clone(),
        name,
    })
}

fn header() -> impl Strategy<Value = Header> {
    let asked = prop_oneof![Just(Asked::Yes), reason().prop_map(Asked::No)];
    let hub = (text(), option::of(text()), few(text())).prop_map(|(source, version, served)| Hub {
        source,
        server_version: version.clone(),
        placement_version: version.clone(),
        api_version: version,
        placement_served: Vec::new(),
        served: served
            .into_iter()
            .map(|name| ServedVersion {
                name,
                immutable_manager: true,
                status_subresource: false,
            })
            .collect(),
    });
    let permission = (text(), any::<bool>()).prop_map(|(text, allowed)| Permission {
        verb: text.clone(),
        group: text.clone(),
        resource: text.clone(),
        namespace: text,
        allowed,
    });
    let edition = select(Edition::ALL.to_vec());
    let claim = (edition, any::<bool>(), few(text()), labels()).prop_map(
        |(edition, strict, consumers, clustersets)| Claim {
            edition,
            strict,
            scheduler: Identity {
                users: consumers.clone(),
                field_managers: consumers.clone(),
                agents: consumers.clone(),
            },
            consumer_agents: consumers.clone(),
            expected_profiles: Some(consumers.len()),
            consumers,
            clustersets,
            features: [Feature::ConsumerSecrets].into(),
            no_features: Default::default(),
            node_tolerance: u64::from(strict),
            ..Claim::default()
        },
    );
    let asked = collection::btree_map(kind(), asked, 0..4);
    let rest = (
        option::of(window()),
        option::of(any::<i64>()),
        few(text()),
        option::of(text()),
        few(text()),
    );
    (claim, hub, rest, few(permission), asked).prop_map(|(claim, hub, rest, permissions, asked)| Header {
        // No file says so.
        format: FORMAT.to_owned(),
        suite_version: "0".to_owned(),
        claim,
        hub,
        scope: Scope {
            namespaces: rest.2,
            scheduler: rest.3.clone(),
            manager_by_default: rest.3.is_some(),
            cluster_manager: rest.3,
        },
        window: rest.0,
        settled: rest.0.map(|window| Settled {
            profiles: usize::from(rest.1.is_some()),
            ..Settled::at_once(window)
        }),
        read_at: rest.0.map(|window| window.from),
        cut_short: None,
        clock_skew_ms: rest.1,
        traffic: rest.1.map(|number| Traffic {
            requests: number.unsigned_abs(),
            bytes: number.unsigned_abs() / 3,
        }),
        permissions,
        asked,
        other_runs: rest
            .4
            .into_iter()
            .map(|name| ObjectKey {
                namespace: String::new(),
                name,
            })
            .collect(),
    })
}

fn request() -> impl Strategy<Value = Request> {
    let body = (option::of(text()), few(text())).prop_map(|(name, parts)| RequestBody {
        manager_label: name.clone(),
        manager: name.clone(),
        name,
        parts,
    });
    (
        time(),
        shared(),
        any::<u16>(),
        option::of(any::<bool>()),
        option::of(body),
    )
        .prop_map(|(at, text, code, changed, body)| Request {
            at,
            verb: text.clone(),
            user: text.clone(),
            user_agent: text.clone(),
            namespace: text.clone(),
            name: text.clone(),
            subresource: text,
            code,
            dry_run: changed == Some(true),
            resource_version: changed.map(|changed| changed.to_string().into()),
            changed,
            body,
        })
}

fn secret() -> impl Strategy<Value = Secret> {
    let user =
        (text(), select(vec![CredentialKind::Token, CredentialKind::Exec])).prop_map(|(text, kind)| {
            KubeconfigUser {
                name: text.clone(),
                credentials: vec![Credential { kind, digest: text }],
                files: Vec::new(),
            }
        });
    (text(), labels(), option::of(few(user))).prop_map(|(name, labels, users)| Secret {
        namespace: name.clone(),
        uid: name.clone(),
        resource_version: name.clone(),
        creation_timestamp: users.is_some().then(|| name.clone()),
        keys: vec![name.clone()],
        kubeconfig_error: users.is_none().then(|| name.clone()),
        kubeconfig: users.map(|users| Kubeconfig {
            users,
            ..Kubeconfig::default()
        }),
        name,
        labels,
    })
}

fn unlabelled_secret() -> impl Strategy<Value = UnlabelledSecret> {
    (text(), few(text())).prop_map(|(name, servers)| UnlabelledSecret {
        namespace: name.clone(),
        uid: name.clone(),
        resource_version: name.clone(),
        key: name.clone(),
        name,
        servers,
    })
}

fn probe() -> impl Strategy<Value = Probe> {
    let outcome = prop_oneof![
        Just(ProbeOutcome::Accepted),
        (any::<u16>(), text(), few(text())).prop_map(|(code, text, fields)| ProbeOutcome::Refused {
            code,
            reason: text.clone(),
            message: text,
            fields
        }),
        (any::<u16>(), text()).prop_map(|(code, message)| ProbeOutcome::Unanswered { code, message }),
    ];
    (time(), object(), outcome).prop_map(|(at, object, outcome)| Probe {
        at,
        object,
        method: ProbeMethod::MergePatch,
        outcome,
    })
}

fn requests() -> impl Strategy<Value = Requests> {
    (window(), few(request())).prop_map(|(covers, events)| Requests { covers, events })
}

/// Evidence of all that the file can hold.
pub(super) fn evidence() -> impl Strategy<Value = Evidence> {
    let namespace = (text(), labels()).prop_map(|(name, labels)| Namespace {
        uid: name.clone(),
        resource_version: name.clone(),
        name,
        labels,
    });
    let gap = || {
        (kind(), option::of(time()), option::of(object()), reason()).prop_map(|(kind, at, object, reason)| {
            Gap {
                kind,
                from: at,
                until: at,
                object,
                reason,
            }
        })
    };
    let unreadable = (object(), text()).prop_map(|(object, message)| Unreadable { object, message });
    let others = (
        few(namespace),
        few(secret()),
        few(probe()),
        few(gap()),
        few(unreadable),
        few(unlabelled_secret()),
    );
    let placements = (few(placements::history()), option::of(requests()));
    let beyond = (
        few(members::member()),
        few(members::endpoint_call()),
        few(members::login()),
        option::of(members::driver()),
    );
    let own = few(request()).prop_map(|requests| {
        let own = |request: Request| Request {
            user_agent: "clusterprofile-conformance/0.1".into(),
            ..request
        };
        requests.into_iter().map(own).collect::<Vec<_>>()
    });
    let staged = (
        option::of(testbed::testbed()),
        own,
        option::of(testbed::member_calls()),
        option::of(testbed::plugin_calls()),
        option::of(testbed::mentions()),
    );
    let profiles = few(versions_of(profile()));
    let later = (
        few(versions_of(profile())),
        few(placements::history()),
        few(gap()),
        few(text()),
    );
    let later = later.prop_map(|(profiles, slices, gaps, missing)| {
        let mut later = Later {
            profiles,
            slices,
            missing: missing
                .into_iter()
                .map(|name| ObjectKey {
                    namespace: String::new(),
                    name,
                })
                .collect(),
            gaps: gaps.into(),
        };
        later.sort();
        later
    });
    (
        header(),
        profiles,
        option::of(requests()),
        others,
        beyond,
        placements,
        later,
        staged,
    )
        .prop_map(
            |(header, profiles, requests, others, beyond, placements, later, staged)| Evidence {
                header,
                namespaces: others.0,
                profiles,
                later,
                secrets: others.1,
                unlabelled_secrets: others.5,
                probes: others.2,
                requests,
                gaps: others.3.into(),
                unreadable: others.4,
                members: beyond.0,
                endpoint_calls: beyond.1,
                logins: beyond.2,
                driver: beyond.3,
                slices: placements.0,
                slice_requests: placements.1,
                own_requests: if staged.0.is_none() {
                    staged.1.clone()
                } else {
                    Vec::new()
                },
                own_slice_requests: if staged.0.is_none() { staged.1 } else { Vec::new() },
                testbed: staged.0,
                member_calls: staged.2,
                plugin_calls: staged.3,
                mentions: staged.4,
            },
        )
        .prop_map(without_window_without_times)
}

/// What has no window is a dump: each object is there once, without a time.
fn without_window_without_times(mut evidence: Evidence) -> Evidence {
    fn once<T>(histories: &mut [History<T>]) {
        for history in histories {
            history.versions.truncate(1);
            history.versions[0].at = None;
            history.deleted = None;
            history.deleted_version = None;
        }
    }
    // Each uid occurs once.
    for (number, history) in evidence.profiles.iter_mut().enumerate() {
        for version in &mut history.versions {
            version.object.metadata.uid = format!("profile-{number}").into();
        }
    }
    for (number, history) in evidence.slices.iter_mut().enumerate() {
        for version in &mut history.versions {
            version.object.metadata.common.uid = format!("slice-{number}").into();
        }
    }
    if evidence.header.window.is_none() {
        once(&mut evidence.profiles);
        once(&mut evidence.slices);
        evidence.later = Later::default();
    }
    evidence
}
