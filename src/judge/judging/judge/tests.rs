use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use evidence::{
    Gap, ObjectRef, Origin, ProfileHistory, Unreadable, Version,
    api::{ClusterProfile, Edition},
};
use jiff::Timestamp;

use super::*;
use crate::{
    engine::Evaluate,
    judging::verdict::{Count, Extent, Outcome, Tally, decide},
    rules::{Basis, Facts, Findings, Level},
};

fn facts(level: &str, rest: &str) -> Facts {
    let text = format!(
        "{{title: t, level: {level}, basis: explicit, since: standard, until: standard, source: s, remedy: r, {rest}}}"
    );
    Facts::parse("suite/rule", &text).expect("facts read")
}

fn rule(level: &str, rest: &str, examine: fn(&Evidence, &mut Findings)) -> &'static Rule {
    let mut rule = Rule::without_function("suite/rule", facts(level, rest));
    rule.evaluators.push(Arc::new(Examine(examine)));
    Box::leak(Box::new(rule))
}

/// An evaluator that leaves interruptions of a watch to the judge.
struct Examine(fn(&Evidence, &mut Findings));

impl Evaluate for Examine {
    fn evaluate(&self, hub: &Hub, findings: &mut Findings) {
        self.0(hub.evidence, findings);
    }

    fn judges_around_gaps(&self) -> bool {
        false
    }
}

fn evidence(asked: &[Kind]) -> Evidence {
    let mut evidence = Evidence::default();
    evidence
        .header
        .asked
        .extend(asked.iter().map(|kind| (*kind, Asked::Yes)));
    let mut profile = ClusterProfile::default();
    profile.metadata.name = Arc::from("a");
    evidence.profiles.push(ProfileHistory {
        origin: Origin::Listed,
        versions: vec![Version {
            at: None,
            object: profile,
        }],
        deleted: None,
        deleted_version: None,
    });
    evidence
}

fn keeps(_: &Evidence, findings: &mut Findings) {
    findings.examine();
}

fn breaks(_: &Evidence, findings: &mut Findings) {
    findings.examine();
    findings.report(Finding::on(ObjectRef::default(), "broken"));
}

fn hints(_: &Evidence, findings: &mut Findings) {
    findings.examine();
    findings.report(Finding::on(ObjectRef::default(), "dubious").advisory());
}

fn sees_nothing(_: &Evidence, _: &mut Findings) {}

fn has_no_use(_: &Evidence, findings: &mut Findings) {
    findings.not_applicable("no such feature");
}

fn outcome(rule: &'static Rule, evidence: &Evidence) -> (Verdict, Option<String>) {
    let verdict = verdict(rule, evidence);
    (verdict.verdict, verdict.reason())
}

fn verdict(rule: &'static Rule, evidence: &Evidence) -> RuleVerdict {
    let applies = rule.facts.in_edition(Edition::Standard).expect("in the edition");
    verdicts(&[(rule, applies)], evidence, &Selection::default()).remove(0)
}

#[test]
fn the_level_decides_what_a_violation_weighs() {
    let inventory = evidence(&[Kind::Inventory]);
    let mut strict = inventory.clone();
    strict.header.claim.strict = true;
    for (level, plain, under_strict) in [
        ("MUST", Verdict::Fail, Verdict::Fail),
        ("SHOULD", Verdict::Warn, Verdict::Fail),
        ("MAY", Verdict::Warn, Verdict::Warn),
    ] {
        let rule = rule(level, "needs: [inventory]", breaks);
        assert_eq!(outcome(rule, &inventory).0, plain, "{level}");
        assert_eq!(outcome(rule, &strict).0, under_strict, "{level}, strictly");
    }
    assert_eq!(
        outcome(rule("MUST", "needs: [inventory]", hints), &inventory).0,
        Verdict::Warn
    );
}

#[test]
fn a_gap_keeps_a_rule_from_passing_but_not_from_failing() {
    let mut evidence = evidence(&[Kind::Timeline]);
    evidence.gaps.push(Gap::of(Kind::Timeline, "the watch was lost"));
    let (verdict, reason) = outcome(rule("MUST", "needs: [timeline]", keeps), &evidence);
    assert_eq!(
        (verdict, reason.as_deref()),
        (Verdict::Inconclusive, Some("the watch was lost"))
    );
    assert_eq!(
        outcome(rule("MUST", "needs: [timeline]", breaks), &evidence).0,
        Verdict::Fail
    );
    assert_eq!(
        outcome(rule("MUST", "needs: [timeline]", hints), &evidence).0,
        Verdict::Inconclusive
    );
}

#[test]
fn a_gap_of_one_member_is_for_the_rules_to_tell() {
    let mut evidence = evidence(&[Kind::Members]);
    let rule = rule("MUST", "needs: [members]", keeps);
    evidence.gaps.push(Gap {
        object: Some(ObjectRef::default()),
        ..Gap::of(Kind::Members, "it does not answer")
    });
    assert_eq!(outcome(rule, &evidence).0, Verdict::Pass);
    evidence
        .gaps
        .push(Gap::of(Kind::Members, "no member could be asked"));
    assert_eq!(outcome(rule, &evidence).0, Verdict::Inconclusive);
}

#[test]
fn one_whole_kind_suffices_where_one_of_several_is_needed() {
    let rule = rule("MUST", "needsOneOf: [timeline, requests]", keeps);
    let mut both = evidence(&[Kind::Timeline, Kind::Requests]);
    both.gaps.push(Gap::of(Kind::Timeline, "the watch was lost"));
    assert_eq!(outcome(rule, &both).0, Verdict::Pass);
    both.gaps.push(Gap::of(Kind::Requests, "the log ends early"));
    let (verdict, reason) = outcome(rule, &both);
    assert_eq!(verdict, Verdict::Inconclusive);
    assert_eq!(reason.as_deref(), Some("the watch was lost; the log ends early"));
    assert_eq!(outcome(rule, &evidence(&[])).0, Verdict::Skipped);
}

#[test]
fn what_was_not_asked_for_is_skipped_with_the_reason() {
    let mut evidence = evidence(&[]);
    evidence
        .header
        .asked
        .insert(Kind::Secrets, Asked::No("grant list on secrets".into()));
    let (verdict, reason) = outcome(rule("MUST", "needs: [secrets]", breaks), &evidence);
    assert_eq!(
        (verdict, reason.as_deref()),
        (Verdict::Skipped, Some("grant list on secrets"))
    );
    let (verdict, reason) = outcome(rule("MUST", "needs: [members]", breaks), &evidence);
    assert_eq!(
        (verdict, reason.as_deref()),
        (Verdict::Skipped, Some("evidence was not requested: members"))
    );
}

#[test]
fn examining_nothing_never_passes() {
    let inventory = evidence(&[Kind::Inventory]);
    let empty = Evidence {
        profiles: Vec::new(),
        ..inventory.clone()
    };
    assert_eq!(
        outcome(rule("MUST", "needs: [inventory]", sees_nothing), &inventory).0,
        Verdict::Inconclusive
    );
    assert_eq!(
        outcome(rule("MUST", "needs: [inventory]", has_no_use), &inventory).0,
        Verdict::NotApplicable
    );
    assert_eq!(
        outcome(rule("MUST", "needs: [inventory]", has_no_use), &empty).0,
        Verdict::Inconclusive
    );
}

#[test]
fn a_rule_that_examined_nothing_says_when_all_profiles_have_left() {
    let mut evidence = evidence(&[Kind::Inventory]);
    evidence.profiles[0].deleted = Some(Timestamp::UNIX_EPOCH);
    let (verdict, reason) = outcome(rule("MUST", "needs: [inventory]", sees_nothing), &evidence);
    assert_eq!(verdict, Verdict::Inconclusive);
    let left = "there was nothing to examine; no profile was left when the window ended";
    assert_eq!(reason.as_deref(), Some(left));
    let (verdict, reason) = outcome(rule("MUST", "needs: [inventory]", has_no_use), &evidence);
    assert_eq!(verdict, Verdict::NotApplicable);
    assert!(reason.is_some_and(|reason| reason.ends_with("; no profile was left when the window ended")));
}

#[test]
fn an_unreadable_object_leaves_inventory_rules_in_doubt() {
    let mut evidence = evidence(&[Kind::Inventory]);
    let object = ObjectRef {
        kind: "ClusterProfile".to_owned(),
        name: "x".to_owned(),
        ..Default::default()
    };
    evidence.unreadable.push(Unreadable {
        object,
        message: "status is a number".to_owned(),
    });
    let (verdict, reason) = outcome(rule("MUST", "needs: [inventory]", keeps), &evidence);
    assert_eq!(verdict, Verdict::Inconclusive);
    assert_eq!(
        reason.as_deref(),
        Some("ClusterProfile x could not be read: status is a number")
    );
    assert_eq!(
        outcome(rule("MUST", "needs: [inventory]", breaks), &evidence).0,
        Verdict::Fail
    );
}

#[test]
fn an_unreadable_object_of_another_namespace_or_kind_is_of_no_concern() {
    let mut evidence = evidence(&[Kind::Inventory, Kind::Timeline]);
    evidence.profiles[0].versions[0].object.metadata.namespace = Arc::from("default");
    let mut verdict = |kind: &str, namespace: &str, facts: &str| {
        let object = ObjectRef {
            kind: kind.to_owned(),
            namespace: namespace.to_owned(),
            name: "x".to_owned(),
            ..Default::default()
        };
        evidence.header.scope.namespaces = vec!["default".to_owned()];
        evidence.unreadable = vec![Unreadable {
            object,
            message: "status is a number".to_owned(),
        }];
        outcome(rule("MUST", facts, keeps), &evidence).0
    };
    for facts in [
        "needs: [inventory]",
        "needs: [timeline]",
        "needsOneOf: [timeline, requests]",
    ] {
        assert_eq!(verdict("ClusterProfile", "default", facts), Verdict::Inconclusive);
        assert_eq!(verdict("ClusterProfile", "", facts), Verdict::Inconclusive);
        assert_eq!(verdict("", "", facts), Verdict::Inconclusive);
        assert_eq!(verdict("ClusterProfile", "other", facts), Verdict::Pass);
        assert_eq!(verdict("Secret", "default", facts), Verdict::Pass);
    }
}

#[test]
fn the_decision_follows_the_ledger() {
    let count = |passed, failed, inconclusive| Count {
        passed,
        failed,
        inconclusive,
        ..Default::default()
    };
    let tally = |must, should| Tally {
        must,
        should,
        ..Tally::default()
    };
    let narrowed = |must, should| Tally {
        unjudged_must: 1,
        ..tally(must, should)
    };
    for (expected, tally) in [
        (Decision::Conformant, tally(count(3, 0, 0), count(0, 0, 2))),
        (Decision::NotConformant, tally(count(3, 1, 1), count(0, 0, 0))),
        (Decision::NotConformant, tally(count(3, 0, 0), count(0, 1, 0))),
        (Decision::Inconclusive, tally(count(3, 0, 1), count(0, 0, 0))),
        (Decision::Inconclusive, tally(count(0, 0, 0), count(5, 0, 0))),
        (Decision::NoViolation, narrowed(count(3, 0, 0), count(0, 0, 2))),
        (Decision::NoViolation, narrowed(count(0, 0, 0), count(1, 0, 0))),
        (Decision::NotConformant, narrowed(count(3, 1, 0), count(0, 0, 0))),
        (Decision::Inconclusive, narrowed(count(3, 0, 1), count(0, 0, 0))),
        (Decision::Inconclusive, narrowed(count(0, 0, 0), count(0, 0, 1))),
    ] {
        assert_eq!(decide(&tally, Extent::default()), expected, "{tally:?}");
        let partial = match expected {
            Decision::Conformant | Decision::NoViolation => Decision::Inconclusive,
            other => other,
        };
        let cut_short = Extent {
            partial: true,
            ..Extent::default()
        };
        assert_eq!(decide(&tally, cut_short), partial, "{tally:?}, cut short");
        let confined = Extent {
            confined: true,
            ..Extent::default()
        };
        // What breaks a rule may be in another namespace.
        let expected = expected.max(Decision::NoViolation);
        assert_eq!(decide(&tally, confined), expected, "{tally:?}, confined");
    }
}

#[test]
fn a_must_rule_that_was_not_judged_keeps_a_run_from_being_conformant() {
    let decision = |level: Level, verdict: Verdict, reason: ReasonId| {
        let passed = Outcome {
            level: Level::Must,
            verdict: Verdict::Pass,
            reason: None,
        };
        let other = Outcome {
            level,
            verdict,
            reason: Some(reason),
        };
        decide(&[passed, other].into_iter().collect(), Extent::default())
    };
    for (verdict, reason, expected) in [
        (Verdict::Skipped, ReasonId::NoMembers, Decision::NoViolation),
        (Verdict::Skipped, ReasonId::NotRequested, Decision::NoViolation),
        (Verdict::Skipped, ReasonId::Deselected, Decision::NoViolation),
        // That an implementation declares something absent does not show that it is.
        (Verdict::Skipped, ReasonId::FeatureAbsent, Decision::NoViolation),
        (
            Verdict::Skipped,
            ReasonId::FeatureNotClaimed,
            Decision::Conformant,
        ),
        (
            Verdict::NotApplicable,
            ReasonId::NotApplicable,
            Decision::Conformant,
        ),
        (
            Verdict::NotApplicable,
            ReasonId::NothingHappened,
            Decision::NoViolation,
        ),
        (Verdict::Inconclusive, ReasonId::Unknown, Decision::Inconclusive),
    ] {
        assert_eq!(decision(Level::Must, verdict, reason), expected, "{reason:?}");
        assert_eq!(
            decision(Level::Should, verdict, reason),
            Decision::Conformant,
            "SHOULD, {reason:?}"
        );
    }
}

#[test]
fn what_a_guide_alone_asks_for_never_fails_a_run() {
    let text = |level: &str| {
        format!(
            "title: t\nlevel: {level}\nbasis: guide\nreasoning: r\nsince: standard\nuntil: standard\nsource: s\nremedy: r\n\
             examples:\n  - name: a\n"
        )
    };
    let facts = Facts::parse("suite/rule", &text("SHOULD")).expect("a rule");
    assert!(!facts.first().fails(true) && !facts.first().fails(false));
    let refused = Facts::parse("suite/rule", &text("MUST")).expect_err("a MUST");
    assert_eq!(
        refused.to_string(),
        "failed to read the facts of suite/rule: a rule that only a guide asks for cannot be a MUST"
    );
}

#[test]
fn a_basis_selects_by_the_judged_edition() {
    let selection = Selection {
        basis: Some(Basis::Explicit),
        ..Selection::default()
    };
    for edition in Edition::ALL {
        let mut evidence = Evidence::default();
        evidence.header.claim.edition = edition;
        let judgement = judge(&evidence, &selection);
        for verdict in &judgement.verdicts {
            let is_selected = verdict.applies.basis == Basis::Explicit;
            let id = verdict.rule.id;
            assert_eq!(verdict.is_deselected(), !is_selected, "{edition}: {id}");
            assert_eq!(
                selection.selects(verdict.rule, &evidence.header.claim),
                is_selected
            );
            if !is_selected {
                let words = verdict.reason();
                let expected = format!("deselected: its basis is {}", verdict.applies.basis);
                assert_eq!(words.as_deref(), Some(&*expected));
            }
        }
        assert!(!judgement.tally.is_whole(), "{edition}");
    }
}

#[test]
fn of_two_roles_the_worse_decides() {
    let mut evidence = evidence(&[Kind::Inventory, Kind::PlacementDecisions]);
    let of_both = |evidence: &Evidence| {
        let judgement = judge(evidence, &Selection::default());
        let decisions: Vec<Decision> = judgement.parts().iter().map(|part| part.decision).collect();
        (judgement.decision, decisions)
    };
    let (alone, decisions) = of_both(&evidence);
    assert_eq!(decisions, [alone]);
    evidence.header.claim.also = Some(Edition::Placement2025M09);
    // No decision was there to judge.
    assert_eq!(of_both(&evidence).1[1], Decision::Inconclusive);
    assert_eq!(of_both(&evidence).0, alone.max(Decision::Inconclusive));
}

#[test]
fn selection_works_like_cargo_test() {
    let select = |filters: &[&str], skip: &[&str], exact| Selection {
        filters: filters.iter().map(|s| (*s).to_owned()).collect(),
        skip: skip.iter().map(|s| (*s).to_owned()).collect(),
        exact,
        basis: None,
    };
    assert!(select(&[], &[], false).holds("identity/name-unique"));
    assert!(select(&["identity"], &[], false).holds("identity/name-unique"));
    assert!(!select(&["identity"], &["unique"], false).holds("identity/name-unique"));
    assert!(!select(&["identity"], &[], true).holds("identity/name-unique"));
    assert!(select(&["identity/name-unique"], &[], true).holds("identity/name-unique"));
}

#[test]
fn a_feature_declared_absent_or_not_claimed_is_skipped() {
    let special = "feature: consumer-secrets, needs: [inventory]";
    let mut evidence = evidence(&[Kind::Inventory]);
    assert_eq!(outcome(rule("MUST", special, keeps), &evidence).0, Verdict::Pass);
    let feature = evidence::api::Feature::ConsumerSecrets;
    evidence.header.claim.no_features.insert(feature);
    let (verdict, reason) = outcome(rule("MUST", special, keeps), &evidence);
    assert_eq!(verdict, Verdict::Skipped);
    assert_eq!(
        reason.as_deref(),
        Some("declared absent: feature consumer-secrets")
    );

    let only_if_claimed = format!("{special}, differs: [{{since: standard, onlyIfClaimed: true}}]");
    let claimed = rule("MUST", &only_if_claimed, keeps);
    evidence.header.claim.no_features.clear();
    assert_eq!(outcome(claimed, &evidence).0, Verdict::Skipped);
    evidence.header.claim.features.insert(feature);
    assert_eq!(outcome(claimed, &evidence).0, Verdict::Pass);
}

#[test]
fn a_rule_that_cannot_be_judged_yet_is_skipped_and_counted() {
    let rule = rule(
        "MUST",
        "needs: [inventory], unjudged: nothing tells it apart yet",
        breaks,
    );
    let outcome = outcome(rule, &evidence(&[Kind::Inventory]));
    assert_eq!(
        outcome,
        (Verdict::Skipped, Some("nothing tells it apart yet".to_owned()))
    );
    let mut judgement = judge(&evidence(&[Kind::Inventory]), &Selection::default());
    assert_eq!(judgement.unjudged(), 0);
    judgement.verdicts.push(verdict(rule, &evidence(&[])));
    assert_eq!(judgement.unjudged(), 1);
}

#[test]
fn much_evidence_is_judged_rule_by_rule_as_little_is() {
    let mut evidence = evidence(&[Kind::Inventory, Kind::Timeline]);
    let judged = |evidence: &Evidence| -> Vec<(&str, Verdict)> {
        let verdicts = judge(evidence, &Selection::default()).verdicts;
        verdicts
            .iter()
            .map(|verdict| (verdict.rule.id, verdict.verdict))
            .collect()
    };
    let ledger = rules::all().iter().filter(|rule| {
        let edition = evidence.header.claim.edition;
        rule.facts.in_edition(edition).is_some()
    });
    let ledger: Vec<&str> = ledger.map(|rule| rule.id).collect();
    let one = judged(&evidence);
    assert!(one.iter().map(|(id, _)| *id).eq(ledger));
    // Further versions of the same profile.
    let version = evidence.profiles[0].versions[0].clone();
    evidence.profiles[0].versions.resize(MANY, version);
    assert_eq!(judged(&evidence), one);
}

#[test]
fn results_are_in_the_order_of_the_rules_and_a_panic_is_passed_on() {
    let mut evidence = evidence(&[Kind::Inventory]);
    let version = evidence.profiles[0].versions[0].clone();
    evidence.profiles[0].versions.resize(MANY, version);
    let rules = rules_of(&evidence.header.claim);
    let ids = each(&rules, &evidence, |(rule, _)| rule.id);
    assert!(ids.into_iter().eq(rules.iter().map(|(rule, _)| rule.id)));
    let panics = || {
        each(&rules, &evidence, |(rule, _)| {
            assert_ne!(rule.id, rules[7].0.id, "rule 7")
        })
    };
    let judged = catch_unwind(AssertUnwindSafe(panics));
    let panic = judged.expect_err("a panic");
    assert!(panic.downcast_ref::<String>().expect("words").contains("rule 7"));
}
