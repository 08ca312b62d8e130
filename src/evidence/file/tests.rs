use std::sync::Arc;

use jiff::Timestamp;
use proptest::{collection, option, prelude::*, sample::select, strategy::ValueTree};
use serde_json::json;

use super::*;
use crate::{
    api::{
        AccessProvider, Cluster, ClusterManager, ClusterProfile, Condition, Edition, Extension, Feature,
        Labels, Metadata, Property, Spec, Status, Version as Versions, Writer,
    },
    evidence::*,
};

fn written(evidence: &Evidence) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_to(evidence, &mut bytes).expect("writes");
    bytes
}

fn read_back(bytes: &[u8]) -> Input {
    read_from(bytes).expect("reads")
}

// Text that a careless format would trip over, and repeats, so that parts agree as often as they differ.
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

fn few<T: std::fmt::Debug>(of: impl Strategy<Value = T>) -> impl Strategy<Value = Vec<T>> {
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
    (names, options, labels(), option::of(few(writer()))).prop_map(|(names, options, labels, writers)| {
        Metadata {
            name: names.0,
            namespace: names.1,
            uid: names.2,
            resource_version: names.3,
            generation: options.0,
            generate_name: options.1,
            creation_timestamp: options.2,
            deletion_timestamp: options.3,
            labels: Arc::new(labels),
            writers: writers.map(Arc::from),
        }
    })
}

fn access_provider() -> impl Strategy<Value = AccessProvider> {
    let content = select(vec![
        json!(null),
        json!({"a": [1, -2, true, null]}),
        json!("text"),
        json!([]),
    ]);
    let extension = (boxed(), content).prop_map(|(name, extension)| Extension { name, extension });
    (
        boxed(),
        option::of(boxed()),
        option::of(any::<bool>()),
        few(extension),
    )
        .prop_map(|(name, server, skip, extensions)| AccessProvider {
            name,
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
        name,
        value,
        last_observed_time: at,
    });
    let condition = (boxed(), boxed(), option::of(boxed()), option::of(any::<i64>())).prop_map(
        |(kind, status, at, generation)| Condition {
            kind,
            reason: status.clone(),
            message: status.clone(),
            status,
            last_transition_time: at,
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

fn profile() -> impl Strategy<Value = ClusterProfile> {
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

fn history() -> impl Strategy<Value = ProfileHistory> {
    let version = (time(), profile()).prop_map(|(at, profile)| Version { at, profile });
    let origin = select(vec![Origin::Listed, Origin::Created, Origin::Relisted]);
    (origin, collection::vec(version, 1..4), option::of(time())).prop_map(|(origin, versions, deleted)| {
        ProfileHistory {
            origin,
            versions,
            deleted,
        }
    })
}

fn kind() -> impl Strategy<Value = Kind> {
    select(vec![
        Kind::Inventory,
        Kind::Timeline,
        Kind::Secrets,
        Kind::Requests,
        Kind::Probe,
    ])
}

fn window() -> impl Strategy<Value = Window> {
    (time(), time()).prop_map(|(from, until)| Window { from, until })
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
    let asked = prop_oneof![Just(Asked::Yes), text().prop_map(Asked::No)];
    let hub = (text(), option::of(text()), few(text())).prop_map(|(source, version, served)| Hub {
        source,
        server_version: version.clone(),
        api_version: version,
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
    let claim = (select(Edition::ALL.to_vec()), any::<bool>(), few(text())).prop_map(
        |(edition, strict, consumers)| Claim {
            edition,
            strict,
            consumers,
            features: [Feature::ConsumerSecrets].into(),
            no_features: Default::default(),
        },
    );
    let asked = collection::btree_map(kind(), asked, 0..4);
    let rest = (
        option::of(window()),
        option::of(any::<i64>()),
        few(text()),
        option::of(text()),
    );
    (claim, hub, rest, few(permission), asked).prop_map(|(claim, hub, rest, permissions, asked)| Header {
        format: FORMAT.to_owned(),
        suite_version: "0".to_owned(),
        claim,
        hub,
        scope: Scope {
            namespaces: rest.2,
            cluster_manager: rest.3,
        },
        window: rest.0,
        clock_skew_ms: rest.1,
        permissions,
        asked,
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

fn evidence() -> impl Strategy<Value = Evidence> {
    let namespace = (text(), labels()).prop_map(|(name, labels)| Namespace {
        uid: name.clone(),
        resource_version: name.clone(),
        name,
        labels,
    });
    let gap =
        (kind(), option::of(time()), option::of(object()), text()).prop_map(|(kind, at, object, reason)| {
            Gap {
                kind,
                from: at,
                until: at,
                object,
                reason,
            }
        });
    let requests = (window(), few(request())).prop_map(|(covers, events)| Requests { covers, events });
    let unreadable = (object(), text()).prop_map(|(object, message)| Unreadable { object, message });
    let others = (
        few(namespace),
        few(secret()),
        few(probe()),
        few(gap),
        few(unreadable),
    );
    (header(), few(history()), option::of(requests), others).prop_map(
        |(header, profiles, requests, others)| Evidence {
            header,
            namespaces: others.0,
            profiles,
            secrets: others.1,
            probes: others.2,
            requests,
            gaps: others.3,
            unreadable: others.4,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_written_is_read(evidence in evidence()) {
        let input = read_back(&written(&evidence));
        prop_assert!(input.notes.is_empty());
        prop_assert_eq!(input.evidence, evidence);
    }

    #[test]
    fn a_cut_file_reads_up_to_the_cut(evidence in evidence(), share in 0.0..1.0) {
        let bytes = written(&evidence);
        let header = bytes.iter().position(|byte| *byte == b'\n').expect("a header") + 1;
        // Up to the last record, but not all of it: that one is the mark of a whole file.
        let end = bytes.len() - "}\n".len();
        let cut = header + ((end - header) as f64 * share) as usize;
        let read = read_back(&bytes[..cut]).evidence;

        prop_assert_eq!(&read.header, &evidence.header);
        let whole = read.profiles.len().saturating_sub(1);
        prop_assert_eq!(&read.profiles[..whole], &evidence.profiles[..whole]);
        // Whatever was asked for and is not all there is marked as such.
        for (kind, asked) in &evidence.header.asked {
            let count = |e: &Evidence| match kind {
                Kind::Secrets => e.secrets.len(),
                Kind::Probe => e.probes.len(),
                Kind::Requests => e.requests.as_ref().map_or(0, |requests| 1 + requests.events.len()),
                _ => e.profiles.iter().map(|h| h.versions.len() + usize::from(h.deleted.is_some())).sum(),
            };
            if *asked == Asked::Yes && count(&read) < count(&evidence) {
                prop_assert!(read.gaps(*kind).any(|gap| gap.reason.contains("cut short")), "{}", kind);
            }
        }
    }

    #[test]
    fn no_bytes_make_it_panic(evidence in evidence(), at in any::<prop::sample::Index>(), bytes in collection::vec(any::<u8>(), 0..8)) {
        let mut spoilt = written(&evidence);
        let at = at.index(spoilt.len());
        let end = (at + bytes.len()).min(spoilt.len());
        spoilt.splice(at..end, bytes);
        let _ = read_from(&*spoilt);
    }
}

fn sample() -> Evidence {
    let profile: ClusterProfile = serde_json::from_value(json!({
        "apiVersion": "multicluster.x-k8s.io/v1alpha1",
        "metadata": {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "1", "labels": {"k": "v"},
            "managedFields": [
                {"manager": "m", "operation": "Update", "time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:spec": {"f:displayName": {}}}},
                {"manager": "m", "operation": "Update", "subresource": "status", "time": "2026-01-01T00:00:00Z",
                 "fieldsV1": {"f:status": {"f:conditions": {}}}}]},
        "spec": {"clusterManager": {"name": "m"}},
        "status": {"conditions": [{"type": "Joined", "status": "True"}], "properties": [{"name": "p", "value": "1"}]},
    }))
    .expect("a profile");
    let mut next = profile.clone();
    next.metadata.resource_version = "2".to_owned();
    next.status.properties = [Property {
        name: "p".into(),
        value: "2".into(),
        last_observed_time: None,
    }]
    .into();
    let mut writers = profile.metadata.writers.as_deref().expect("writers").to_vec();
    writers[1].time = Some("2026-01-01T00:01:00Z".into());
    next.metadata.writers = Some(writers.into());
    let at = |second| Timestamp::new(second, 0).expect("in range");
    Evidence {
        header: Header {
            format: FORMAT.to_owned(),
            asked: [(Kind::Inventory, Asked::Yes), (Kind::Secrets, Asked::Yes)].into(),
            ..Header::default()
        },
        profiles: vec![ProfileHistory {
            origin: Origin::Listed,
            versions: vec![
                Version { at: at(0), profile },
                Version {
                    at: at(60),
                    profile: next,
                },
            ],
            deleted: None,
        }],
        ..Evidence::default()
    }
}

#[test]
fn a_change_holds_what_differs_and_shares_the_rest() {
    let bytes = written(&sample());
    let text = String::from_utf8(bytes.clone()).expect("text");
    assert_eq!(
        text.lines().nth(2).expect("a change"),
        r#"{"change":{"at":"1970-01-01T00:01:00Z","metadata":{"resourceVersion":"2","writers":[0,{"same":1,"time":"2026-01-01T00:01:00Z"}]},"status":{"properties":[{"name":"p","value":"2"}]}}}"#
    );
    let evidence = read_back(&bytes).evidence;
    let [first, next] = &evidence.profiles[0].versions[..] else {
        panic!("two versions")
    };
    let (first, next) = (&first.profile, &next.profile);
    assert!(Arc::ptr_eq(&first.spec, &next.spec));
    assert!(Arc::ptr_eq(&first.metadata.labels, &next.metadata.labels));
    assert!(Arc::ptr_eq(&first.status.conditions, &next.status.conditions));
    let owns =
        |profile: &ClusterProfile| Arc::clone(&profile.metadata.writers.as_ref().expect("writers")[1].owns);
    assert!(Arc::ptr_eq(&owns(first), &owns(next)));
}

#[test]
fn files_are_packed_by_name_and_unpacked_by_content() {
    let folder = tempfile::tempdir().expect("a folder");
    let evidence = sample();
    let plain = folder.path().join("e.jsonl");
    let packed = folder.path().join("e.jsonl.zst");
    write(&evidence, &plain).expect("writes");
    write(&evidence, &packed).expect("writes");
    let bytes = std::fs::read(&packed).expect("packed");
    assert!(bytes.starts_with(&[0x28, 0xB5, 0x2F, 0xFD]));

    let renamed = folder.path().join("renamed");
    std::fs::rename(&packed, &renamed).expect("renames");
    for path in [&plain, &renamed] {
        assert_eq!(read(path).expect("reads").evidence, evidence);
        assert_eq!(read_input(path).expect("reads").evidence, evidence);
    }
    #[cfg(unix)]
    {
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&plain, &link).expect("links");
        write(&evidence, &link).expect("writes");
        assert!(link.is_symlink(), "a link stays one");
        std::fs::remove_file(&link).expect("removes");
    }
    let nowhere = write(&evidence, &folder.path().join("none/e.jsonl"))
        .expect_err("no such folder")
        .to_string();
    assert!(
        nowhere.starts_with("failed to write the evidence file ") && nowhere.contains("e.jsonl"),
        "{nowhere}"
    );
    // Nothing is left beside the files, and they are as readable as any other.
    assert_eq!(std::fs::read_dir(folder.path()).expect("lists").count(), 2);
    let umasked = std::fs::File::create(folder.path().join("other")).expect("creates");
    assert_eq!(
        std::fs::metadata(&plain).expect("there").permissions(),
        umasked.metadata().expect("there").permissions()
    );
}

#[test]
fn a_packed_file_that_was_cut_reads_up_to_the_cut() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("e.zst");
    let mut evidence = sample();
    evidence.profiles = vec![evidence.profiles[0].clone(); 2_000];
    write(&evidence, &path).expect("writes");
    let bytes = std::fs::read(&path).expect("packed");
    std::fs::write(&path, &bytes[..bytes.len() - 8]).expect("cuts");
    let cut = read(&path).expect("reads up to the cut").evidence;
    assert_eq!(cut.header, evidence.header);
    assert!((1..2_000).contains(&cut.profiles.len()), "{}", cut.profiles.len());
    assert!(cut.gaps(Kind::Inventory).next().is_some());
    assert!(cut.gaps(Kind::Secrets).next().is_none());
}

#[test]
fn newer_records_are_skipped_and_newer_formats_refused() {
    let text = String::from_utf8(written(&sample())).expect("text");
    let newer = text.replacen('\n', "\n{\"driverStep\":{\"name\":\"join\"}}\n", 1);
    let newer = newer.replacen(FORMAT, &format!("{FORMAT}.1"), 1);
    let input = read_back(newer.as_bytes());
    assert_eq!(
        input.notes,
        ["1 records of the unknown kind `driverStep` were skipped"]
    );
    assert_eq!(input.evidence.profiles, sample().profiles);

    for other in [
        "conformance.clusterprofile/evidence/v2",
        "conformance.clusterprofile/evidence/v10",
    ] {
        let newer = text.replacen(FORMAT, other, 1);
        let refused = read_from(newer.as_bytes())
            .expect_err("another format")
            .to_string();
        assert!(refused.contains(other) && refused.contains(FORMAT), "{refused}");
    }
}

#[test]
fn a_profile_may_nest_as_deep_as_on_the_hub() {
    let nested = |depth: usize| {
        let extension = "[".repeat(depth) + &"]".repeat(depth);
        let cluster = format!(r#"{{"extensions":[{{"name":"deep","extension":{extension}}}]}}"#);
        let profile = format!(r#"{{"status":{{"accessProviders":[{{"name":"p","cluster":{cluster}}}]}}}}"#);
        serde_json::from_str::<ClusterProfile>(&profile).ok()
    };
    let deepest = (1..200).rev().find_map(nested).expect("some depth is read");
    let mut evidence = sample();
    for version in [1, 0] {
        evidence.profiles[0].versions[version].profile = deepest.clone();
        assert_eq!(read_back(&written(&evidence)).evidence, evidence);
    }
}

#[test]
fn the_documented_example_is_read() {
    let page = include_str!("../../../docs/evidence.md");
    let (_, example) = page.split_once("```json\n").expect("an example");
    let (example, _) = example.split_once("```").expect("its end");
    let input = read_back(example.as_bytes());
    assert!(input.notes.is_empty() && input.evidence.gaps.is_empty());
    let [first, next] = &input.evidence.profiles[0].versions[..] else {
        panic!("two versions")
    };
    assert_eq!(first.profile.metadata.labels, next.profile.metadata.labels);
    let joined = next.profile.condition("Joined").expect("a condition");
    assert_eq!(&*joined.status, "True");
    // Every kind of record that is written is described.
    for kind in written_kinds() {
        assert!(page.contains(&format!("| `{kind}` |")), "{kind}");
    }
}

fn written_kinds() -> Vec<String> {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut kinds = std::collections::BTreeSet::new();
    for _ in 0..64 {
        let evidence = evidence().new_tree(&mut runner).expect("some").current();
        let text = String::from_utf8(written(&evidence)).expect("text");
        kinds.extend(
            text.lines()
                .map(|line| line.split('"').nth(1).expect("a kind").to_owned()),
        );
    }
    kinds.into_iter().collect()
}

#[test]
fn a_spoilt_line_is_named() {
    let text = String::from_utf8(written(&sample())).expect("text");
    let lines: Vec<&str> = text.lines().collect();
    let joined = |lines: &[&str]| lines.join("\n") + "\n";
    let message = |text: &str| read_from(text.as_bytes()).expect_err("spoilt").to_string();

    assert!(message("").starts_with("line 1 is no header"));
    assert!(message("kind: List\n").starts_with("line 1 is no header"));
    let spoilt = joined(&[lines[0], "{\"gap\":{}}", lines[3]]);
    assert_eq!(message(&spoilt), "line 2: missing field `kind`");
    assert_eq!(
        message(&joined(&[lines[0], lines[2]])),
        "line 2: a change, and no profile above it"
    );
    let twice = joined(&lines) + &text;
    assert!(
        message(&twice).starts_with("line 5: a record after the end"),
        "{}",
        message(&twice)
    );
    let stray = text.replace("[0,{\"same\":1", "[0,{\"same\":9");
    assert_eq!(
        message(&stray),
        "line 3: refers to writer 9 of a version that has 2"
    );
}
