//! The files of a log.

use super::*;

#[test]
fn several_files_are_one_log() {
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
fn a_folder_has_the_whole_log_and_other_files() {
    let logs = Logs::new();
    let older = format!("{}{}", line("1", "09:40:00"), line("2", "09:41:00"));
    logs.put_bytes("audit-1.log.gz", &packed(&older));
    logs.put(
        "audit.log",
        &[event("3", "09:41:30", json!({})), tick("09:42:00")],
    );
    logs.put_bytes("policy.yaml", b"apiVersion: audit.k8s.io/v1\nkind: Policy\n");
    logs.put_bytes("other.json", b"{\"kind\": \"Pod\", \"apiVersion\": \"v1\"}\n");
    let log = read_audit_log(&[logs.0.path().to_owned()]).expect("reads");
    assert_eq!((log.requests.events.len(), &log.gaps[..]), (3, &[][..]));
    assert_eq!(log.notes.len(), 2, "{:?}", log.notes);
    for (named, note) in ["other.json", "policy.yaml"].into_iter().zip(&log.notes) {
        let error = read_audit_log(&[logs.0.path().join(named)])
            .expect_err("not a log")
            .to_string();
        assert!(
            error.contains(&format!("{named} is not an audit log: ")),
            "{error}"
        );
        assert_eq!(*note, format!("left out: {error}"));
    }
}

#[test]
fn a_log_that_is_silent_by_itself_may_be_silent_between_its_files() {
    let logs = Logs::new();
    // The policy lets through next to nothing.
    let events =
        |times: &[&str]| -> Vec<Value> { times.iter().map(|time| event(time, time, json!({}))).collect() };
    let old = logs.put("1.log", &events(&["00:00:00", "00:20:00", "00:35:00"]));
    let new = logs.put("2.log", &events(&["00:49:00", "00:55:00"]));
    let log = read_audit_log(&[old.clone(), new]).expect("reads");
    assert_eq!(log.gaps, []);
    assert_eq!(log.silence.as_mins(), 15);
    let late = logs.put("3.log", &events(&["00:51:00", "00:55:00"]));
    assert_eq!(read_audit_log(&[old, late]).expect("reads").gaps.len(), 1);
}
