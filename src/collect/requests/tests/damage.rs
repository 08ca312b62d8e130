//! Logs that are not as they were written.

use super::*;

/// Reads these bytes as a log.
fn read_bytes(bytes: &[u8]) -> AuditLog {
    let logs = Logs::new();
    read_audit_log(&[logs.put_bytes("audit.log", bytes)]).expect("reads")
}

/// The only gap: its span, and its reason from the file's name on.
fn gap_of(log: &AuditLog) -> (Option<Timestamp>, Option<Timestamp>, String) {
    let [gap] = &log.gaps[..] else {
        panic!("one gap, not {:?}", log.gaps)
    };
    let reason = gap.reason.rsplit('/').next().unwrap_or_default().to_owned();
    (gap.from, gap.until, reason)
}

/// Why these bytes are no log.
fn refusal(bytes: &[u8]) -> String {
    let logs = Logs::new();
    let error = read_audit_log(&[logs.put_bytes("bad.log", bytes)]).expect_err("no log");
    error.to_string()
}

#[test]
fn a_last_line_that_is_not_finished_is_left_out_with_a_note() {
    let next = event("2", "00:00:02", json!({})).to_string();
    let cut = format!("{}{}", line("1", "00:00:01"), &next[..next.len() / 2]);
    let log = read_bytes(cut.as_bytes());
    assert!(log.cut_short);
    assert_eq!((log.requests.events.len(), &log.gaps[..]), (1, &[][..]));
    let note = "audit.log is not finished and left out: it ends in the middle";
    assert!(log.notes[0].ends_with(note), "{:?}", log.notes);
    // It is only the line's end that is missing.
    let log = read_bytes(format!("{}{next}", line("1", "00:00:01")).as_bytes());
    assert!(!log.cut_short && log.notes.is_empty());
    assert_eq!(log.requests.events.len(), 2);
}

#[test]
fn a_spoilt_line_is_a_gap_between_its_neighbours() {
    let around = |spoilt: &str| format!("{}{spoilt}\n{}", line("1", "00:00:01"), line("3", "00:00:03"));
    let spoilt = |over: Value| event("2", "00:00:02", over).to_string();
    let timeless = json!({"stageTimestamp": null, "requestReceivedTimestamp": null});
    for (spoilt, why) in [
        ("{\"canary", "it does not parse"),
        ("\u{0}\u{0}\u{0}", "it does not parse"),
        (&spoilt(json!({"verb": ["canary"]})), "a field is not of its type"),
        (&spoilt(timeless), "it has no stageTimestamp"),
    ] {
        let log = read_bytes(around(spoilt).as_bytes());
        assert_eq!(log.requests.events.len(), 2);
        let reason = format!("audit.log:2 is not an audit event in JSON: {why}");
        let (from, until) = (Some(time("00:00:01")), Some(time("00:00:03")));
        assert_eq!(gap_of(&log), (from, until, reason));
    }
    // The first one, of which a part was cut off, and the last one.
    let next = line("2", "00:00:02");
    let log = read_bytes(format!("{}{next}", &next[40..]).as_bytes());
    let (from, until, _) = gap_of(&log);
    assert_eq!((from, until), (None, Some(time("00:00:02"))));
    let log = read_bytes(format!("{next}{{\"canary\n").as_bytes());
    let (from, until, _) = gap_of(&log);
    assert_eq!((from, until), (Some(time("00:00:02")), None));
}

#[test]
fn however_much_is_spoilt_the_gaps_are_few() {
    let mut text = String::new();
    for second in 10..60 {
        text += &format!("{}{{\n", line(&second.to_string(), &format!("00:00:{second}")));
    }
    text += &line("last", "00:01:00");
    let log = read_bytes(text.as_bytes());
    assert_eq!(log.requests.events.len(), 51);
    assert_eq!(log.gaps.len(), 20);
    assert_eq!(log.gaps.last().and_then(|gap| gap.until), Some(time("00:01:00")));
}

#[test]
fn lines_of_other_logs_are_no_lost_events() {
    let foreign = "I0101 00:00:02.000000       1 trace.go:236] Trace\n{\"ts\": 1.5, \"user\": \"x\"}\n";
    let log = read_bytes(format!("{}{foreign}{}", line("1", "00:00:01"), line("2", "00:00:03")).as_bytes());
    assert_eq!((log.requests.events.len(), &log.gaps[..]), (2, &[][..]));
    assert!(log.notes[0].starts_with("2 lines of "), "{:?}", log.notes);
}

#[test]
fn a_packed_log_that_is_cut_short_is_a_gap_from_there_on() {
    let lines = |from: u32, until: u32| -> String {
        let lines = (from..until).map(|n| line(&format!("{n}-{}", n.wrapping_mul(0x9E37_79B9)), &clock(n)));
        lines.collect()
    };
    let logs = Logs::new();
    let whole = packed(&lines(0, 2000));
    let old = logs.put_bytes("audit-1.log.gz", &whole[..whole.len() / 2]);
    let live = logs.put_bytes("audit.log", lines(2000, 2100).as_bytes());
    let log = read_audit_log(&[live, old]).expect("reads");
    let (from, until, reason) = gap_of(&log);
    let read = log.requests.events.len() - 100;
    assert!((100..2000).contains(&read), "{read}");
    assert_eq!(from, Some(time(&clock(u32::try_from(read).expect("few") - 1))));
    assert_eq!(until, Some(time("00:33:20")));
    let expected = "audit-1.log.gz ends early: it is packed with gzip and cut short";
    assert_eq!(reason, expected);
    assert!(!log.cut_short);

    let log = read_bytes(&whole[..whole.len() / 2]);
    let (_, until, _) = gap_of(&log);
    assert_eq!(until, None, "it is unknown how long it went on");
}

/// So many seconds after midnight.
fn clock(seconds: u32) -> String {
    let (minutes, seconds) = (seconds / 60, seconds % 60);
    format!("{:02}:{:02}:{seconds:02}", minutes / 60, minutes % 60)
}

#[test]
fn what_is_no_audit_log_is_refused_without_quoting_it() {
    // The last one is not read to its end.
    let long = b"no event\n".repeat(1_000_000);
    for (bytes, expected) in [
        (
            &b"canary: yes\n"[..],
            "bad.log:1 is not an audit event in JSON: it does not parse",
        ),
        (b"canary: yes\n", "--audit-log-format=json"),
        (b"{\"kind\": \"Pod\"}", "its lines are not audit events in JSON"),
        (&[0x1F, 0x8B, 8], "cut short"),
        (b"", "holds no event"),
        (&long, "bad.log:1 "),
    ] {
        let refusal = refusal(bytes);
        assert!(
            refusal.contains(expected) && !refusal.contains("canary"),
            "{refusal}"
        );
    }
    let logs = Logs::new();
    let missing = read_audit_log(&[logs.0.path().join("missing")]).expect_err("missing");
    let missing = missing.to_string();
    assert!(missing.starts_with("failed to read the audit log "), "{missing}");
}

#[test]
fn writes_without_an_answer_are_a_gap() {
    let unanswered = json!({"stage": "RequestReceived", "responseStatus": null});
    let received = |id: &str, at: &str| event(id, at, unanswered.clone());
    let log = read(&[
        received("1", "00:00:01"),
        event("1", "00:00:02", json!({})),
        received("2", "00:00:03"),
        received("3", "00:00:04"),
        tick("00:05:00"),
        // It may be under way.
        received("4", "00:05:01"),
    ]);
    assert_eq!(log.requests.events.len(), 1);
    let (from, until, reason) = gap_of(&log);
    assert_eq!((from, until), (Some(time("00:00:03")), Some(time("00:00:04"))));
    assert!(reason.contains("2 writes"), "{reason}");
    assert!(reason.contains("ResponseComplete"), "{reason}");
}
