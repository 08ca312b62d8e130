//! The evidence that a run would collect, and the rules that missing evidence leaves unjudged.

use std::fmt;

use evidence::{Asked, Claim, Evidence, Kind, Reason, ReasonId, api::Feature};
use judge::{
    Prospect, Selection, prospects,
    rules::{Level, Rule},
};
use report::kind_in_words;
use serde::Serialize;

use super::{Check, Diagnosis, State, checks::ROLE};
use crate::command::{RunPlan, run::in_words};

pub const MEMBERS: &str = "evidence/members";
pub const AUDIT_LOG: &str = "evidence/audit-log";
pub const DRIVER: &str = "evidence/driver";
pub const PLUGINS: &str = "evidence/plugins";
/// The check of waivers, which are no evidence.
const WAIVERS: &str = "files/waivers";
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
        Kind::Plugins => (PLUGINS, "--provider-file FILE"),
        Kind::Requests => (AUDIT_LOG, "--audit-log FILE"),
        Kind::Driver | Kind::Testbed => (DRIVER, "--driver FILE"),
        _ => return None,
    })
}

/// The check of a flag's file.
pub fn check_of(flag: &str) -> &'static str {
    let mut sources = Kind::ALL.into_iter().filter_map(source);
    let own = sources.find(|(_, with)| with.split(' ').next() == Some(flag));
    own.map_or(WAIVERS, |(check, _)| check)
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
    /// Lists the evidence that a run would collect, counts the rules that it can judge with that, and reports what each
    /// missing kind of evidence would add. Evidence with an error or a warning has no other check.
    pub fn add_evidence(&mut self, requested: &Evidence, run: &RunPlan) {
        let (claim, selection) = (&requested.header.claim, &run.selection);
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
            let is_faulty =
                |one: &Check| one.check == check && matches!(one.state, State::Warn | State::Error);
            if !self.checks.iter().any(is_faulty) {
                // The remedy follows.
                let fact = reason.split(": grant ").next().unwrap_or_default();
                let more = with_more(requested, kind);
                let gain = Gain::of(with, requested, &more, selection);
                self.add_gain(check, fact, &remedy(fact, with), gain);
            }
        }
        for feature in Feature::ALL {
            if !claim.features.contains(&feature) && !claim.no_features.contains(&feature) {
                let with = format!("--feature {feature}");
                let mut more = requested.clone();
                more.header.claim.features.insert(feature);
                request(&mut more, Kind::UnlabelledSecrets);
                let fact = format!("the feature {feature} is not claimed");
                let remedy = format!("add {with} if the implementation has it");
                let gain = Gain::of(&with, requested, &more, selection);
                self.add_gain("evidence/features", &fact, &remedy, gain);
            }
        }
        self.rules = Some(RuleCounts::of(requested, selection));
    }

    /// Reports missing evidence if it alone would let a run judge more rules. Several kinds come with a driver. Nothing
    /// shows the reason on a hub without profiles.
    fn add_gain(&mut self, check: &'static str, reason: &str, remedy: &str, gain: Gain) {
        let is_listed = self.gains.iter().any(|one| one.with == gain.with);
        if !gain.rules.is_empty() && !is_listed && !reason.is_empty() {
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
        // It may replace `none` or `0s`.
        None if with.starts_with("--") => format!("pass {with}"),
        None if with == MANAGED_FIELDS => "let the hub show metadata.managedFields".to_owned(),
        None => ROLE.to_owned(),
    }
}

/// What a run would request with one more kind of evidence.
fn with_more(requested: &Evidence, kind: Kind) -> Evidence {
    let mut more = requested.clone();
    request(&mut more, kind);
    match kind {
        // A plugin's credential is tried on the member.
        Kind::Plugins => request(&mut more, Kind::Members),
        Kind::Driver | Kind::Testbed => request_driven(&mut more),
        _ => {}
    }
    more
}

fn request(evidence: &mut Evidence, kind: Kind) {
    evidence.header.asked.insert(kind, Asked::Yes);
    evidence.gaps.retain(|gap| gap.kind != kind);
}

fn rules_where(
    evidence: &Evidence,
    selection: &Selection,
    holds: impl Fn(&Prospect) -> bool,
) -> Vec<&'static Rule> {
    let prospects = prospects(evidence, selection).into_iter();
    let rules = prospects.filter(|(_, prospect)| holds(prospect));
    rules.map(|(rule, _)| rule).collect()
}

fn judged(evidence: &Evidence, selection: &Selection) -> Vec<&'static Rule> {
    rules_where(evidence, selection, |prospect| *prospect == Prospect::Judged)
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
    /// The rules that a run can judge only with more evidence.
    fn of(with: &str, requested: &Evidence, more: &Evidence, selection: &Selection) -> Self {
        let before = judged(requested, selection);
        let mut rules = judged(more, selection);
        rules.retain(|rule| before.iter().all(|one| one.id != rule.id));
        Self {
            with: with.to_owned(),
            amount: Amount::of(&rules, &more.header.claim),
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
    fn of(requested: &Evidence, selection: &Selection) -> Self {
        let selected = rules_where(requested, selection, |prospect| match prospect {
            Prospect::LeftOut(reason) => reason.id != Some(ReasonId::Deselected),
            Prospect::Judged | Prospect::Lacks(_) => true,
        });
        let claim = &requested.header.claim;
        Self {
            selected: Amount::of(&selected, claim),
            judged: Amount::of(&judged(requested, selection), claim),
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
    use super::*;

    #[test]
    fn a_gain_has_the_rules_that_one_flag_unlocks() {
        let mut requested = Evidence::default();
        let kinds = [Kind::Inventory, Kind::Namespaces, Kind::Timeline];
        let asked = kinds.map(|kind| (kind, Asked::Yes));
        requested.header.asked.extend(asked);
        let selection = Selection::default();
        let gain = |kind| Gain::of("", &requested, &with_more(&requested, kind), &selection).rules;
        let members = gain(Kind::Members);
        assert!(members.contains(&"version/matches-member"));
        // It needs Secrets too.
        assert!(!members.contains(&"consumers/kubeconfig-works"));
        let plugins = gain(Kind::Plugins);
        assert!(plugins.len() > members.len());
        assert!(members.iter().all(|rule| plugins.contains(rule)), "{plugins:?}");
        assert!(gain(Kind::Timeline).is_empty());
        let rules = RuleCounts::of(&requested, &selection);
        assert!(rules.judged.must > 0 && rules.judged.must < rules.selected.must);
    }
}
