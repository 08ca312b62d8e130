use evidence::{Evidence, api::Edition};
use serde_json::json;

use super::*;
use crate::{Selection, judge, rules::example::Example};

const RULE: &str = "identity/manager-label-present";

/// Two profiles without the label, in two namespaces.
fn evidence() -> Evidence {
    let without = |name: &str, namespace: &str| json!({"metadata": {"name": name, "namespace": namespace, "labels": {"x-k8s.io/cluster-manager": null}}});
    let example = json!({"name": "two", "fails": [without("a", "fleet"), without("b", "edge")]});
    Example::parse(&example, Edition::Standard)
        .expect("an example")
        .evidence()
        .clone()
}

fn waived(yaml: &str, strict: bool) -> Judgement {
    let waivers = Waivers::parse(yaml).expect("waivers");
    let mut judgement = judge(&evidence(), &Selection::default());
    assert_eq!(judgement.decision, Decision::NotConformant);
    judgement.waive(&waivers, "2026-06-01".parse().expect("a day"), strict);
    judgement
}

fn waiver(rest: &str) -> String {
    format!("waivers:\n- {{rule: {RULE}, reason: legacy, link: 'https://issues.example/1', {rest}}}\n")
}

fn verdict(judgement: &Judgement) -> &RuleVerdict {
    let found = judgement.verdicts.iter().find(|verdict| verdict.rule.id == RULE);
    found.expect("the rule is judged")
}

#[test]
fn a_waived_violation_is_reported_as_waived() {
    let judgement = waived(&waiver("expires: 2026-06-01"), false);
    let verdict = verdict(&judgement);
    assert_eq!(
        (verdict.verdict, verdict.findings.len(), verdict.waived.len()),
        (Verdict::Waived, 0, 2)
    );
    assert_eq!(judgement.decision, Decision::NoViolation);
    assert_eq!((judgement.tally.must.failed, judgement.tally.must.waived), (0, 1));
    assert_eq!(judgement.waivers[0].waived, 2);
    assert_eq!(judgement.waivers[0].complaint(), None);
}

#[test]
fn a_selector_waives_its_objects_only() {
    let judgement = waived(&waiver("object: 'fl*/*', expires: 2027-01-01"), false);
    let verdict = verdict(&judgement);
    assert_eq!(verdict.verdict, Verdict::Fail);
    assert_eq!(verdict.findings[0].object.path(), "edge/b");
    assert_eq!(verdict.waived[0].0.object.path(), "fleet/a");
    assert_eq!(judgement.decision, Decision::NotConformant);
}

#[test]
fn an_expired_or_idle_waiver_is_complained_of() {
    let judgement = waived(&waiver("expires: 2026-05-31"), false);
    assert_eq!(judgement.decision, Decision::NotConformant);
    let complaint = judgement.waivers[0].complaint().expect("a complaint");
    assert!(complaint.contains("expired on 2026-05-31"), "{complaint}");

    let both = waiver("expires: 2027-01-01") + &waiver("object: elsewhere/*, expires: 2027-01-01")[9..];
    let judgement = waived(&both, false);
    assert_eq!(judgement.decision, Decision::NoViolation);
    assert!(judgement.waivers[1].complaint().is_some());
    assert_eq!(waived(&both, true).decision, Decision::NotConformant);
}

/// Waives the rule of a judgement that something was done to first.
fn waived_of(change: impl FnOnce(&mut Judgement), rest: &str) -> Judgement {
    let mut judgement = judge(&evidence(), &Selection::default());
    change(&mut judgement);
    let waivers = Waivers::parse(&waiver(rest)).expect("waivers");
    judgement.waive(&waivers, "2026-06-01".parse().expect("a day"), true);
    judgement
}

#[test]
fn what_was_not_seen_is_not_waived_with_what_was() {
    let doubt = |judgement: &mut Judgement| {
        let mut verdicts = judgement.verdicts.iter_mut();
        let verdict = verdicts.find(|verdict| verdict.rule.id == RULE).expect("judged");
        verdict.doubts.push("the list broke off".into());
    };
    let judgement = waived_of(doubt, "expires: 2027-01-01");
    let verdict = verdict(&judgement);
    assert_eq!(
        (verdict.verdict, verdict.waived.len()),
        (Verdict::Inconclusive, 2)
    );
    assert_eq!(verdict.reason().as_deref(), Some("the list broke off"));
    assert_eq!(judgement.decision, Decision::Inconclusive);
}

#[test]
fn a_waiver_is_idle_only_where_its_rule_was_judged_on_all_that_it_is_for() {
    let elsewhere = "object: elsewhere/*, expires: 2027-01-01";
    let complaint = |judgement: Judgement| judgement.waivers[0].complaint();
    assert!(
        complaint(waived_of(|_| {}, elsewhere)).is_some_and(|complaint| complaint.contains("elsewhere/*"))
    );
    assert_eq!(complaint(waived_of(|j| j.partial = true, elsewhere)), None);
    let within = |namespace: &str| vec![namespace.to_owned()];
    let complaint_in =
        |namespace: &str| complaint(waived_of(|j| j.scope.namespaces = within(namespace), elsewhere));
    assert_eq!(complaint_in("fleet"), None);
    let of_manager = |judgement: &mut Judgement, by_default: bool| {
        judgement.scope.cluster_manager = Some("m".to_owned());
        judgement.scope.manager_by_default = by_default;
    };
    assert_eq!(complaint(waived_of(|j| of_manager(j, false), elsewhere)), None);
    assert!(complaint(waived_of(|j| of_manager(j, true), elsewhere)).is_some());
    // Which decisions are judged says nothing of profiles.
    let of_scheduler = |judgement: &mut Judgement| judgement.scope.scheduler = Some("s".to_owned());
    assert!(complaint(waived_of(of_scheduler, elsewhere)).is_some());
    let skipped = |judgement: &mut Judgement| {
        for verdict in &mut judgement.verdicts {
            verdict.verdict = Verdict::Skipped;
            verdict.findings.clear();
        }
    };
    assert_eq!(complaint(waived_of(skipped, elsewhere)), None);
    // Its day is over, whatever was judged.
    assert!(complaint(waived_of(skipped, "expires: 2026-05-31")).is_some());
}

#[test]
fn what_does_not_say_everything_is_refused() {
    for (yaml, wanted) in [
        ("waivers: [{rule: x}]", "reason"),
        (&*waiver("expires: 2026-01-01, until: 2027-01-01"), "until"),
        (&*waiver("expires: soon"), "write it like 2027-03-31"),
        (
            &*waiver("expires: 2026-01-01").replace("label-present", "label-presnt"),
            "did you mean `identity/manager-label-present`?",
        ),
        (
            &*waiver("expires: 2026-01-01").replace("legacy", "' '"),
            "line 2: waiver 1: `reason` is empty",
        ),
        (
            &*waiver("expires: 2026-01-01").replace("https:", "javascript:"),
            "not an http or https URL",
        ),
        (
            &*waiver("object: fleet/a/b, expires: 2026-01-01"),
            "`object` names nothing",
        ),
        (
            &*(waiver("expires: 2026-01-01") + &waiver("expires: 2027-01-01")[9..]),
            "line 3: waiver 2: it is for the same violations as waiver 1",
        ),
    ] {
        let error = Waivers::parse(yaml).expect_err("it is refused").to_string();
        assert!(error.contains(wanted), "{error}");
    }
}

#[test]
fn a_star_stands_for_any_text() {
    for (pattern, text, fits) in [
        ("*", "", true),
        ("a*c", "abbc", true),
        ("a*c", "abcd", false),
        ("*b*", "abc", true),
        ("a", "ab", false),
        ("a*a", "a", false),
        ("a*b*c", "axxbyyc", true),
        ("a*b*c", "axxyyc", false),
    ] {
        assert_eq!(glob(pattern, text), fits, "{pattern} {text}");
    }
}
