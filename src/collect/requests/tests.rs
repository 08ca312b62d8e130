//! What is read from an audit log.

mod changes;
mod damage;
mod files;
mod window;

use std::{
    io::Write as _,
    path::{Path, PathBuf},
};

use evidence::{Digester, Evidence, Gap, Kind, Request, Requested, Testbed, Window, read_input};
use flate2::{Compression, write::GzEncoder};
use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;

fn time(text: &str) -> Timestamp {
    format!("2026-01-01T{text}Z").parse().expect("a time")
}

/// A write on profile `a` that was answered; `over` is merged over it.
fn event(id: &str, at: &str, over: Value) -> Value {
    let mut event = json!({
        "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata", "auditID": id, "stage": "ResponseComplete",
        "requestURI": "/apis/multicluster.x-k8s.io/v1alpha1/namespaces/n/clusterprofiles/a/status", "verb": "patch",
        "user": {"username": "m"}, "userAgent": "agent/1",
        "objectRef": {"apiGroup": "multicluster.x-k8s.io", "resource": "clusterprofiles", "namespace": "n", "name": "a", "subresource": "status"},
        "responseStatus": {"code": 200},
        "requestReceivedTimestamp": time(at), "stageTimestamp": time(at),
    });
    json_patch::merge(&mut event, &over);
    event
}

/// The same as a line of a log.
fn line(id: &str, at: &str) -> String {
    format!("{}\n", event(id, at, json!({})))
}

/// An event that shows only that the log goes on.
fn tick(at: &str) -> Value {
    let lease = json!({"objectRef": {"apiGroup": "coordination.k8s.io", "resource": "leases"}});
    event(&format!("tick-{at}"), at, lease)
}

fn packed(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).expect("a vector takes all");
    encoder.finish().expect("a vector takes all")
}

struct Logs(TempDir);

impl Logs {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn put(&self, name: &str, events: &[Value]) -> PathBuf {
        let lines: Vec<String> = events.iter().map(|event| format!("{event}\n")).collect();
        self.put_bytes(name, lines.concat().as_bytes())
    }

    fn put_bytes(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, bytes).expect("writes");
        path
    }
}

fn read(events: &[Value]) -> AuditLog {
    let logs = Logs::new();
    read_audit_log(&[logs.put("audit.log", events)]).expect("reads")
}

fn only(event: Value) -> Request {
    let [request] = &read(&[event]).requests.events[..] else {
        panic!("one request")
    };
    request.clone()
}

#[test]
fn the_recorded_log_shows_what_its_readme_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/recorded");
    let input = read_input(&folder, &Digester::new([7; 32]));
    let mut evidence = input.expect("a dump").evidence;
    let log = read_audit_log(&[folder.join("audit.log")]).expect("a log");
    merge_into(&mut evidence, log);

    assert!(evidence.gaps.is_empty() && evidence.unreadable.is_empty());
    assert_eq!(evidence.requested(Kind::Requests), &Requested::Yes);
    let requests = evidence.requests.as_ref().expect("requests");
    let of = |name: &str| -> Vec<&Request> { requests.events.iter().filter(|r| &*r.name == name).collect() };
    let flaps: Vec<_> = of("basil").into_iter().filter(|r| r.is_status_write()).collect();
    assert_eq!(flaps.len(), 13);
    assert_eq!(flaps[12].at.duration_since(flaps[0].at).as_secs(), 47);
    let verbs = |name: &str| -> Vec<String> { of(name).iter().map(|r| r.verb.to_string()).collect() };
    assert_eq!(verbs("elder"), ["create", "delete"]);
    assert_eq!(verbs("amber"), ["create", "patch"]);
    for created in requests.events.iter().filter(|r| &*r.verb == "create") {
        let body = created.body.as_ref().expect("a body");
        assert_eq!(body.manager_label.as_deref(), Some("fleet-warden"));
        assert_eq!(body.manager, body.manager_label);
        assert_eq!(created.changed, Some(true));
    }
    assert_eq!(requests.covers.seconds(), 115);
}

#[test]
fn reads_the_fields_that_rules_use() {
    let only = |over: Value| only(event("1", "00:00:01", over));
    let expected = Request {
        at: time("00:00:01"),
        verb: "patch".into(),
        user: "other".into(),
        user_agent: "agent/1".into(),
        namespace: "n".into(),
        name: "a".into(),
        subresource: "status".into(),
        code: 200,
        dry_run: false,
        changed: None,
        resource_version: None,
        body: None,
    };
    assert_eq!(only(json!({"impersonatedUser": {"username": "other"}})), expected);
    let dry = only(json!({"requestURI": "/x?fieldManager=m&dryRun=All"}));
    assert!(dry.dry_run && !dry.is_write());
    // Deletions may ask for a dry run in their options.
    let delete = |options: Value| {
        only(json!({"verb": "delete", "requestObject": options, "objectRef": {"subresource": null}}))
    };
    assert!(delete(json!({"dryRun": ["All"]})).dry_run && !delete(json!({"dryRun": []})).dry_run);
    // A creation with generateName: only the answer has the name.
    let over = json!({"verb": "create", "objectRef": {"name": null, "subresource": null}, "responseObject": {"metadata": {"name": "a-x7"}},
        "requestObject": {"metadata": {"generateName": "a-"}}});
    assert_eq!(&*only(over).name, "a-x7");
}

#[test]
fn only_answered_writes_on_profiles_count_and_each_once() {
    let write = event("1", "00:00:02", json!({}));
    // Received first of all, and answered last.
    let slow = json!({"requestReceivedTimestamp": time("00:00:01"), "stageTimestamp": time("00:00:06")});
    let log = read(&[
        event("9", "00:00:05", json!({})),
        event("8", "00:00:05", slow),
        event("1", "00:00:02", json!({"stage": "RequestReceived"})),
        write.clone(),
        write,
        event("2", "00:00:03", json!({"verb": "get"})),
        event("3", "00:00:03", json!({"objectRef": {"resource": "others"}})),
        event("4", "00:00:04", json!({"objectRef": {"apiGroup": "example.com"}})),
    ]);
    let at: Vec<Timestamp> = log.requests.events.iter().map(|request| request.at).collect();
    assert_eq!(at, [time("00:00:01"), time("00:00:02"), time("00:00:05")]);
    let (from, until) = (time("00:00:02"), time("00:00:06"));
    assert_eq!(log.requests.covers, Window { from, until });
}

#[test]
fn no_name_of_the_log_keeps_a_token() {
    let token = format!("ghp_{}", "canary".repeat(6));
    let over = json!({
        "user": {"username": format!("ci:{token}")}, "userAgent": format!("agent/1 ({token})"),
        "objectRef": {"name": format!("a-{token}")},
    });
    let request = only(event("1", "00:00:01", over));
    let names = [&*request.user, &*request.user_agent, &*request.name];
    assert_eq!(names, ["ci:…", "agent/1 (…)", "a-…"]);
}

#[test]
fn the_suite_s_own_writes_count_for_nobody_but_change_versions() {
    let over = |agent: &str, version: &str| {
        let answer = json!({"metadata": {"resourceVersion": version}});
        json!({"userAgent": agent, "responseObject": answer})
    };
    let log = [
        event("1", "00:00:01", over("agent/1", "5")),
        event("2", "00:00:02", over("clusterprofile-conformance/0.0.9", "6")),
        event("3", "00:00:03", over("agent/1", "6")),
        event("4", "00:00:04", over("clusterprofile-conformance-like/1", "7")),
    ];
    let requests = |testbed: Option<Testbed>| {
        let mut evidence = Evidence {
            testbed,
            ..Evidence::default()
        };
        merge_into(&mut evidence, read(&log));
        evidence.requests.expect("requests").events
    };
    let events = requests(None);
    let agents = events.iter().map(|request| &*request.user_agent);
    assert!(agents.eq(["agent/1", "agent/1", "clusterprofile-conformance-like/1"]));
    assert_eq!(events[1].changed, Some(false));
    // Where the suite publishes the profiles itself, its writes prove that the log shows them.
    assert_eq!(requests(Some(Testbed::default())).len(), 4);
}

#[test]
fn an_open_watch_does_not_stretch_the_log_back() {
    let watch = json!({"verb": "watch", "requestReceivedTimestamp": time("00:00:00")});
    let log = read(&[event("w", "00:10:00", watch), event("1", "00:10:01", json!({}))]);
    assert_eq!(log.requests.covers.from, time("00:10:00"));
}

#[test]
fn the_levels_of_writes_on_profiles_are_known() {
    let over = |level: &str, verb: &str, resource: &str| {
        let over = json!({"level": level, "verb": verb, "objectRef": {"resource": resource}});
        event(&format!("{level} {verb} {resource}"), "00:00:01", over)
    };
    let log = read(&[
        over("RequestResponse", "list", "clusterprofiles"),
        over("Request", "update", "clusterprofiles"),
        over("Metadata", "patch", "clusterprofiles"),
        over("None", "patch", "clusterprofiles"),
        over("RequestResponse", "create", "placementdecisions"),
    ]);
    assert!(log.levels.iter().eq(["Metadata", "Request"]), "{:?}", log.levels);
}

#[test]
fn a_log_that_leaves_profiles_out_is_no_evidence_of_silence() {
    let gaps_of = |events: &[Value]| {
        let mut evidence = Evidence::default();
        merge_into(&mut evidence, read(events));
        evidence.gaps
    };
    let gaps = gaps_of(&[tick("00:00:01")]);
    let [gap] = &gaps[..] else { panic!("a gap") };
    assert!(gap.reason.contains("audit policy"), "{}", gap.reason);
    assert!(gaps_of(&[event("1", "00:00:01", json!({"verb": "list"}))]).is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn no_bytes_make_it_panic(
        is_packed in any::<bool>(), at in any::<prop::sample::Index>(), bytes in prop::collection::vec(any::<u8>(), 0..6),
    ) {
        let body = json!({"requestObject": [{"op": "add", "path": "/spec/clusterManager/name", "value": "m"}]});
        let text = format!("{}\n{}\n", tick("00:00:01"), event("1", "00:00:02", body));
        let mut text = if is_packed { packed(&text) } else { text.into_bytes() };
        let at = at.index(text.len());
        let end = (at + bytes.len()).min(text.len());
        text.splice(at..end, bytes);
        if let Ok(log) = read_audit_text("x", &text[..]) {
            merge_into(&mut Evidence::default(), log);
        }
    }
}
