//! The rules' examples without a part of their evidence, and evidence without any object that is judged: it says nothing about
//! the implementation, whatever else it holds.

use std::collections::BTreeSet;

use evidence::{
    Evidence, Kind, Requested, Requests, Window,
    api::{Edition, ObjectKind},
};
use judge::{Decision, Selection, Verdict, judge, rules};

use super::{SAMPLE, assert_exceptions, finds, less::without, sampled};
use crate::examples;

/// What may be forbidden to a run, or left out of a dump.
const KINDS: [Kind; 15] = [
    Kind::Namespaces,
    Kind::Timeline,
    Kind::Secrets,
    Kind::UnlabelledSecrets,
    Kind::Members,
    Kind::Plugins,
    Kind::Requests,
    Kind::Probe,
    Kind::Writers,
    Kind::PlacementTimeline,
    Kind::Testbed,
    Kind::MemberCalls,
    Kind::PluginCalls,
    Kind::Mentions,
    Kind::Outputs,
];

/// Rules that find a violation only without a kind of evidence.
const MISSED: [(Kind, &str); 4] = [
    // What a single list shows counts as old, although it may have begun just then.
    (Kind::Timeline, "consumers/kubeconfig-points-at-member"),
    // No client has permission for one of the two kinds only.
    (Kind::Secrets, "consumers/secret-labelled"),
    // Only the field managers show that another client wrote.
    (Kind::Writers, "conditions/joined-follows-leave"),
    // Without any record of writers, the implementation is the only known one.
    (Kind::Writers, "properties/location-immutable"),
];

/// Whether a run may have such evidence without that kind.
fn may_lack(evidence: &Evidence, kind: Kind) -> bool {
    match kind {
        // A driver needs the watch, and a dump has none.
        Kind::Timeline | Kind::PlacementTimeline => {
            evidence.driver.is_none() && evidence.header.window.is_some()
        }
        _ => true,
    }
}

/// What is missing may make a verdict inconclusive, never wrong.
#[test]
fn absent_evidence_breaks_no_rule() {
    let mut asked = 0;
    let mut found = BTreeSet::new();
    for (rule, example) in examples().filter(|(rule, example)| !finds(rule, example.evidence())) {
        let evidence = example.evidence();
        let kinds = KINDS.into_iter().filter(|kind| may_lack(evidence, *kind));
        for kind in sampled(example, kinds) {
            let is_watch = matches!(kind, Kind::Timeline | Kind::PlacementTimeline);
            // Without a watch, all other evidence is a snapshot, too.
            for was_asked in [true, false].into_iter().filter(|asked| *asked || !is_watch) {
                if finds(rule, &without(evidence, kind, was_asked)) {
                    found.insert((kind, rule.id));
                }
                asked += 1;
            }
        }
    }
    assert_exceptions(&found, &BTreeSet::from(MISSED));
    assert!(asked > 10_000 / SAMPLE / 2, "{asked} judgements");
}

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
    header.requested = kinds.flatten().map(|kind| (*kind, Requested::Yes)).collect();
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

/// The evidence also has objects that are out of scope.
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
