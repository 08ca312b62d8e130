//! Evidence without any object that is judged: it says nothing about the implementation, whatever else it holds.

use std::collections::BTreeSet;

use evidence::{
    Asked, Evidence, Requests, Window,
    api::{Edition, ObjectKind},
};
use judge::{Decision, Selection, Verdict, judge, rules};

use super::{SAMPLE, sampled};
use crate::examples;

/// The rules that pass.
fn passing(evidence: &Evidence) -> impl Iterator<Item = &'static str> {
    let verdicts = judge(evidence, &Selection::default()).verdicts.into_iter();
    let passing = verdicts.filter(|verdict| verdict.verdict == Verdict::Pass);
    passing.map(|verdict| verdict.rule.id)
}

/// A watch that missed nothing, with all kinds of evidence, of a hub without any object.
fn empty_watch(edition: Edition) -> Evidence {
    let mut evidence = Evidence::default();
    let header = &mut evidence.header;
    header.claim.edition = edition;
    let window = Window {
        from: "2026-06-01T12:00:00Z".parse().expect("a time"),
        until: "2026-06-01T12:30:00Z".parse().expect("a time"),
    };
    header.window = Some(window);
    header.clock_skew_ms = Some(0);
    let facts = rules::all().iter().map(|rule| &rule.facts);
    let kinds = facts.flat_map(|facts| [&facts.needs, &facts.needs_one_of, &facts.helped_by]);
    header.asked = kinds.flatten().map(|kind| (*kind, Asked::Yes)).collect();
    let log = Requests {
        covers: window,
        events: Vec::new(),
    };
    evidence.requests = Some(log.clone());
    evidence.slice_requests = Some(log);
    evidence
}

#[test]
fn no_rule_passes_on_a_watch_that_saw_nothing() {
    for edition in Edition::ALL {
        let evidence = empty_watch(edition);
        assert_eq!(
            passing(&evidence).collect::<Vec<_>>(),
            <[&str; 0]>::default(),
            "{edition}"
        );
        let decision = judge(&evidence, &Selection::default()).decision;
        assert_eq!(decision, Decision::Inconclusive, "{edition}");
    }
}

/// What others did elsewhere, or to objects that are not judged, is in the evidence too.
#[test]
fn no_rule_passes_on_what_is_out_of_scope() {
    let mut passed = BTreeSet::new();
    let mut tried = 0;
    // The objects on a testbed are the run's own.
    for (_, example) in examples().filter(|(_, example)| example.evidence().testbed.is_none()) {
        for change in sampled(example, [observe_nowhere as fn(&mut Evidence), remove_objects]) {
            let mut evidence = example.evidence().clone();
            change(&mut evidence);
            passed.extend(passing(&evidence));
            tried += 1;
        }
    }
    assert_eq!(passed, BTreeSet::default());
    assert!(tried > 1_000 / SAMPLE / 2, "{tried} judgements");
}

fn observe_nowhere(evidence: &mut Evidence) {
    evidence.header.scope.namespaces = vec!["nowhere".to_owned()];
}

fn remove_objects(evidence: &mut Evidence) {
    match evidence.header.claim.edition.role().objects() {
        ObjectKind::ClusterProfile => evidence.profiles.clear(),
        ObjectKind::PlacementDecision => evidence.slices.clear(),
    }
}
