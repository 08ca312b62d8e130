use std::sync::Arc;

use evidence::{
    Gap, ObjectRef, Origin, ProfileHistory, Unreadable, Version,
    api::{ClusterProfile, Edition},
};
use jiff::Timestamp;

use super::*;
use crate::{
    engine::{Evaluate, Hub},
    judging::{
        examine::MANY,
        verdict::{Count, Extent, Outcome, Tally, decide},
    },
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

fn evidence(requested: &[Kind]) -> Evidence {
    let mut evidence = Evidence::default();
    evidence
        .header
        .requested
        .extend(requested.iter().map(|kind| (*kind, Requested::Yes)));
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

type Examiner = fn(&Evidence, &mut Findings);

fn keeps(_: &Evidence, findings: &mut Findings) {
    findings.examine();
}

fn breaks(_: &Evidence, findings: &mut Findings) {
    findings.examine();
    findings.report(Finding::on(ObjectRef::default(), "broken"));
}

fn warns(_: &Evidence, findings: &mut Findings) {
    findings.examine();
    findings.report(Finding::on(ObjectRef::default(), "dubious").advisory());
}

fn outcome(rule: &'static Rule, evidence: &Evidence) -> (Verdict, Option<String>) {
    let verdict = verdict(rule, evidence);
    (verdict.verdict, verdict.reason())
}

fn verdict(rule: &'static Rule, evidence: &Evidence) -> RuleVerdict {
    let applies = rule.facts.in_edition(Edition::Standard).expect("in the edition");
    let (hub, claim) = (Arc::new(WholeHub::of(evidence)), &evidence.header.claim);
    verdicts(&[(rule, applies)], &hub, claim, &Selection::default(), &[]).remove(0)
}

#[test]
fn the_level_decides_what_a_violation_weighs() {
    let inventory = evidence(&[Kind::Inventory]);
    let mut strict = inventory.clone();
    strict.header.claim.strict = true;
    for (level, examine, plain, under_strict) in [
        ("MUST", breaks as Examiner, Verdict::Fail, Verdict::Fail),
        ("SHOULD", breaks, Verdict::Warn, Verdict::Fail),
        ("MAY", breaks, Verdict::Warn, Verdict::Warn),
        ("MUST", warns, Verdict::Warn, Verdict::Warn),
    ] {
        let rule = rule(level, "needs: [inventory]", examine);
        assert_eq!(outcome(rule, &inventory).0, plain, "{level}");
        assert_eq!(outcome(rule, &strict).0, under_strict, "{level}, strictly");
    }
}

fn unreadable(kind: &str, namespace: &str) -> Unreadable {
    Unreadable {
        object: ObjectRef {
            kind: kind.to_owned(),
            namespace: namespace.to_owned(),
            name: "x".to_owned(),
            ..Default::default()
        },
        message: "status is a number".to_owned(),
    }
}

/// Judges MUST rules, and compares their verdicts and reasons. A case is `facts | what the function does | expected`; facts
/// without a colon are the kind of evidence that the rule needs.
fn assert_verdicts(change: impl Fn(&mut Evidence), cases: &[&str]) {
    for case in cases {
        let [facts, examine, expected] = case.split(" | ").collect::<Vec<&str>>()[..] else {
            panic!("{case}");
        };
        let examine: Examiner = match examine {
            "keeps" => keeps,
            "breaks" => breaks,
            "warns" => warns,
            "examines nothing" => |_, _| {},
            "does not apply" => |_, findings| findings.not_applicable("no such feature"),
            other => panic!("{other}"),
        };
        let mut evidence = evidence(&[Kind::Inventory, Kind::Timeline, Kind::Requests, Kind::Members]);
        change(&mut evidence);
        let facts = if facts.contains(':') {
            facts.to_owned()
        } else {
            format!("needs: [{facts}]")
        };
        let (verdict, reason) = outcome(rule("MUST", &facts, examine), &evidence);
        let reason = reason.map_or(String::new(), |reason| format!(": {reason}"));
        assert_eq!(format!("{}{reason}", verdict.name()), expected, "{case}");
    }
}

#[test]
fn missing_evidence_keeps_a_rule_from_passing_but_not_from_failing() {
    let watch_lost = Gap::of(Kind::Timeline, "the watch was lost");
    let log_ends = Gap::of(Kind::Requests, "the log ends early");
    assert_verdicts(
        |evidence| evidence.gaps.push(watch_lost.clone()),
        &[
            "timeline | keeps | inconclusive: the watch was lost",
            "timeline | breaks | fail",
            "timeline | warns | inconclusive: the watch was lost",
            "needsOneOf: [timeline, requests] | keeps | pass",
        ],
    );
    assert_verdicts(
        |evidence| evidence.gaps.extend([watch_lost.clone(), log_ends.clone()]),
        &["needsOneOf: [timeline, requests] | keeps | inconclusive: the watch was lost; the log ends early"],
    );
    // A gap of one member is for the rules to judge.
    let one_member = Gap {
        object: Some(ObjectRef::default()),
        ..Gap::of(Kind::Members, "it does not answer")
    };
    assert_verdicts(
        |evidence| evidence.gaps.push(one_member.clone()),
        &["members | keeps | pass"],
    );
    assert_verdicts(
        |evidence| evidence.gaps.push(Gap::of(Kind::Members, "none was reached")),
        &["members | keeps | inconclusive: none was reached"],
    );
    assert_verdicts(
        |evidence| evidence.unreadable.push(unreadable("ClusterProfile", "")),
        &[
            "inventory | keeps | inconclusive: ClusterProfile x could not be read: status is a number",
            "inventory | breaks | fail",
        ],
    );
}

#[test]
fn a_rule_without_evidence_is_skipped_and_one_that_examined_nothing_does_not_pass() {
    let no_grant = Requested::No("grant list on secrets".into());
    assert_verdicts(
        |evidence| drop(evidence.header.requested.insert(Kind::Secrets, no_grant.clone())),
        &[
            "secrets | breaks | skipped: grant list on secrets",
            "probe | breaks | skipped: evidence was not requested: probe",
            "needsOneOf: [probe] | keeps | skipped: evidence was not requested: probe",
            "unjudged: not yet | breaks | skipped: not yet",
            "inventory | examines nothing | inconclusive: there was nothing to examine",
            "inventory | does not apply | not-applicable: no such feature",
        ],
    );
    assert_verdicts(
        |evidence| evidence.profiles.clear(),
        &["inventory | does not apply | inconclusive: there is no ClusterProfile to examine"],
    );
    assert_verdicts(
        |evidence| evidence.profiles[0].deleted = Some(Timestamp::UNIX_EPOCH),
        &[
            "inventory | examines nothing | inconclusive: there was nothing to examine; no profile was left when the window ended",
            "inventory | does not apply | not-applicable: no such feature; no profile was left when the window ended",
        ],
    );
}

#[test]
fn an_unreadable_object_of_another_namespace_or_kind_is_of_no_concern() {
    let mut evidence = evidence(&[Kind::Inventory, Kind::Timeline]);
    evidence.profiles[0].versions[0].object.metadata.namespace = Arc::from("default");
    evidence.header.scope.namespaces = vec!["default".to_owned()];
    for facts in [
        "needs: [inventory]",
        "needs: [timeline]",
        "needsOneOf: [timeline, requests]",
    ] {
        for (kind, namespace, verdict) in [
            ("ClusterProfile", "default", Verdict::Inconclusive),
            ("ClusterProfile", "", Verdict::Inconclusive),
            ("", "", Verdict::Inconclusive),
            ("ClusterProfile", "other", Verdict::Pass),
            ("Secret", "default", Verdict::Pass),
        ] {
            evidence.unreadable = vec![unreadable(kind, namespace)];
            assert_eq!(
                outcome(rule("MUST", facts, keeps), &evidence).0,
                verdict,
                "{kind} {namespace}"
            );
        }
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
    use Decision::{Conformant, Inconclusive, NoViolation};
    for (verdict, reason, expected) in [
        (Verdict::Skipped, ReasonId::NoMembers, NoViolation),
        (Verdict::Skipped, ReasonId::NotRequested, NoViolation),
        (Verdict::Skipped, ReasonId::Deselected, NoViolation),
        // That an implementation declares something absent does not show that it is.
        (Verdict::Skipped, ReasonId::FeatureAbsent, NoViolation),
        (Verdict::Skipped, ReasonId::FeatureNotClaimed, Conformant),
        (Verdict::NotApplicable, ReasonId::NotApplicable, Conformant),
        (Verdict::NotApplicable, ReasonId::NothingHappened, NoViolation),
        (Verdict::Inconclusive, ReasonId::Unknown, Inconclusive),
    ] {
        assert_eq!(decision(Level::Must, verdict, reason), expected, "{reason:?}");
        let of_should = decision(Level::Should, verdict, reason);
        assert_eq!(of_should, Conformant, "SHOULD, {reason:?}");
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
fn rules_that_cannot_be_judged_yet_are_counted() {
    let rule = rule("MUST", "needs: [inventory], unjudged: not yet", breaks);
    let mut judgement = judge(&evidence(&[Kind::Inventory]), &Selection::default());
    assert_eq!(judgement.unjudged(), 0);
    judgement.verdicts.push(verdict(rule, &evidence(&[])));
    assert_eq!(judgement.unjudged(), 1);
}

#[test]
fn much_evidence_is_judged_rule_by_rule_as_little_is() {
    let mut evidence = evidence(&[Kind::Inventory, Kind::Timeline]);
    let judged = |evidence: &Evidence| -> Vec<(&str, Verdict)> {
        let verdicts = judge(evidence, &Selection::default()).verdicts.into_iter();
        verdicts
            .map(|verdict| (verdict.rule.id, verdict.verdict))
            .collect()
    };
    let rules = rules_of(&evidence.header.claim);
    let one = judged(&evidence);
    assert!(
        one.iter()
            .map(|(id, _)| *id)
            .eq(rules.iter().map(|(rule, _)| rule.id))
    );
    // Further versions of the same profile.
    let version = evidence.profiles[0].versions[0].clone();
    evidence.profiles[0].versions.resize(MANY, version);
    assert_eq!(judged(&evidence), one);
}
