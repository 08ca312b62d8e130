//! Which writes changed their object.

use super::*;

const YES: Option<bool> = Some(true);
const NO: Option<bool> = Some(false);

/// Whether each of these writes, in the order of the log, changed its object.
fn changed(events: &[Value]) -> Vec<Option<bool>> {
    let requests = read(events).requests.events;
    requests.iter().map(|request| request.changed).collect()
}

/// A write that was sent upon one version and answered with another, by what the log shows.
fn write(verb: &str, at: &str, sent: Option<&str>, answered: Option<&str>) -> Value {
    let mut over =
        json!({"verb": verb, "requestObject": {"metadata": {"resourceVersion": sent}, "status": {"a": 1}}});
    if let Some(version) = answered {
        over["responseObject"] = json!({"metadata": {"resourceVersion": version}});
    }
    event(at, at, over)
}

fn update(at: &str, sent: &str) -> Value {
    write("update", at, Some(sent), None)
}

fn patch(at: &str, answered: &str) -> Value {
    write("patch", at, None, Some(answered))
}

/// The same write, but received and answered at these times.
fn lasting(mut write: Value, received: &str, answered: &str) -> Value {
    write["requestReceivedTimestamp"] = json!(time(received));
    write["stageTimestamp"] = json!(time(answered));
    write
}

#[test]
fn the_version_before_and_the_one_after_tell() {
    let over = |over: Value| event("x", "00:00:05", over);
    let changes = changed(&[
        write("update", "00:00:01", Some("5"), Some("6")),
        write("update", "00:00:02", Some("6"), Some("6")),
        patch("00:00:03", "6"),
        patch("00:00:04", "7"),
        // Refused and rehearsed writes change nothing that the next ones build upon.
        over(json!({"responseStatus": {"code": 409}})),
        patch("00:00:06", "7"),
        // A write of which the log shows less hides what the next one changes.
        event("7", "00:00:07", json!({})),
        patch("00:00:08", "9"),
        event(
            "9",
            "00:00:09",
            json!({"verb": "patch", "responseStatus": {"code": 201}, "objectRef": {"name": "applied"}}),
        ),
    ]);
    assert_eq!(changes, [YES, NO, NO, YES, None, NO, None, None, YES]);
}

#[test]
fn without_answers_the_next_update_tells() {
    // The last one is followed by nothing.
    let changes = changed(&[
        update("00:00:01", "5"),
        update("00:00:02", "5"),
        update("00:00:03", "6"),
        update("00:00:04", "9"),
    ]);
    assert_eq!(changes, [NO, YES, YES, None]);
    // At level Metadata the version that an update was made upon stands in the reference.
    let reference = |at: &str, version: &str| {
        event(
            at,
            at,
            json!({"verb": "update", "objectRef": {"resourceVersion": version}}),
        )
    };
    let changes = changed(&[
        reference("00:00:01", "5"),
        reference("00:00:02", "5"),
        reference("00:00:03", "6"),
    ]);
    assert_eq!(changes, [NO, YES, None]);
    // A patch between two updates upon one version.
    let metadata = event("p", "00:00:02", json!({}));
    let changes = changed(&[update("00:00:01", "5"), metadata, update("00:00:03", "5")]);
    assert_eq!(changes[1], NO);
    assert_ne!(changes[0], YES);
    // An update that does not say upon which version.
    assert_eq!(
        changed(&[update("00:00:01", "0"), update("00:00:02", "0")]),
        [None, None]
    );
}

#[test]
fn what_nobody_saw_before_is_not_told() {
    assert_eq!(changed(&[patch("00:00:01", "5")]), [None]);
    assert_eq!(
        changed(&[patch("00:00:01", "5"), patch("00:00:02", "5")]),
        [None, NO]
    );
    // Of other objects nothing follows.
    let mut other = patch("00:00:02", "5");
    other["objectRef"]["name"] = json!("b");
    assert_eq!(changed(&[patch("00:00:01", "5"), other]), [None, None]);
    // A deletion may only have marked the object, or all of its namespace.
    for verb in ["delete", "deletecollection"] {
        let mut delete = event(
            "d",
            "00:00:02",
            json!({"verb": verb, "objectRef": {"subresource": null}}),
        );
        if verb == "deletecollection" {
            delete["objectRef"]["name"] = Value::Null;
        }
        let changes = changed(&[patch("00:00:01", "5"), delete, patch("00:00:03", "6")]);
        assert_eq!(changes, [None, None, None], "{verb}");
    }
}

#[test]
fn of_writes_that_overlap_only_their_own_versions_tell() {
    let first = lasting(patch("00:00:01", "5"), "00:00:01", "00:00:04");
    let second = lasting(patch("00:00:02", "5"), "00:00:02", "00:00:05");
    let third = patch("00:00:06", "5");
    // One of the first two may have made that version.
    assert_eq!(changed(&[first, second, third]), [None, None, NO]);

    let slow = lasting(patch("00:00:02", "6"), "00:00:02", "00:00:09");
    let quick = patch("00:00:04", "7");
    assert_eq!(
        changed(&[patch("00:00:01", "5"), slow, quick]),
        [None, None, None]
    );

    let own = lasting(
        write("update", "00:00:02", Some("6"), Some("7")),
        "00:00:02",
        "00:00:09",
    );
    let quick = patch("00:00:04", "6");
    assert_eq!(changed(&[patch("00:00:01", "5"), own, quick])[1], YES);
}

/// The same write, by an API server whose clock is two seconds behind.
fn behind(write: Value, at: &str) -> Value {
    lasting(write, at, at)
}

#[test]
fn versions_before_and_after_prove_a_change_whatever_the_clocks() {
    let update = |at: &str, sent: &str, answered: &str| write("update", at, Some(sent), Some(answered));
    // In truth at :04, :05 and :06; the server of the second one is two seconds behind.
    let changes = changed(&[
        update("00:00:04", "5", "6"),
        behind(update("00:00:05", "6", "7"), "00:00:03"),
        update("00:00:06", "7", "8"),
    ]);
    assert_eq!(changes, [YES, YES, YES]);
}

#[test]
fn where_clocks_disagree_the_order_of_close_writes_proves_nothing() {
    // In truth at :04 and :05: the patch made version 6, upon which the update was made.
    let apart = [
        patch("00:00:04", "6"),
        behind(write("update", "00:00:05", Some("6"), Some("7")), "00:00:03"),
    ];
    assert_eq!(changed(&apart), [YES, None]);
    // So it is for another object of that log, but not for writes that are further apart than the clocks.
    let other = |at: &str| {
        let mut write = patch(at, "9");
        write["objectRef"]["name"] = json!("b");
        write
    };
    let mut log = apart.to_vec();
    log.extend(["00:01:00", "00:01:01", "00:01:30"].map(other));
    assert_eq!(changed(&log)[2..], [None, None, NO]);
    // In a log without a contradiction, each second counts.
    assert_eq!(changed(&["00:01:00", "00:01:01"].map(other)), [None, NO]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Whatever a log leaves out, it never says the wrong thing of a write that changed something; nor, while it shows
    /// of all writes and their answers one after the other, of one that did not.
    #[test]
    fn never_tells_the_wrong_thing(
        writes in prop::collection::vec((any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), 1..9_u32), 1..40),
    ) {
        let (mut version, mut clock) = (100, 0);
        let (mut events, mut truth) = (Vec::new(), Vec::new());
        let mut whole = true;
        for (number, (changes, is_update, logged, sent_told, answer_told, pause)) in writes.iter().enumerate() {
            let before = version.to_string();
            version += u32::from(*changes) * pause;
            let after = version.to_string();
            clock += pause;
            whole &= *logged && (*answer_told || *is_update);
            if *logged {
                let sent = (*is_update && *sent_told).then_some(&*before);
                let verb = if *is_update { "update" } else { "patch" };
                let mut event = write(verb, "00:00:00", sent, answer_told.then_some(&*after));
                event["auditID"] = json!(number.to_string());
                let at = |second: u32| json!(time(&format!("00:{:02}:{:02}", second / 60, second % 60)));
                event["requestReceivedTimestamp"] = at(clock);
                event["stageTimestamp"] = at(clock);
                events.push(event);
                truth.push(*changes);
            }
        }
        if events.is_empty() {
            return Ok(());
        }
        for (change, truth) in changed(&events).into_iter().zip(truth) {
            match change {
                // Nothing is called empty that was not.
                Some(false) => prop_assert!(!truth),
                Some(true) if whole => prop_assert!(truth),
                _ => {}
            }
        }
    }
}
