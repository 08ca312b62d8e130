//! What of the window a log covers.

use super::*;

/// Evidence with a window from one o'clock on.
fn until(end: &str) -> Evidence {
    let mut evidence = Evidence::default();
    evidence.header.window = Some(Window {
        from: time("01:00:00"),
        until: time(end),
    });
    evidence
}

fn merged(skew_ms: Option<i64>, events: &[Value]) -> Evidence {
    let mut evidence = until("01:10:00");
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
    let merged = |log: AuditLog| {
        let mut evidence = until("01:00:30");
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
fn a_log_that_is_being_written_to_reaches_the_windows_end() {
    let mut evidence = until("01:10:00");
    let mut log = read(&[event("1", "01:00:00", json!({})), tick("01:09:50")]);
    log.cut_short = true;
    merge_into(&mut evidence, log.clone());
    assert_eq!(gaps(&evidence), [(time("01:09:50"), time("01:10:00"))]);
    // The line that is not finished came after the window.
    log.requests.covers.until = time("01:09:57");
    merge_into(&mut evidence, log.clone());
    assert_eq!(gaps(&evidence), []);
    // A second log replaces the first, and its gaps.
    log.cut_short = false;
    log.requests.covers.until = time("01:09:50");
    merge_into(&mut evidence, log);
    assert!(evidence.is_whole(Kind::Requests));
}
