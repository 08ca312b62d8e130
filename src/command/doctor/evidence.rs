//! The evidence that a run would collect, and the rules that missing evidence leaves unjudged.

use evidence::{Claim, Evidence, Kind, Reason, ReasonId, Requested, api::Feature};
use judge::{
    Prospect, Selection, prospects,
    rules::{self, Level, Rule},
};
use report::kind_in_words;
use serde::Serialize;

use super::{CheckState, Diagnosis, DoctorCheck, checks::ROLE, split_remedy};
use crate::command::{RunPlan, run::in_words};

pub const AUDIT_LOG: &str = "evidence/audit-log";
pub const DRIVER: &str = "evidence/driver";
pub const MEMBERS: &str = "evidence/members";

/// Kinds of evidence, each with its check, and the flag or the permission that adds it. Other kinds come with these.
const SOURCES: [(Kind, &str, &str); 9] = [
    (Kind::Namespaces, "evidence/namespaces", "list on namespaces"),
    (Kind::Timeline, "evidence/timeline", "--observe 5m"),
    (Kind::Secrets, "evidence/secrets", "list on secrets"),
    (Kind::Members, MEMBERS, "--members FILE"),
    (Kind::Plugins, "evidence/plugins", "--provider-file FILE"),
    (Kind::Requests, AUDIT_LOG, "--audit-log FILE"),
    (Kind::Probe, "evidence/probe", "patch on clusterprofiles"),
    (Kind::Driver, DRIVER, "--driver FILE"),
    (Kind::Writers, "evidence/managed-fields", "managedFields"),
];

/// The check of a flag's file. Waivers are not evidence.
pub fn check_of(flag: &str) -> &'static str {
    let mut sources = SOURCES.iter();
    let source = sources.find(|(_, _, with)| with.split(' ').next() == Some(flag));
    source.map_or("files/waivers", |(_, check, _)| check)
}

/// The rules that a run could judge with one more kind of evidence, or one more claim.
#[derive(Debug, Serialize)]
pub struct Gain {
    with: String,
    #[serde(flatten)]
    amount: Amount,
    rules: Vec<&'static str>,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct RuleCounts {
    /// The selected rules of the edition.
    pub selected: Amount,
    pub judged: Amount,
}

/// How many rules of each level.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Amount {
    must: usize,
    should: usize,
    may: usize,
}

impl Diagnosis {
    /// Lists the evidence that a run would collect, counts the rules that it can judge with that, and reports what each
    /// missing kind of evidence, and each feature that is not claimed, would add.
    pub fn add_evidence(&mut self, requested: &Evidence, run: &RunPlan) {
        let (claim, selection) = (&requested.header.claim, &run.selection);
        let is_collected = |(kind, ..): &(Kind, _, _)| why_missing(requested, *kind).is_none();
        let collected = SOURCES
            .into_iter()
            .filter(is_collected)
            .map(|(kind, ..)| match kind {
                Kind::Timeline => format!("a watch for {}", in_words(run.plan.observe)),
                kind => kind_in_words(kind).to_owned(),
            });
        let collected = Vec::from_iter(collected).join(", ");
        self.ok("evidence/collected", &format!("a run collects {collected}"));
        for (kind, check, with) in SOURCES {
            if let Some((state, reason)) = why_missing(requested, kind) {
                let gain = Gain::of(with, requested, &with_more(requested, kind), selection);
                self.add_missing(check, state, reason, gain);
            }
        }
        for feature in Feature::ALL {
            if !claim.features.contains(&feature) && !claim.no_features.contains(&feature) {
                let with = format!("--feature {feature}");
                let mut more = requested.clone();
                more.header.claim.features.insert(feature);
                request(&mut more, Kind::UnlabelledSecrets);
                let reason = format!("the feature {feature} is not claimed");
                let gain = Gain::of(&with, requested, &more, selection);
                self.add_missing("evidence/features", CheckState::Missing, &reason, gain);
            }
        }
        let selected = rules::all().iter().filter(|rule| selection.selects(rule, claim));
        self.rules = Some(RuleCounts {
            selected: Amount::of(&Vec::from_iter(selected), claim),
            judged: Amount::of(&judged_rules(requested, selection), claim),
        });
    }

    /// Reports evidence that a run lacks. What is not requested or not permitted is reported if a run could judge more
    /// rules with it. A file that cannot be used has its own line, and a hub without profiles has no reason.
    fn add_missing(&mut self, check: &'static str, state: CheckState, reason: &str, gain: Gain) {
        let is_unusable = |one: &DoctorCheck| one.check == check && one.state == CheckState::Error;
        let (fact, remedy) = split_remedy(reason);
        let fact_with_rules = format!("{fact}{}", gain.amount.left());
        if state == CheckState::Warn {
            self.add(check, state, &fact_with_rules, remedy);
        } else if !gain.rules.is_empty() && !fact.is_empty() && !self.checks.iter().any(is_unusable) {
            let remedy = how_to_add(&gain.with, fact);
            self.add(check, state, &fact_with_rules, Some(&remedy));
            self.gains.push(gain);
        }
    }
}

/// Why a run lacks a kind of evidence: it does not request it, may not read it, or cannot get it.
fn why_missing(requested: &Evidence, kind: Kind) -> Option<(CheckState, &Reason)> {
    match requested.requested(kind) {
        Requested::No(reason) => Some((CheckState::Missing, reason)),
        Requested::Yes => {
            let reason = &requested.gaps(kind).next()?.reason;
            let is_forbidden = reason.id == Some(ReasonId::ReadForbidden);
            Some((
                if is_forbidden {
                    CheckState::Missing
                } else {
                    CheckState::Warn
                },
                reason,
            ))
        }
    }
}

/// How to add evidence that is not requested or not permitted.
fn how_to_add(with: &str, reason: &str) -> String {
    match reason.strip_prefix("disabled by ") {
        Some(flag) => format!("leave out {flag}"),
        None if with.starts_with("--feature") => format!("add {with} if the implementation has it"),
        // It may replace `none` or `0s`.
        None if with.starts_with("--") => format!("pass {with}"),
        None if with == "managedFields" => "let the hub show metadata.managedFields".to_owned(),
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
        Kind::Driver => request_driven(&mut more),
        _ => {}
    }
    more
}

fn request(evidence: &mut Evidence, kind: Kind) {
    evidence.header.requested.insert(kind, Requested::Yes);
    evidence.gaps.retain(|gap| gap.kind != kind);
}

/// Adds the evidence that a run with a driver plans only once it is connected.
pub fn request_driven(evidence: &mut Evidence) {
    for request in evidence.header.requested.values_mut() {
        if matches!(request, Requested::No(reason) if reason.id == Some(ReasonId::NoDriver)) {
            *request = Requested::Yes;
        }
    }
}

/// The rules that a run can judge.
fn judged_rules(evidence: &Evidence, selection: &Selection) -> Vec<&'static Rule> {
    let prospects = prospects(evidence, selection).into_iter();
    let judged_rules = prospects.filter(|(_, prospect)| *prospect == Prospect::Judged);
    judged_rules.map(|(rule, _)| rule).collect()
}

impl Gain {
    /// The rules that a run can judge only with more evidence.
    fn of(with: &str, requested: &Evidence, more: &Evidence, selection: &Selection) -> Self {
        let before = judged_rules(requested, selection);
        let mut rules = judged_rules(more, selection);
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
        let number = |level| {
            let is_own = |rule: &&&Rule| rule.facts.level_in(claim) == Some(level);
            rules.iter().filter(is_own).count()
        };
        Self {
            must: number(Level::Must),
            should: number(Level::Should),
            may: number(Level::May),
        }
    }

    pub fn by_level(self) -> [(usize, &'static str); 3] {
        [(self.must, "MUST"), (self.should, "SHOULD"), (self.may, "MAY")]
    }

    /// For example `, which leaves 5 MUST, 9 SHOULD rules unjudged`; empty without rules.
    fn left(self) -> String {
        let levels = self.by_level().into_iter().filter(|(number, _)| *number > 0);
        let words = Vec::from_iter(levels.map(|(number, level)| format!("{number} {level}"))).join(", ");
        match self.must + self.should + self.may {
            0 => String::new(),
            1 => format!(", which leaves {words} rule unjudged"),
            _ => format!(", which leaves {words} rules unjudged"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gain_has_the_rules_that_one_flag_unlocks() {
        let mut requested = Evidence::default();
        let kinds = [Kind::Inventory, Kind::Namespaces, Kind::Timeline];
        let requests = kinds.map(|kind| (kind, Requested::Yes));
        requested.header.requested.extend(requests);
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
    }
}
