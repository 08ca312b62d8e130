use std::path::{Path, PathBuf};

use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::evidence::{Asked, Evidence, Gap, Kind, Request, Window, read_input};

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

/// An event that tells nothing but that the log goes on.
fn tick(at: &str) -> Value {
    event(
        &format!("tick-{at}"),
        at,
        json!({"objectRef": {"apiGroup": "coordination.k8s.io", "resource": "leases"}}),
    )
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
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/recorded");
    let mut evidence = read_input(&folder).expect("a dump").evidence;
    merge_into(
        &mut evidence,
        read_audit_log(&[folder.join("audit.log")]).expect("a log"),
    );

    assert!(evidence.gaps.is_empty() && evidence.unreadable.is_empty());
    for kind in [Kind::Inventory, Kind::Namespaces, Kind::Writers, Kind::Requests] {
        assert_eq!(evidence.asked(kind), &Asked::Yes, "{kind}");
    }
    let names: Vec<&str> = evidence
        .everyone()
        .map(|profile| &*profile.metadata.name)
        .collect();
    assert_eq!(names, ["amber", "basil", "cedar", "dahlia"]);
    assert!(
        evidence
            .everyone()
            .all(|profile| profile.property("cluster-endpoints.k8s.io").is_none())
    );
    assert!(evidence.namespace("inventory").is_some());
    let dahlia = evidence.everyone().last().expect("dahlia");
    let status = |kind: &str| dahlia.condition(kind).map(|condition| &*condition.status);
    assert_eq!(
        (status("ControlPlaneHealthy"), status("Joined")),
        (Some("False"), Some("True"))
    );

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
    let request = only(event(
        "1",
        "00:00:01",
        json!({"impersonatedUser": {"username": "other"}}),
    ));
    assert_eq!(
        request,
        Request {
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
            body: None,
        }
    );
    let dry = only(event(
        "1",
        "00:00:01",
        json!({"requestURI": "/x?fieldManager=m&dryRun=All"}),
    ));
    assert!(dry.dry_run && !dry.is_write());
    // A creation with generateName: only the answer tells the name.
    let over = json!({"verb": "create", "objectRef": {"name": null, "subresource": null}, "responseObject": {"metadata": {"name": "a-x7"}},
        "requestObject": {"metadata": {"generateName": "a-"}}});
    assert_eq!(&*only(event("1", "00:00:01", over)).name, "a-x7");
}

#[test]
fn only_answered_writes_on_profiles_count_and_each_once() {
    let write = event("1", "00:00:02", json!({}));
    let log = read(&[
        event("9", "00:00:05", json!({})),
        // Received first of all, and answered last.
        event(
            "8",
            "00:00:05",
            json!({"requestReceivedTimestamp": time("00:00:01"), "stageTimestamp": time("00:00:06")}),
        ),
        event("1", "00:00:02", json!({"stage": "RequestReceived"})),
        write.clone(),
        write,
        event("2", "00:00:03", json!({"verb": "get"})),
        event(
            "3",
            "00:00:03",
            json!({"objectRef": {"resource": "clusterproperties"}}),
        ),
        event("4", "00:00:04", json!({"objectRef": {"apiGroup": "example.com"}})),
    ]);
    let at: Vec<Timestamp> = log.requests.events.iter().map(|request| request.at).collect();
    assert_eq!(at, [time("00:00:01"), time("00:00:02"), time("00:00:05")]);
    assert_eq!(
        log.requests.covers,
        Window {
            from: time("00:00:02"),
            until: time("00:00:06")
        }
    );
}

#[test]
fn an_open_watch_does_not_stretch_the_log_back() {
    let watch = event(
        "w",
        "00:10:00",
        json!({"verb": "watch", "requestReceivedTimestamp": time("00:00:00")}),
    );
    let log = read(&[watch, event("1", "00:10:01", json!({}))]);
    assert_eq!(log.requests.covers.from, time("00:10:00"));
}

#[test]
fn tells_whether_a_write_changed_anything() {
    let versions = |sent: Value, stored: Value| {
        json!({"requestObject": {"metadata": {"resourceVersion": sent}, "status": {"a": 1}},
        "responseObject": {"metadata": {"resourceVersion": stored}}})
    };
    let over = |verb: &str, sent: Value, stored: Value| {
        let mut over = versions(sent, stored);
        over["verb"] = json!(verb);
        over
    };
    let log = read(&[
        event("1", "00:00:01", over("update", json!("5"), json!("6"))),
        event("2", "00:00:02", over("update", json!("6"), json!("6"))),
        event("3", "00:00:03", over("patch", json!(null), json!("6"))),
        event("4", "00:00:04", over("patch", json!(null), json!("7"))),
        // Refused and rehearsed writes change nothing that the next ones build upon.
        event("5", "00:00:05", json!({"responseStatus": {"code": 409}})),
        event("6", "00:00:06", over("patch", json!(null), json!("7"))),
        // A write of which the log tells less hides what the next one changes.
        event("7", "00:00:07", json!({})),
        event("8", "00:00:08", over("patch", json!(null), json!("9"))),
        event(
            "9",
            "00:00:09",
            json!({"verb": "patch", "responseStatus": {"code": 201}, "objectRef": {"name": "applied"}}),
        ),
    ]);
    let changed: Vec<Option<bool>> = log
        .requests
        .events
        .iter()
        .map(|request| request.changed)
        .collect();
    let (yes, no) = (Some(true), Some(false));
    assert_eq!(changed, [yes, no, no, yes, None, no, None, None, yes]);
}

#[test]
fn rotated_files_are_one_log() {
    let logs = Logs::new();
    let old = logs.put(
        "audit-1.log",
        &[event("1", "00:00:10", json!({})), tick("00:01:00")],
    );
    let new = logs.put(
        "audit.log",
        &[
            tick("00:01:30"),
            event("1", "00:00:10", json!({})),
            event("2", "00:02:00", json!({})),
        ],
    );
    let empty = logs.put("audit-2.log", &[]);
    let log = read_audit_log(&[new, empty, old.clone()]).expect("reads");
    assert_eq!(log.requests.events.len(), 2);
    assert!(log.gaps.is_empty(), "{:?}", log.gaps);

    let late = logs.put("late.log", &[tick("00:05:00")]);
    let log = read_audit_log(&[late, old]).expect("reads");
    let [hole] = &log.gaps[..] else { panic!("one hole") };
    assert_eq!(
        (hole.from, hole.until),
        (Some(time("00:01:00")), Some(time("00:05:00")))
    );
}

#[test]
fn an_unfinished_last_line_is_no_error_and_a_spoilt_line_is() {
    let logs = Logs::new();
    let whole = format!("{}\n", event("1", "00:00:01", json!({})));
    let next = event("2", "00:00:02", json!({})).to_string();
    let cut = logs.put_bytes(
        "cut.log",
        format!("{whole}{}", &next[..next.len() / 2]).as_bytes(),
    );
    let log = read_audit_log(&[cut]).expect("reads up to the cut");
    assert!(log.cut_short);
    assert_eq!(log.requests.events.len(), 1);

    let message = |text: &str| {
        let path = logs.put_bytes("bad.log", text.as_bytes());
        let message = read_audit_log(&[path]).expect_err("spoilt").to_string();
        message.rsplit('/').next().expect("a name").to_owned()
    };
    assert_eq!(
        message(&format!("{whole}{{\"canary\n{whole}")),
        "bad.log:2 is no audit event in JSON: it does not parse"
    );
    assert_eq!(
        message(&format!(
            "{whole}{}\n",
            event("2", "00:00:02", json!({"verb": ["canary"]}))
        )),
        "bad.log:2 is no audit event in JSON: a field is not of its type"
    );
    assert!(message("{\"kind\": \"Pod\"}\n").starts_with("bad.log:1 is no audit event"));
    let none = read_audit_log(&[logs.put("none.log", &[])])
        .expect_err("empty")
        .to_string();
    assert!(none.contains("holds no event"), "{none}");
    let packed = read_audit_log(&[logs.put_bytes("a.gz", &[0x1F, 0x8B, 8])])
        .expect_err("packed")
        .to_string();
    assert!(packed.contains("gunzip"), "{packed}");
    let missing = read_audit_log(&[logs.0.path().join("missing")])
        .expect_err("missing")
        .to_string();
    assert!(missing.starts_with("failed to read the audit log "), "{missing}");
}

#[test]
fn a_log_that_leaves_profiles_out_is_no_evidence_of_silence() {
    let [gap] = &read(&[tick("00:00:01")]).gaps[..] else {
        panic!("a gap")
    };
    assert!(gap.reason.contains("audit policy"), "{}", gap.reason);
    assert!(
        read(&[event("1", "00:00:01", json!({"verb": "list"}))])
            .gaps
            .is_empty()
    );
}

fn merged(skew_ms: Option<i64>, events: &[Value]) -> Evidence {
    let mut evidence = Evidence::default();
    evidence.header.window = Some(Window {
        from: time("01:00:00"),
        until: time("01:10:00"),
    });
    evidence.header.clock_skew_ms = skew_ms;
    merge_into(&mut evidence, read(events));
    evidence
}

fn gaps(evidence: &Evidence) -> Vec<(Timestamp, Timestamp)> {
    let span = |gap: &Gap| (gap.from.expect("from"), gap.until.expect("until"));
    evidence.gaps(Kind::Requests).map(span).collect()
}

#[test]
fn the_log_is_cut_to_the_window() {
    let events = [
        event("1", "00:59:59", json!({})),
        event("2", "01:00:00", json!({})),
        event("3", "01:10:00", json!({})),
        event("4", "01:10:01", json!({})),
    ];
    let evidence = merged(None, &events);
    let requests = evidence.requests.as_ref().expect("requests");
    assert_eq!(requests.events.len(), 2);
    assert_eq!(Some(requests.covers), evidence.header.window);
    assert!(evidence.is_whole(Kind::Requests));

    // The hub's clock is a second behind: what it calls 00:59:59 is the window's beginning.
    let evidence = merged(Some(-1_000), &events);
    let requests = evidence.requests.as_ref().expect("requests");
    let at: Vec<Timestamp> = requests.events.iter().map(|request| request.at).collect();
    assert_eq!(at, [time("00:59:59"), time("01:00:00")]);
}

#[test]
fn what_the_log_does_not_cover_is_a_gap() {
    // An idle hub is silent for a while.
    let idle = merged(None, &[event("1", "01:00:50", json!({})), tick("01:09:10")]);
    assert!(gaps(&idle).is_empty());
    let short = merged(None, &[event("1", "01:02:00", json!({})), tick("01:07:00")]);
    let expected = [
        (time("01:00:00"), time("01:02:00")),
        (time("01:07:00"), time("01:10:00")),
    ];
    assert_eq!(gaps(&short), expected);
    let before = merged(None, &[event("1", "00:10:00", json!({})), tick("00:20:00")]);
    assert_eq!(gaps(&before), [(time("01:00:00"), time("01:10:00"))]);
    assert!(before.requests.expect("requests").events.is_empty());
    let after = merged(None, &[event("1", "02:10:00", json!({}))]);
    assert_eq!(gaps(&after), [(time("01:00:00"), time("01:10:00"))]);
}

#[test]
fn a_hole_counts_where_it_meets_the_window() {
    let logs = Logs::new();
    let files = |names: [&str; 3], times: [&str; 3]| -> AuditLog {
        let files: Vec<PathBuf> = (0..3)
            .map(|n| logs.put(names[n], &[event(names[n], times[n], json!({}))]))
            .collect();
        read_audit_log(&files).expect("reads")
    };
    let window = Window {
        from: time("01:00:00"),
        until: time("01:00:30"),
    };
    let merged = |log: AuditLog| {
        let mut evidence = Evidence::default();
        evidence.header.window = Some(window);
        merge_into(&mut evidence, log);
        gaps(&evidence)
    };
    let before = files(["a", "b", "c"], ["00:10:00", "00:59:50", "01:00:30"]);
    assert_eq!(before.gaps.len(), 1);
    assert_eq!(merged(before), []);
    let over = files(["a", "b", "c"], ["00:59:00", "00:59:50", "01:00:55"]);
    let hole = (time("00:59:50"), time("01:00:55"));
    assert_eq!(merged(over), [hole]);
}

#[test]
fn an_unfinished_log_has_to_reach_the_windows_end() {
    let mut evidence = Evidence::default();
    evidence.header.window = Some(Window {
        from: time("01:00:00"),
        until: time("01:10:00"),
    });
    let mut log = read(&[event("1", "01:00:00", json!({})), tick("01:09:50")]);
    log.cut_short = true;
    merge_into(&mut evidence, log.clone());
    assert_eq!(gaps(&evidence), [(time("01:09:50"), time("01:10:00"))]);
    // A second log replaces the first, and its gaps.
    log.cut_short = false;
    merge_into(&mut evidence, log);
    assert!(evidence.is_whole(Kind::Requests));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn no_bytes_make_it_panic(at in any::<prop::sample::Index>(), bytes in prop::collection::vec(any::<u8>(), 0..6)) {
        let body = json!({"requestObject": [{"op": "add", "path": "/spec/clusterManager/name", "value": "m"}]});
        let mut text = format!("{}\n{}\n", tick("00:00:01"), event("1", "00:00:02", body)).into_bytes();
        let at = at.index(text.len());
        let end = (at + bytes.len()).min(text.len());
        text.splice(at..end, bytes);
        let logs = Logs::new();
        if let Ok(log) = read_audit_log(&[logs.put_bytes("x", &text)]) {
            merge_into(&mut Evidence::default(), log);
        }
    }
}
