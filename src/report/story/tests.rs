//! Stories from evidence in the format of the rules' examples.

use evidence::{Evidence, ObjectRef, Tracked, api::Edition};
use jiff::Timestamp;
use judge::rules::Finding;
use serde_json::{Value, json};

use super::*;
use crate::tests::{self, assert_contains};

fn world_of(edition: Edition, text: &str) -> Evidence {
    let world: Value = serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{error}"));
    tests::world(edition, &world)
}

fn world(text: &str) -> Evidence {
    world_of(Edition::Standard, text)
}

/// A finding on the last version of the first object of a kind.
fn finding<T: Tracked>(evidence: &Evidence, path: &str) -> Finding {
    let object = ObjectRef::from(T::histories(evidence)[0].last());
    Finding::on(object, "it is wrong").at(path)
}

fn profile_story(evidence: &Evidence, path: &str) -> Story {
    let finding = finding::<evidence::api::ClusterProfile>(evidence, path);
    let story = Stories::of(evidence).of_finding(&finding);
    story.expect("a story")
}

/// One line for each event, with the time since the beginning, and one for each field.
fn output(story: &Story) -> String {
    let begin: Timestamp = "2026-01-01T00:00:00Z".parse().expect("a time");
    let mut output = String::new();
    for event in &story.events {
        let since = |at: Timestamp| at.duration_since(begin).round(jiff::Unit::Second);
        let at = event.at.map(|at| format!("+{:#} ", since(at).expect("seconds")));
        let at = at.unwrap_or_default();
        let mark = if event.sets_field { " *" } else { "" };
        output += &format!("{at}{}{mark}\n", event.describe(str::to_owned));
        for Changed { path, before, after } in &event.changed {
            let value = |value: &Option<String>| value.clone().unwrap_or("(absent)".to_owned());
            output += &format!("  {path}: {} > {}\n", value(before), value(after));
        }
        if event.more_changed > 0 {
            output += &format!("  … {}\n", event.more_changed);
        }
    }
    output + story.note.as_deref().unwrap_or_default()
}

/// A condition that becomes false during the member's outage, and stays false.
const OUTAGE: &str = r#"
steps:
  - at: 90s
    change:
      metadata:
        writers:
          - {manager: agent, operation: Update, subresource: status, time: "${90s}", owns: [status.conditions]}
      status:
        conditions:
          - {type: Joined, status: "True", reason: AsExpected, lastTransitionTime: "${-1h}", observedGeneration: 1}
          - {type: ControlPlaneHealthy, status: "False", reason: NoAnswer, lastTransitionTime: "${90s}", observedGeneration: 1}
members:
  - samples:
      - {at: 30s}
      - {at: 70s, readyz: {ready: false, failed: [etcd]}}
      - {at: 80s, readyz: {ready: false, failed: [etcd]}}
      - {at: 3m}
driver:
  steps:
    - {action: break, at: 60s, until: 65s}
    - {action: heal, at: 2m, outcome: {result: failed, reason: no way in}}
    - {action: break, at: 60s, profile: elsewhere}
gaps:
  - {kind: timeline, reason: the watch was lost, from: 4m, until: 5m}
"#;

#[test]
fn story_has_versions_answers_and_steps_in_order() {
    let story = profile_story(&world(OUTAGE), "status.conditions[ControlPlaneHealthy].status");
    assert_eq!(
        output(&story),
        "\
+0s first listed; m owns the field *
  status.conditions[ControlPlaneHealthy].status: (absent) > True
+31s member answered (the example)
  readyz.ready: (absent) > true
  version: (absent) > v1.34.1
  nodes: (absent) > 3
+1m driver: break (outage)
+1m 11s member answered (the example)
  readyz.failed: (absent) > [etcd]
  readyz.ready: true > false
+1m 30s changed by agent *
  status.conditions[ControlPlaneHealthy].status: True > False
  status.conditions[ControlPlaneHealthy].lastTransitionTime: 2025-12-31T23:00:00Z > 2026-01-01T00:01:30Z
  status.conditions[ControlPlaneHealthy].reason: AsExpected > NoAnswer
+2m driver: heal (outage) failed: no way in
+3m 1s member answered (the example)
  readyz.failed: [etcd] > (absent)
  readyz.ready: false > true
+4m not watched: the watch was lost
"
    );
}

/// The audit log names the user.
const LOGGED: &str = r#"
steps:
  - {at: 90s, change: {status: {version: {kubernetes: v1.35.0}}}}
requests:
  - {at: 90s, verb: patch, subresource: status, user: "system:serviceaccount:fleet:agent", userAgent: agent/v1}
"#;

/// A key may be a credential, too.
const CREDENTIAL: &str = r#"
steps:
  - at: 10s
    change: {status: {accessProviders: [{name: p, cluster: {extensions: [
      {name: e, extension: {"Bearer CANARY0123456789abcdef": 1}}]}}]}}
"#;

/// A certificate is long, and says less than its length.
const CERTIFICATE: &str = r#"
steps:
  - at: 10s
    change: {status: {accessProviders: [{name: p, cluster: {server: "https://a.example", certificate-authority-data: LONG}}]}}
"#;

/// A story goes on after the window.
const SETTLED: &str = r#"
observe: 2m
settle: 2m
steps:
  - {at: 110s, change: {status: {version: {kubernetes: wrong}}}}
  - {at: 3m, change: {status: {version: {kubernetes: v1.34.1}}}}
"#;

#[test]
fn story_names_authors_changes_and_unknowns() {
    let version = "status.version.kubernetes";
    let long = "x".repeat(1 << 20);
    let long = format!("steps: [{{at: 10s, change: {{spec: {{displayName: {long}}}}}}}]");
    let logged =
        "changed by system:serviceaccount:fleet:agent *|status.version.kubernetes: v1.34.1 > v1.35.0";
    let settled = "+3m changed *|status.version.kubernetes: wrong > v1.34.1\n";
    let once = "first listed; m owns the field *|The run read the object once, so nothing is known of earlier versions.";
    let unchanged = "+0s first listed\nThe run watched the object and saw no change.";
    let provider = "status.accessProviders[p]";
    let certificate = CERTIFICATE.replace("LONG", &"QUJD".repeat(100));
    let shortened = r#"https://a.example|certificate-authority-data: "(400 bytes)"}}"#;
    for (text, path, parts) in [
        (LOGGED, version, logged),
        (CREDENTIAL, provider, "status.accessProviders[p]: (absent) > "),
        (&certificate, provider, shortened),
        (SETTLED, version, settled),
        ("profiles: [{}]", version, once),
        ("steps: []", "spec.absent", unchanged),
        // A text that takes too long to search for credentials.
        (
            &long,
            "spec.displayName",
            "spec.displayName: a > (1,048,576 bytes)\n",
        ),
    ] {
        let output = output(&profile_story(&world(text), path));
        assert_contains(&output, &parts.split('|').collect::<Vec<_>>());
        assert!(!output.contains("CANARY"), "{output}");
    }
}

/// A hundred writes that change only times, before and after one that changes the version.
fn heartbeats() -> Evidence {
    let beat = r#"status: {properties: [{name: a, value: "1", lastObservedTime: "${at}"}]}"#;
    world(&format!(
        r#"
observe: 30m
steps:
  - {{at: 10s, every: 2s, times: 50, change: {{{beat}}}}}
  - {{at: 5m, change: {{status: {{version: {{kubernetes: v2}}}}}}}}
  - {{at: 10m, every: 2s, times: 50, change: {{{beat}}}}}
"#
    ))
}

#[test]
fn writes_of_times_alone_are_one_event() {
    let story = profile_story(&heartbeats(), "status.version.kubernetes");
    let output = output(&story);
    // The first one also removes the other properties.
    let mut lines = output.lines().filter(|line| line.contains("of times alone"));
    for count in ["49 writes", "50 writes"] {
        assert_contains(lines.next().expect("a line"), &[count]);
    }
    assert_eq!(lines.next(), None);
    let all: usize = story.events.iter().map(|event| event.count).sum();
    assert_eq!(all, 102, "every write is counted");
}

#[test]
fn finding_on_a_time_shows_each_write_of_it() {
    let story = profile_story(&heartbeats(), "status.properties[a].lastObservedTime");
    let output = output(&story);
    let setting = story.events.iter().filter(|event| event.sets_field).count();
    assert!(setting >= 8 && !output.contains("of times alone"), "{output}");
}

#[test]
fn story_is_bounded_and_counts_what_it_omits() {
    let long = "x".repeat(5_000);
    let property = |number| json!({"name": format!("p{number}"), "value": format!("${{n}}{long}")});
    let properties: Vec<Value> = (0..40).map(property).collect();
    let steps = json!({"observe": "30m", "steps": [
        {"at": "10s", "every": "1s", "times": 500, "change": {"status": {"properties": properties}}},
    ]});
    let evidence = world(&steps.to_string());
    let story = profile_story(&evidence, "status.version");
    assert!(story.events.len() <= 14, "{}", story.events.len());
    let versions: usize = story.events.iter().map(|event| event.count).sum();
    assert_eq!(versions, 501);
    let text = serde_json::to_string(&story).expect("JSON");
    assert!(text.len() < 30_000, "{} bytes", text.len());
    let mut events = story.events.iter();
    assert!(events.any(|event| event.changed.len() == 6 && event.more_changed == 34));
}

#[test]
fn story_shows_no_credential() {
    let evidence = world(
        r#"
steps:
  - at: 10s
    change:
      metadata: {annotations: {join-password: CANARY-one}}
      status: {properties: [{name: client-secret, value: CANARYs3cr3t}, {name: note, value: "https://u:CANARY@h"}]}
  - at: 20s
    change:
      metadata: {annotations: {join-password: CANARY-two}}
      status: {properties: [{name: client-secret, value: CANARYs3cr4t}, {name: note, value: "https://u:CANARI@h"}]}
driver:
  steps: [{action: tamper-status, at: 15s, change: {path: status.version, before: "https://u:CANARY@h", after: v1}}]
"#,
    );
    for path in [
        "metadata.annotations[join-password]",
        "status.properties[client-secret].value",
        "",
    ] {
        let output = output(&profile_story(&evidence, path));
        assert!(!output.contains("CANAR"), "{output}");
        assert_contains(&output, &["metadata.annotations[join-password]: … > …"]);
    }
}

#[test]
fn re_created_object_has_one_story() {
    let evidence = world(
        r#"
steps:
  - {at: 10s, delete: a}
  - {at: 20s, create: {metadata: {name: a}, spec: {displayName: other}}}
"#,
    );
    let object = ObjectRef::from(evidence.profiles[1].last());
    let finding = Finding::on(object, "it is wrong").at("spec.displayName");
    let story = Stories::of(&evidence).of_finding(&finding).expect("it was seen");
    let expected = "+0s first listed; m owns the field *\n  spec.displayName: (absent) > a\n+10s deleted\n\
                    +20s created by m *\n  spec.displayName: (absent) > other\n";
    assert_eq!(output(&story), expected);
}

#[test]
fn clusters_of_a_slice_are_identified_by_name() {
    let cluster = |name: &str| json!({"clusterProfileRef": {"name": name, "namespace": "default"}});
    let slices = json!({
        "slices": [{"decisions": [cluster("a"), cluster("b")]}],
        "steps": [{"at": "10s", "change": {"decisions": [cluster("b"), cluster("c")]}}],
    });
    let evidence = tests::world(Edition::Placement2025M09, &slices);
    let finding = finding::<evidence::api::PlacementDecision>(&evidence, "decisions[0].clusterProfileRef");
    let story = Stories::of(&evidence).of_finding(&finding).expect("it was seen");
    let output = output(&story);
    let gone = output.find("decisions[default/a]: ").expect("it went");
    assert!(output[gone..].contains("> (absent)"), "{output}");
    assert_contains(&output, &["decisions[default/c]: (absent) > "]);
    assert!(!output.contains("decisions[default/b]"), "{output}");
}

/// A consumer that still calls the server of a deleted profile.
const KEEPS: &str = r#"
profiles: [{metadata: {name: b}}, {}]
steps: [{at: 60s, delete: b}]
testbed:
  expect: [{rule: consumer-change/profile-gone, stopsCalling: b, from: 60s}]
  controls: [{from: 0s, calledAt: 1s, until: 50s}, {from: 61s, calledAt: 62s}]
  hookCalls: [{action: stop, from: 20s, until: 20s, failure: no way in}]
memberCalls: [{at: 2s, of: b, every: 5s, times: 3}, {at: 3s, of: a}, {at: 70s, of: b, event: {failed: {reason: unknown authority}}}, {at: 71s, of: b, every: 5s, times: 4}]
pluginCalls: [{at: 2s, of: b}, {at: 3s, of: a}]
"#;

#[test]
fn story_lists_calls_and_actions_of_the_testbed() {
    let evidence = world_of(Edition::Consumer2026M09, KEEPS);
    let mut profiles = evidence.profiles.iter().map(|history| history.last());
    let gone = profiles.find(|profile| &*profile.metadata.name == "b");
    let finding = Finding::on(ObjectRef::from(gone.expect("it was there")), "it is called")
        .observed("a call of https://b.default.example:6443 at 2026-01-01T00:01:11Z");
    let story = Stories::of(&evidence).of_finding(&finding).expect("a story");
    assert_eq!(
        output(&story),
        "\
+0s testbed: scenario the example
+0s first listed
+2s consumer called: https://b.default.example:6443: GET /api, 200
+2s plugin ran: secretreader for https://b.default.example:6443: a credential
+7s consumer called 2 times, last: https://b.default.example:6443: GET /api, 200
+20s testbed: hook stop failed: no way in
+1m testbed: expected for consumer-change/profile-gone: it stops calling the member
+1m deleted
+1m 1s testbed: scenario the example
+1m 10s consumer called: https://b.default.example:6443: unknown authority
+1m 11s consumer called 4 times, last: https://b.default.example:6443: GET /api, 200
"
    );
}
