//! The evidence that a run would collect, and the rules that missing evidence leaves unjudged.

use std::fmt;

use evidence::{Asked, Claim, Evidence, Kind, Reason, ReasonId, api::Feature};
use judge::{
    Prospect, prospects,
    rules::{Level, Rule},
};
use report::kind_in_words;
use serde::Serialize;

use super::{Check, Diagnosis, State, checks::ROLE};
use crate::command::{RunPlan, run::in_words};

pub const MEMBERS: &str = "evidence/members";
pub const AUDIT_LOG: &str = "evidence/audit-log";
pub const DRIVER: &str = "evidence/driver";
const MANAGED_FIELDS: &str = "managedFields";

/// The check of a kind of evidence, and the flag or the permission that adds it. Other kinds come with these.
fn source(kind: Kind) -> Option<(&'static str, &'static str)> {
    Some(match kind {
        Kind::Timeline => ("evidence/timeline", "--observe 5m"),
        Kind::Namespaces => ("evidence/namespaces", "list on namespaces"),
        Kind::Secrets => ("evidence/secrets", "list on secrets"),
        Kind::Probe => ("evidence/probe", "patch on clusterprofiles"),
        Kind::Writers => ("evidence/managed-fields", MANAGED_FIELDS),
        Kind::Members => (MEMBERS, "--members FILE"),
        Kind::Plugins => ("evidence/plugins", "--provider-file FILE"),
        Kind::Requests => (AUDIT_LOG, "--audit-log FILE"),
        Kind::Driver | Kind::Testbed => (DRIVER, "--driver FILE"),
        _ => return None,
    })
}

/// The rules that one more kind of evidence lets a run judge.
#[derive(Clone, Debug, Serialize)]
pub struct Gain {
    with: String,
    #[serde(flatten)]
    amount: Amount,
    rules: Vec<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RuleCounts {
    /// The selected rules of the edition.
    pub selected: Amount,
    pub judged: Amount,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Amount {
    pub must: usize,
    pub should: usize,
    pub may: usize,
}

impl Diagnosis {
    /// Lists the evidence that a run would collect, counts the rules that it can judge with that, and reports which rules
    /// wait for missing evidence. Evidence with a warning has no other check.
    pub fn add_evidence(&mut self, requested: &Evidence, run: &RunPlan) {
        let claim = &requested.header.claim;
        let prospects = prospects(requested, &run.selection);
        let (mut collected, mut missing) = (Vec::new(), Vec::new());
        for kind in Kind::ALL {
            let Some((check, with)) = source(kind) else {
                continue;
            };
            match why_missing(requested, kind) {
                Some(reason) => missing.push((kind, check, with, reason)),
                None if kind == Kind::Timeline => {
                    collected.push(format!("a watch for {}", in_words(run.plan.observe)));
                }
                None => collected.push(kind_in_words(kind).to_owned()),
            }
        }
        let collected = format!("a run collects {}", collected.join(", "));
        self.ok("evidence/collected", &collected);
        for (kind, check, with, reason) in missing {
            let is_warned = |one: &Check| one.check == check && one.state == State::Warn;
            if !self.checks.iter().any(is_warned) {
                // The remedy follows.
                let fact = reason.split(": grant ").next().unwrap_or_default();
                let rules = rules_where(&prospects, |rule, prospect| lacks(rule, prospect, kind, reason));
                self.add_gain(check, fact, &remedy(fact, with), Gain::of(with, &rules, claim));
            }
        }
        for feature in Feature::ALL {
            let with = format!("--feature {feature}");
            let fact = format!("the feature {feature} is not claimed");
            let remedy = format!("add {with} if the implementation has it");
            let needs_it = |rule: &Rule| rule.facts.feature == Some(feature);
            let rules = rules_where(&prospects, |rule, prospect| {
                needs_it(rule) && is_unclaimed(prospect)
            });
            let gain = Gain::of(&with, &rules, claim);
            self.add_gain("evidence/features", &fact, &remedy, gain);
        }
        self.rules = Some(RuleCounts::of(&prospects, claim));
    }

    /// Reports missing evidence if rules wait for it. Several kinds come with a driver.
    fn add_gain(&mut self, check: &'static str, reason: &str, remedy: &str, gain: Gain) {
        let is_listed = self.gains.iter().any(|one| one.with == gain.with);
        if !gain.rules.is_empty() && !is_listed {
            let fact = format!("{reason}, which leaves {} unjudged", gain.amount);
            self.missing(check, &fact, remedy);
            self.gains.push(gain);
        }
    }
}

fn why_missing(requested: &Evidence, kind: Kind) -> Option<&Reason> {
    match requested.asked(kind) {
        Asked::No(reason) => Some(reason),
        Asked::Yes => requested.gaps(kind).next().map(|gap| &gap.reason),
    }
}

/// What to do about evidence that is missing.
fn remedy(reason: &str, with: &str) -> String {
    match reason.strip_prefix("disabled by ") {
        Some(flag) => format!("leave out {flag}"),
        None if with.starts_with("--") => format!("add {with}"),
        None if with == MANAGED_FIELDS => "let the hub show metadata.managedFields".to_owned(),
        None => ROLE.to_owned(),
    }
}

fn rules_where(
    prospects: &[(&'static Rule, Prospect)],
    holds: impl Fn(&Rule, &Prospect) -> bool,
) -> Vec<&'static Rule> {
    let rules = prospects.iter().filter(|(rule, prospect)| holds(rule, prospect));
    rules.map(|(rule, _)| *rule).collect()
}

/// Whether a rule lacks a kind of evidence, which is missing for that reason. A driver brings several kinds.
fn lacks(rule: &Rule, prospect: &Prospect, kind: Kind, reason: &Reason) -> bool {
    let Prospect::Lacks(reasons) = prospect else {
        return false;
    };
    let is_same = |one: &Reason| one == reason || (one.id == reason.id && one.id == Some(ReasonId::NoDriver));
    rule.facts.needs.contains(&kind) || reasons.iter().any(is_same)
}

fn is_unclaimed(prospect: &Prospect) -> bool {
    match prospect {
        Prospect::Judged => false,
        Prospect::LeftOut(reason) => reason.id == Some(ReasonId::FeatureNotClaimed),
        Prospect::Lacks(reasons) => reasons.iter().any(|reason| reason.id == Some(ReasonId::NoClaim)),
    }
}

/// Adds the evidence that a run with a driver plans only once it is connected.
pub fn request_driven(evidence: &mut Evidence) {
    for asked in evidence.header.asked.values_mut() {
        if matches!(asked, Asked::No(reason) if reason.id == Some(ReasonId::NoDriver)) {
            *asked = Asked::Yes;
        }
    }
}

impl Gain {
    fn of(with: &str, rules: &[&'static Rule], claim: &Claim) -> Self {
        Self {
            with: with.to_owned(),
            amount: Amount::of(rules, claim),
            rules: rules.iter().map(|rule| rule.id).collect(),
        }
    }
}

impl Amount {
    fn of(rules: &[&Rule], claim: &Claim) -> Self {
        let mut amount = Self::default();
        for rule in rules {
            match rule.facts.level_in(claim) {
                Some(Level::Must) => amount.must += 1,
                Some(Level::Should) => amount.should += 1,
                Some(Level::May) => amount.may += 1,
                None => {}
            }
        }
        amount
    }
}

impl fmt::Display for Amount {
    /// For example `5 MUST, 9 SHOULD rules`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let levels = [(self.must, "MUST"), (self.should, "SHOULD"), (self.may, "MAY")];
        let levels = levels.into_iter().filter(|(number, _)| *number > 0);
        let words = Vec::from_iter(levels.map(|(number, level)| format!("{number} {level}")));
        let is_one = self.must + self.should + self.may == 1;
        write!(f, "{} rule{}", words.join(", "), if is_one { "" } else { "s" })
    }
}

impl RuleCounts {
    /// Counts the selected rules, and those that a run can judge.
    fn of(prospects: &[(&'static Rule, Prospect)], claim: &Claim) -> Self {
        let selected = rules_where(prospects, |_, prospect| match prospect {
            Prospect::LeftOut(reason) => reason.id != Some(ReasonId::Deselected),
            Prospect::Judged | Prospect::Lacks(_) => true,
        });
        let judged = rules_where(prospects, |_, prospect| *prospect == Prospect::Judged);
        Self {
            selected: Amount::of(&selected, claim),
            judged: Amount::of(&judged, claim),
        }
    }
}

impl fmt::Display for RuleCounts {
    /// For example `16 of 38 MUST, 9 of 14 SHOULD, 1 of 2 MAY rules`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { judged, selected } = self;
        write!(f, "{} of {} MUST, ", judged.must, selected.must)?;
        write!(f, "{} of {} SHOULD, ", judged.should, selected.should)?;
        write!(f, "{} of {} MAY rules", judged.may, selected.may)
    }
}

#[cfg(test)]
mod tests {
    use judge::Selection;

    use super::*;

    #[test]
    fn a_gain_has_the_rules_that_need_the_evidence() {
        let mut requested = Evidence::default();
        let kinds = [Kind::Inventory, Kind::Namespaces, Kind::Timeline];
        let asked = kinds.map(|kind| (kind, Asked::Yes));
        requested.header.asked.extend(asked);
        let no = |reason: &'static str| Asked::No(reason.into());
        let missing = [(Kind::Secrets, no("no Secret")), (Kind::Members, no("no member"))];
        requested.header.asked.extend(missing);
        let selection = Selection::default();
        let prospects = prospects(&requested, &selection);
        let members = requested.asked(Kind::Members);
        let Asked::No(reason) = members else {
            panic!("{members:?}")
        };
        let rules = rules_where(&prospects, |rule, prospect| {
            lacks(rule, prospect, Kind::Members, reason)
        });
        let members = Gain::of("", &rules, &requested.header.claim).rules;
        assert!(members.contains(&"version/matches-member"));
        assert!(!members.contains(&"version/well-formed"));
        let rules = RuleCounts::of(&prospects, &requested.header.claim);
        assert!(rules.judged.must > 0 && rules.judged.must < rules.selected.must);
    }
}
