mod refused;

use std::{
    fs::File,
    path::Path,
    sync::{Arc, LazyLock},
};

use jiff::Timestamp;
use proptest::{collection, prelude::*, strategy::ValueTree};
use serde_json::{Value, json};

use super::{record::MergePatch, strategies::evidence, *};
use crate::{api::ClusterProfile, *};

fn written(evidence: &Evidence) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_to(evidence, &mut bytes).expect("writes");
    bytes
}

fn text(evidence: &Evidence) -> String {
    String::from_utf8(written(evidence)).expect("text")
}

fn write_file(evidence: &Evidence, path: &Path) {
    let file = File::create(path).expect("a file");
    write_named(evidence, path, file).expect("writes");
}

fn open(path: &Path) -> Evidence {
    let input = read_input(path, &Digester::new([7; 32]));
    input.expect("reads").evidence
}

fn read_back(bytes: impl AsRef<[u8]>) -> Input {
    read_from(bytes.as_ref(), "x", &Limits::default()).expect("reads")
}

fn refused(bytes: impl AsRef<[u8]>) -> String {
    let refused = read_from(bytes.as_ref(), "x", &Limits::default());
    refused.expect_err("it is refused").to_string()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn written_evidence_reads_back(evidence in evidence()) {
        let input = read_back(written(&evidence));
        prop_assert!(input.notes.is_empty());
        prop_assert_eq!(input.evidence, evidence);
    }

    #[test]
    fn written_evidence_fits_the_schema(evidence in evidence()) {
        static LINE: LazyLock<jsonschema::Validator> =
            LazyLock::new(|| jsonschema::validator_for(schema().as_value()).expect("a schema"));
        for line in written(&evidence).split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let value = serde_json::from_slice(line).expect("JSON");
            let errors: Vec<_> = LINE.iter_errors(&value).map(|error| error.to_string()).collect();
            prop_assert!(errors.is_empty(), "{errors:?} in {value:#}");
        }
    }

    #[test]
    fn truncated_file_reads_up_to_the_cut(evidence in evidence(), share in 0.0..1.0) {
        let bytes = written(&evidence);
        let header = bytes.iter().position(|byte| *byte == b'\n').expect("a header") + 1;
        // The last record marks a whole file, so the cut is before its end.
        let end = bytes.len() - "}\n".len();
        let cut = header + ((end - header) as f64 * share) as usize;
        let read = read_back(&bytes[..cut]).evidence;

        prop_assert_eq!(&read.header, &evidence.header);
        let whole = read.profiles.len().saturating_sub(1);
        prop_assert_eq!(&read.profiles[..whole], &evidence.profiles[..whole]);
        // Requested evidence that is incomplete has a gap.
        for (kind, requested) in &evidence.header.requested {
            let count = |e: &Evidence| match kind {
                Kind::Namespaces => e.namespaces.len(),
                Kind::Secrets => e.secrets.len(),
                Kind::UnlabelledSecrets => e.unlabelled_secrets.len(),
                Kind::Probe => e.probes.len(),
                Kind::Requests => e.requests.as_ref().map_or(0, |requests| 1 + requests.events.len()),
                Kind::Members => e.members.iter().map(|member| 1 + member.samples.len()).sum::<usize>() + e.endpoint_calls.len() + e.logins.len(),
                Kind::Plugins => e.logins.len(),
                Kind::Driver => e.driver.iter().count(),
                Kind::Testbed | Kind::Outputs => e.testbed.iter().count(),
                Kind::MemberCalls => e.member_calls.as_ref().map_or(0, |log| 1 + log.events.len()),
                Kind::PluginCalls => e.plugin_calls.as_ref().map_or(0, |log| 1 + log.events.len()),
                Kind::Mentions => e.mentions.iter().count(),
                _ => e.profiles.iter().map(|h| h.versions.len() + usize::from(h.deleted.is_some())).sum(),
            };
            if *requested == Requested::Yes && count(&read) < count(&evidence) {
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
        let _ = read_from(&*spoilt, "x", &Limits::default());
    }
}

/// Evidence of a profile in two versions.
fn sample() -> Evidence {
    let profile = |version: &str, time: &str| {
        let fields = json!({"f:spec": {"f:displayName": {}}});
        json!({
            "apiVersion": "multicluster.x-k8s.io/v1alpha1",
            "metadata": {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": version, "labels": {"k": "v"},
                "managedFields": [
                    {"manager": "m", "operation": "Update", "time": "2026-01-01T00:00:00Z", "fieldsV1": fields},
                    {"manager": "m", "operation": "Update", "subresource": "status", "time": time,
                     "fieldsV1": {"f:status": {"f:conditions": {}}}}]},
            "spec": {"clusterManager": {"name": "m"}},
            "status": {"conditions": [{"type": "Joined"}], "properties": [{"name": "p", "value": version}]},
        })
    };
    serde_json::from_value(json!({
        "header": {"format": FORMAT, "requested": {"inventory": "yes", "secrets": "yes"},
            "window": {"from": "1970-01-01T00:00:00Z", "until": "1970-01-01T00:01:40Z"}},
        "profiles": [{"origin": "listed", "versions": [
            {"at": "1970-01-01T00:00:00Z", "object": profile("1", "2026-01-01T00:00:00Z")},
            {"at": "1970-01-01T00:01:00Z", "object": profile("2", "2026-01-01T00:01:00Z")},
        ]}],
    }))
    .expect("evidence")
}

#[test]
fn patch_has_the_differences_and_shares_the_rest() {
    let text = text(&sample());
    assert_eq!(
        text.lines().nth(2).expect("a patch"),
        r#"{"patch":{"at":"1970-01-01T00:01:00Z","object":{"metadata":{"resourceVersion":"2","writers":[{"manager":"m","operation":"Update","owns":["spec.displayName"],"time":"2026-01-01T00:00:00Z"},{"manager":"m","operation":"Update","owns":["status.conditions"],"subresource":"status","time":"2026-01-01T00:01:00Z"}]},"status":{"properties":[{"name":"p","value":"2"}]}}}}"#
    );
    let evidence = read_back(text).evidence;
    let [first, next] = &evidence.profiles[0].versions[..] else {
        panic!("two versions")
    };
    let (first, next) = (&first.object, &next.object);
    assert!(Arc::ptr_eq(&first.spec, &next.spec));
    assert!(Arc::ptr_eq(&first.metadata.labels, &next.metadata.labels));
    assert!(Arc::ptr_eq(&first.status.conditions, &next.status.conditions));
    let property = |profile: &ClusterProfile| Arc::clone(&profile.status.properties[0].name);
    assert!(Arc::ptr_eq(&property(first), &property(next)));
    let writer = |profile: &ClusterProfile| profile.metadata.writers.as_ref().expect("writers")[1].clone();
    let owns = |profile| writer(profile).owns;
    assert!(Arc::ptr_eq(&owns(first), &owns(next)));
}

#[test]
fn merge_patch_removes_by_null_and_replaces_lists() {
    let rows = r#"
{"a": 1} => {"a": 1} => {}
{"a": 1} => {"b": 2} => {"a": null, "b": 2}
{"a": {"b": 1, "c": 2}} => {"a": {"c": 3}} => {"a": {"b": null, "c": 3}}
{"a": [1, 2]} => {"a": [1]} => {"a": [1]}
{"a": "x"} => {"a": {"b": 1}} => {"a": {"b": 1}}
{"a": null} => {"b": null} => {}"#;
    for row in rows.lines().skip(1) {
        let parts = row
            .split(" => ")
            .map(|part| serde_json::from_str(part).expect(part));
        let [mut before, after, patch]: [Value; 3] =
            parts.collect::<Vec<_>>().try_into().expect("three parts");
        let computed = MergePatch::between(&before, &after);
        assert_eq!(json!(computed), patch);
        computed.apply(&mut before);
        let without_nulls = |mut value: Value| {
            let fields = value.as_object_mut().expect("an object");
            fields.retain(|_, part| !part.is_null());
            value
        };
        assert_eq!(without_nulls(before), without_nulls(after));
    }
}

/// A member with so many custom resource groups and samples, a minute apart.
fn with_samples(groups: usize, samples: i64) -> Evidence {
    let groups: Value = (0..groups)
        .map(|group| format!("group-{group}.example.com"))
        .collect();
    let sample_at = |minute: i64| {
        let at = Timestamp::new(60 * minute, 0).expect("in range");
        json!({
            "from": at, "until": at, "version": "v1.33.1", "nodes": 3 + minute / 2, "readyz": {"ready": true},
            "leases": [{"name": "kube-scheduler", "ageSeconds": minute % 3, "durationSeconds": 15}],
            "customResourceGroups": groups, "missing": {"clusterProperties": "forbidden"},
        })
    };
    let samples: Value = (0..samples).map(sample_at).collect();
    let mut member: Member = serde_json::from_value(json!({"samples": samples})).expect("a member");
    member.share();
    Evidence {
        members: vec![member],
        ..sample()
    }
}

#[test]
fn sample_has_the_differences_and_shares_the_rest() {
    let mut evidence = with_samples(2, 5);
    evidence.members[0].samples[4].version = None;
    let text = text(&evidence);
    let samples = text.lines().filter(|line| line.starts_with(r#"{"memberSample""#));
    assert_eq!(
        samples.skip(1).collect::<Vec<_>>(),
        [
            r#"{"memberSample":{"from":"1970-01-01T00:02:00Z","leases":[{"ageSeconds":2,"durationSeconds":15,"name":"kube-scheduler"}],"nodes":4,"until":"1970-01-01T00:02:00Z"}}"#,
            r#"{"memberSample":{"from":"1970-01-01T00:03:00Z","leases":[{"ageSeconds":0,"durationSeconds":15,"name":"kube-scheduler"}],"until":"1970-01-01T00:03:00Z"}}"#,
            r#"{"memberSample":{"from":"1970-01-01T00:04:00Z","leases":[{"ageSeconds":1,"durationSeconds":15,"name":"kube-scheduler"}],"nodes":5,"until":"1970-01-01T00:04:00Z","version":null}}"#,
        ]
    );
    let read = read_back(&text).evidence;
    assert_eq!(read, evidence);
    let read_samples = &read.members[0].samples;
    assert!(Arc::ptr_eq(&read_samples[0].missing, &read_samples[4].missing));
}

#[test]
fn sample_without_a_member_is_refused() {
    let sample_line = r#"{"memberSample":{"from":"1970-01-01T00:00:00Z","until":"1970-01-01T00:00:00Z"}}"#;
    let text = text(&Evidence {
        profiles: Vec::new(),
        ..sample()
    });
    let expected = "x:3: `memberSample` without a `member` with a sample above it";
    for before in ["", r#"{"member":{"samples":[]}}"#] {
        let end = format!("{before}\n{sample_line}\n{{\"end\"");
        assert_eq!(refused(text.replace("{\"end\"", &end)), expected);
    }
}

#[test]
fn groups_of_a_member_are_written_once() {
    let bytes = written(&with_samples(1000, 100));
    let longest = bytes.split(|byte| *byte == b'\n').map(<[u8]>::len).max();
    assert!(longest < Some(40_000), "{longest:?}");
    assert!(bytes.len() < 70_000, "{}", bytes.len());
    assert_eq!(read_back(&bytes).evidence.members[0].samples.len(), 100);
}

#[test]
fn files_are_compressed_by_name_and_read_by_content() {
    let folder = tempfile::tempdir().expect("a folder");
    let evidence = sample();
    let [plain, packed, renamed] = ["e.jsonl", "e.jsonl.zst", "renamed"].map(|name| folder.path().join(name));
    write_file(&evidence, &plain);
    write_file(&evidence, &packed);
    let bytes = std::fs::read(&packed).expect("packed");
    assert!(bytes.starts_with(&[0x28, 0xB5, 0x2F, 0xFD]));
    std::fs::rename(&packed, &renamed).expect("renames");
    assert_eq!(open(&plain), evidence);
    assert_eq!(open(&renamed), evidence);
}

#[test]
fn truncated_compressed_file_reads_up_to_the_cut() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("e.zst");
    let mut evidence = sample();
    evidence.profiles = vec![evidence.profiles[0].clone(); 2_000];
    for (number, history) in evidence.profiles.iter_mut().enumerate() {
        for version in &mut history.versions {
            version.object.metadata.uid = number.to_string().into();
        }
    }
    write_file(&evidence, &path);
    let bytes = std::fs::read(&path).expect("packed");
    std::fs::write(&path, &bytes[..bytes.len() - 8]).expect("cuts");
    let cut = open(&path);
    assert_eq!(cut.header, evidence.header);
    assert!((1..2_000).contains(&cut.profiles.len()), "{}", cut.profiles.len());
    assert!(cut.gaps(Kind::Inventory).next().is_some());
    assert!(cut.gaps(Kind::Secrets).next().is_none());
}

#[test]
fn unknown_records_are_skipped_and_other_formats_refused() {
    let text = text(&sample());
    for (record, kind) in [
        (r#"{"driverStep":{"name":"join"}}"#, "driverStep"),
        (r#"{"driver\u0053tep":1}"#, "driverStep"),
        (r#"{"afterWindow":{"driverStep":{}}}"#, "afterWindow"),
        (r#"{"afterWindow":{"end":{}}}"#, "afterWindow"),
    ] {
        let input = read_back(text.replacen('\n', &format!("\n{record}\n"), 1));
        let note = format!("skipped records of unknown kinds: 1 × {kind}");
        assert_eq!(input.notes, [note]);
        assert_eq!(input.evidence, sample());
    }
    for version in ["v1", "v2", "v3.1", "v30"] {
        let other = format!("conformance.clusterprofile/evidence/{version}");
        let message = refused(text.replacen(FORMAT, &other, 1));
        let expected = format!("x:1: the format is `{other}`, expected `{FORMAT}`: record it again");
        assert!(message.starts_with(&expected), "{message}");
    }
}

#[test]
fn profile_may_nest_as_deep_as_on_the_hub() {
    let nested = |depth: usize| {
        let extension = "[".repeat(depth) + &"]".repeat(depth);
        let cluster = format!(r#"{{"extensions":[{{"name":"deep","extension":{extension}}}]}}"#);
        let profile = format!(r#"{{"status":{{"accessProviders":[{{"name":"p","cluster":{cluster}}}]}}}}"#);
        serde_json::from_str::<ClusterProfile>(&profile).ok()
    };
    let deepest = (1..200).rev().find_map(nested).expect("some depth is read");
    let mut evidence = sample();
    for version in [1, 0] {
        evidence.profiles[0].versions[version].object = deepest.clone();
        assert_eq!(read_back(written(&evidence)).evidence, evidence);
    }
}

/// A profile in one version, without a window and a time.
fn dump() -> Evidence {
    let mut evidence = sample();
    evidence.header.window = None;
    evidence.profiles[0].versions.truncate(1);
    evidence.profiles[0].versions[0].at = None;
    evidence
}

#[test]
fn dump_has_no_time() {
    let evidence = dump();
    let text = text(&evidence);
    assert!(!text.contains(r#""at""#) && !text.contains("1970"), "{text}");
    assert_eq!(read_back(text).evidence, evidence);
}

#[test]
fn documented_example_is_read() {
    let page = include_str!("../../../../docs/evidence.md");
    let (_, example) = page.split_once("```json\n").expect("an example");
    let (example, _) = example.split_once("```").expect("its end");
    let input = read_back(example);
    assert!(input.notes.is_empty() && input.evidence.gaps.is_empty());
    let [first, next] = &input.evidence.profiles[0].versions[..] else {
        panic!("two versions")
    };
    assert_eq!(first.object.metadata.labels, next.object.metadata.labels);
    let joined = next.object.condition("Joined").expect("a condition");
    assert_eq!(&*joined.status, "True");
    // The page describes each kind of record.
    for kind in written_kinds() {
        assert!(page.contains(&format!("| `{kind}` |")), "{kind}");
    }
}

fn written_kinds() -> Vec<String> {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut kinds = std::collections::BTreeSet::new();
    for _ in 0..64 {
        let evidence = evidence().new_tree(&mut runner).expect("some").current();
        let text = text(&evidence);
        let of_lines = text.lines().filter_map(|line| line.split('"').nth(1));
        kinds.extend(of_lines.map(str::to_owned));
    }
    kinds.into_iter().collect()
}

/// A violation that ends after the cut must not seem to last.
#[test]
fn truncated_file_has_nothing_after_the_window() {
    let mut evidence = sample();
    evidence.later.profiles = evidence.profiles.clone();
    evidence.later.sort();
    let text = text(&evidence);
    assert_eq!(read_back(&text).evidence.later, evidence.later);
    let last = text.rfind(r#"{"afterWindow""#).expect("a line");
    assert!(read_back(&text[..last]).evidence.later.is_empty());
}
