//! The evidence that a run would collect, and the rules that missing evidence leaves unjudged.

use std::fmt;

use collect::Plan;
use evidence::{Asked, Claim, Evidence, Kind, Reason, ReasonId, api::Feature};
use jiff::SignedDuration;
use judge::{
    Prospect, Selection, gained, prospects,
    rules::{Level, Rule},
};
use report::kind_in_words;
use serde::Serialize;

use super::{
    checks::ROLE,
    diagnosis::{Check, Diagnosis, State},
};

pub const MEMBERS: &str = "evidence/members";
pub const AUDIT_LOG: &str = "evidence/audit-log";
pub const DRIVER: &str = "evidence/driver";
pub const PLUGINS: &str = "evidence/plugins";

/// The check of a kind of evidence, and the flag or the permission that adds it. Other kinds come with these.
fn source(kind: Kind) -> Option<(&'static str, &'static str)> {
    Some(match kind {
        Kind::Timeline => ("evidence/timeline", "--observe 5m"),
        Kind::Namespaces => ("evidence/namespaces", "list on namespaces"),
        Kind::Secrets => ("evidence/secrets", "list on secrets"),
        Kind::Probe => ("evidence/probe", "patch on clusterprofiles"),
        Kind::Writers => ("evidence/managed-fields", "managedFields"),
        Kind::Members => (MEMBERS, "--members FILE"),
        Kind::Plugins => (PLUGINS, "--provider-file FILE"),
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

impl Amount {
    fn of(rules: impl IntoIterator<Item = &'static Rule>, claim: &Claim) -> Self {
        let levels = Vec::from_iter(rules.into_iter().filter_map(|rule| rule.facts.level_in(claim)));
        let number = |level| levels.iter().filter(|one| **one == level).count();
        Self {
            must: number(Level::Must),
            should: number(Level::Should),
            may: number(Level::May),
        }
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

impl Diagnosis {
    /// Lists the evidence that a run would collect, counts the rules that it can judge with that, and reports what each
    /// missing kind of evidence would add. Evidence with an error or a warning has no other check.
    pub fn add_evidence(&mut self, requested: &Evidence, selection: &Selection, plan: &Plan) {
        let (mut collected, mut missing) = (Vec::new(), Vec::new());
        for kind in Kind::ALL {
            let Some((check, with)) = source(kind) else {
                continue;
            };
            let reason = match requested.asked(kind) {
                Asked::No(reason) => Some(reason),
                Asked::Yes => requested.gaps(kind).next().map(|gap| &gap.reason),
            };
            match reason {
                Some(reason) => missing.push((kind, check, with, reason)),
                None if kind == Kind::Timeline => {
                    let observe = SignedDuration::try_from(plan.observe).unwrap_or(SignedDuration::MAX);
                    collected.push(format!("{} for {observe:#}", kind_in_words(kind)));
                }
                None => collected.push(kind_in_words(kind).to_owned()),
            }
        }
        let collected = format!("a run collects {}", collected.join(", "));
        self.checks.push(Check::ok("evidence/collected", &collected));
        for (kind, check, with, reason) in missing {
            let is_faulty =
                |one: &Check| one.check == check && matches!(one.state, State::Warn | State::Error);
            if !self.checks.iter().any(is_faulty) {
                self.add_missing(kind, check, with, reason, requested, selection);
            }
        }
        let claim = &requested.header.claim;
        for feature in Feature::ALL {
            if !claim.features.contains(&feature) && !claim.no_features.contains(&feature) {
                let with = format!("--feature {feature}");
                let mut more = requested.clone();
                more.header.claim.features.insert(feature);
                request(&mut more, Kind::UnlabelledSecrets);
                let fact = format!("the feature {feature} is not claimed");
                let remedy = format!("add {with} if the implementation has it");
                let gain = Gain::of(&with, requested, &more, selection);
                self.add_gain("evidence/features", gain, &fact, &remedy);
            }
        }
        let rules = RuleCounts::of(requested, selection);
        self.rules = Some(rules);
        if rules.judged == Amount::default() && rules.selected != Amount::default() {
            let fact = format!("a run can judge none of {}", rules.selected);
            let remedy = "add the evidence that is missing above";
            self.checks.push(Check::warn("rules/judged", &fact, remedy));
        }
    }

    /// Reports a kind of evidence that is missing for that reason. Nothing shows the reason on a hub without profiles.
    fn add_missing(
        &mut self,
        kind: Kind,
        check: &'static str,
        with: &str,
        reason: &Reason,
        requested: &Evidence,
        selection: &Selection,
    ) {
        // The remedy follows.
        let fact = reason.split(": grant ").next().unwrap_or_default();
        let remedy = match fact.strip_prefix("disabled by ") {
            Some(flag) => format!("leave out {flag}"),
            None if kind == Kind::Writers => "let the hub show metadata.managedFields".to_owned(),
            None if with.starts_with("--") => format!("add {with}"),
            None => ROLE.to_owned(),
        };
        let mut more = requested.clone();
        request(&mut more, kind);
        match kind {
            // A plugin's credential is tried on the member.
            Kind::Plugins => request(&mut more, Kind::Members),
            Kind::Driver | Kind::Testbed => request_driven(&mut more),
            _ => {}
        }
        // Two kinds come with a driver.
        let is_listed = self.gains.iter().any(|gain| gain.with == with);
        if !fact.is_empty() && !is_listed {
            self.add_gain(check, Gain::of(with, requested, &more, selection), fact, &remedy);
        }
    }

    /// Reports what more evidence would add, if it adds a rule.
    fn add_gain(&mut self, check: &'static str, gain: Gain, reason: &str, remedy: &str) {
        if !gain.rules.is_empty() {
            let fact = format!("{reason}, which leaves {} unjudged", gain.amount);
            self.checks.push(Check::missing(check, &fact, remedy));
            self.gains.push(gain);
        }
    }
}

impl Gain {
    /// The rules that a run can judge only with more evidence.
    fn of(with: &str, requested: &Evidence, more: &Evidence, selection: &Selection) -> Self {
        let rules = gained(requested, more, selection);
        Self {
            with: with.to_owned(),
            amount: Amount::of(rules.iter().copied(), &more.header.claim),
            rules: rules.iter().map(|rule| rule.id).collect(),
        }
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

fn request(evidence: &mut Evidence, kind: Kind) {
    evidence.header.asked.insert(kind, Asked::Yes);
    evidence.gaps.retain(|gap| gap.kind != kind);
}

impl RuleCounts {
    /// Counts the selected rules, and those that a run can judge.
    fn of(requested: &Evidence, selection: &Selection) -> Self {
        let prospects = prospects(requested, selection);
        let counted = |is_counted: fn(&Prospect) -> bool| {
            let rules = prospects.iter().filter(|(_, prospect)| is_counted(prospect));
            Amount::of(rules.map(|(rule, _)| *rule), &requested.header.claim)
        };
        let is_selected = |prospect: &Prospect| match prospect {
            Prospect::LeftOut(reason) => reason.id != Some(ReasonId::Deselected),
            Prospect::Judged | Prospect::Lacks(_) => true,
        };
        Self {
            selected: counted(is_selected),
            judged: counted(|prospect| *prospect == Prospect::Judged),
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
    fn a_gain_has_the_rules_that_need_the_evidence() {
        let mut requested = Evidence::default();
        let kinds = [Kind::Inventory, Kind::Namespaces, Kind::Timeline];
        let asked = kinds.map(|kind| (kind, Asked::Yes));
        requested.header.asked.extend(asked);
        let selection = Selection::default();
        let gain = |kind| {
            let mut more = requested.clone();
            request(&mut more, kind);
            Gain::of("", &requested, &more, &selection).rules
        };
        let members = gain(Kind::Members);
        assert!(members.contains(&"version/matches-member"));
        // It needs Secrets too.
        assert!(!members.contains(&"consumers/kubeconfig-works"));
        assert!(gain(Kind::Timeline).is_empty());
        let rules = RuleCounts::of(&requested, &selection);
        assert!(rules.judged.must > 0 && rules.judged.must < rules.selected.must);
    }
}
