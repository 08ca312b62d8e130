//! What examples cannot show, as a gap leaves the verdict open whatever the rule finds: that a gap raises no alarm.

use serde_json::{Value, json};

use crate::{
    api::Edition,
    rules::{Examine, Findings, example::Example},
};

fn found(rule: Examine, world: Value) -> usize {
    let example = json!({"name": "tried", "passes": world});
    let example = Example::parse(&example, Edition::Standard).expect("a world");
    let mut findings = Findings::default();
    rule(example.evidence(), &mut findings);
    findings.list.len()
}

/// ControlPlaneHealthy with that status, since then.
fn conditions(status: &str, since: &str) -> Value {
    json!({"conditions": [
        {"type": "Joined", "status": "True", "reason": "Joined", "lastTransitionTime": "${-1h}"},
        {"type": "ControlPlaneHealthy", "status": status, "reason": "Seen", "lastTransitionTime": since},
    ]})
}

fn gap(from: &str, until: &str) -> Value {
    json!([{"kind": "timeline", "reason": "the watch broke off", "from": from, "until": until}])
}

#[test]
fn a_time_that_moved_during_a_gap_may_have_moved_with_the_status_and_back() {
    let world = |gaps: Value| {
        json!({
            "gaps": gaps,
            "steps": [{"at": "1m", "change": {"status": conditions("True", "${40s}")}}],
        })
    };
    assert_eq!(found(super::transition_time_kept, world(gap("30s", "50s"))), 0);
    assert_eq!(found(super::transition_time_kept, world(gap("2m", "3m"))), 1);
    let elsewhere = json!([{
        "kind": "timeline", "reason": "not readable", "from": "30s", "until": "50s", "object": "b",
    }]);
    assert_eq!(found(super::transition_time_kept, world(elsewhere)), 1);
}

#[test]
fn a_time_that_stayed_over_a_gap_may_be_that_of_a_change_within_its_second() {
    let world = |gaps: Value| {
        json!({
            "gaps": gaps,
            "steps": [
                {"at": "20s", "change": {"status": conditions("False", "${20s}")}},
                {"at": "1m", "change": {"status": conditions("True", "${20s}")}},
            ],
        })
    };
    assert_eq!(found(super::transition_time_moves, world(gap("20s", "50s"))), 0);
    assert_eq!(found(super::transition_time_moves, world(json!([]))), 1);
}

#[test]
fn what_was_empty_before_and_after_a_gap_may_have_been_filled_in_between() {
    let world = |gaps: Value| {
        json!({
            "gaps": gaps,
            "steps": [
                {"at": "1m", "change": {"status": {"version": null}}},
                {"at": "2m30s", "change": {"metadata": {"labels": {"tier": "gold"}}}},
                {"at": "4m", "change": {"status": {"version": {"kubernetes": "v1.34.1"}}}},
            ],
        })
    };
    assert_eq!(found(super::status_follows_joined, world(gap("90s", "2m"))), 0);
    assert_eq!(found(super::status_follows_joined, world(json!([]))), 1);
}
