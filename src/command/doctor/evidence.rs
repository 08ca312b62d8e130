//! The evidence that a run would collect, and the rules that missing evidence leaves unjudged.

use std::fmt;

use collect::Plan;
use evidence::{
    Asked, Evidence, Kind, ReasonId,
    api::{Feature, Role},
};
use jiff::SignedDuration;
use judge::{Prospect, Selection, gained, prospects, rules::Level};
use serde::Serialize;

use super::{
    diagnosis::{Check, Diagnosis},
    hub::ROLE,
};

pub const MEMBERS: &str = "evidence/members";
pub const AUDIT_LOG: &str = "evidence/audit-log";
pub const DRIVER: &str = "evidence/driver";
const TIMELINE: &str = "evidence/timeline";

/// Evidence: its check, its kinds, the flag or the permission that adds it, and what a run does to collect it.
type Row = (&'static str, &'static [Kind], &'static str, &'static str);

const ROWS: [Row; 10] = [
    (
        TIMELINE,
        &[Kind::Timeline],
        "--observe 5m",
        "a run watches the profiles",
    ),
    (
        "evidence/namespaces",
        &[Kind::Namespaces],
        "list on namespaces",
        "the runner may list Namespaces",
    ),
    (
        "evidence/secrets",
        &[Kind::Secrets],
        "list on secrets",
        "the runner may list the consumers' Secrets",
    ),
    (
        "evidence/probe",
        &[Kind::Probe],
        "patch on clusterprofiles",
        "the runner may send dry-run writes, which change nothing",
    ),
    (
        "evidence/managed-fields",
        &[Kind::Writers],
        "managedFields",
        "the hub shows managedFields",
    ),
    (
        MEMBERS,
        &[Kind::Members],
        "--members FILE",
        "a run queries the members",
    ),
    (
        "evidence/plugins",
        &[Kind::Members, Kind::Plugins],
        "--provider-file FILE",
        "a run calls the plugins of access providers",
    ),
    (
        AUDIT_LOG,
        &[Kind::Requests],
        "--audit-log FILE",
        "a run reads the audit log",
    ),
    (
        DRIVER,
        &[Kind::Driver],
        "--driver FILE",
        "a run drives the implementation",
    ),
    (
        DRIVER,
        &[Kind::Testbed],
        "--driver FILE",
        "a run publishes profiles for the consumer",
    ),
];

/// The rules that one more kind of evidence lets a run judge.
#[derive(Clone, Debug, Serialize)]
pub struct Gain {
    /// The flag or the permission to add.
    with: String,
    #[serde(flatten)]
    amount: Amount,
    /// Ids of rules.
    rules: Vec<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RuleCounts {
    /// The selected rules of the edition.
    pub selected: Amount,
    /// Those that a run can judge.
    pub judged: Amount,
}

/// The number of rules of each level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Amount {
    pub must: usize,
    pub should: usize,
    pub may: usize,
}

impl FromIterator<Level> for Amount {
    fn from_iter<I: IntoIterator<Item = Level>>(levels: I) -> Self {
        let mut amount = Self::default();
        for level in levels {
            match level {
                Level::Must => amount.must += 1,
                Level::Should => amount.should += 1,
                Level::May => amount.may += 1,
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
        let noun = if is_one { "rule" } else { "rules" };
        write!(f, "{} {noun}", words.join(", "))
    }
}

impl Diagnosis {
    /// Checks the evidence that a run would request against the rules that need it, and counts these. Evidence with an
    /// error, and named sources that are checked themselves, have no check here.
    pub fn add_evidence(
        &mut self,
        requested: &Evidence,
        selection: &Selection,
        plan: &Plan,
        errors: &[Check],
    ) {
        let is_checked = |check: &str| {
            errors.iter().any(|error| error.check == check)
                || (check == AUDIT_LOG && !plan.audit_logs.is_empty())
                || (check == MEMBERS && !plan.members.ways.is_empty())
        };
        for row in ROWS.iter().filter(|(check, ..)| !is_checked(check)) {
            self.add_row(row, requested, selection, plan);
        }
        let claim = &requested.header.claim;
        for feature in Feature::ALL {
            if !claim.features.contains(&feature) && !claim.no_features.contains(&feature) {
                let with = format!("--feature {feature}");
                let mut more = requested.clone();
                more.header.claim.features.insert(feature);
                request(&mut more, &[Kind::UnlabelledSecrets]);
                let reason = format!("the feature {feature} is not claimed");
                let remedy = format!("add {with} if the implementation has it");
                let gain = Gain::of(&with, requested, &more, selection);
                self.add_gain("evidence/features", gain, &reason, &remedy);
            }
        }
        let rules = RuleCounts::of(requested, selection);
        self.rules = Some(rules);
        self.checks.push(rules.check(requested));
    }

    /// Checks the evidence of a row; not at all if no rule needs it, or nothing shows why it is missing, as on a hub
    /// without profiles.
    fn add_row(
        &mut self,
        (check, kinds, with, collected): &Row,
        requested: &Evidence,
        selection: &Selection,
        plan: &Plan,
    ) {
        let why_missing = |kind: &Kind| match requested.asked(*kind) {
            Asked::No(reason) => Some(reason.clone()),
            Asked::Yes => Some(requested.gaps(*kind).next()?.reason.clone()),
        };
        let Some(reason) = kinds.iter().find_map(why_missing) else {
            let observe = SignedDuration::try_from(plan.observe).unwrap_or(SignedDuration::MAX);
            self.checks.push(match *check {
                TIMELINE => Check::ok(check, &format!("{collected} for {observe:#}")),
                _ => Check::ok(check, collected),
            });
            return;
        };
        // The remedy follows.
        let fact = reason.split(": grant ").next().unwrap_or_default();
        if fact.is_empty() {
            return;
        }
        let mut more = requested.clone();
        request(&mut more, kinds);
        let remedy = match (fact.strip_prefix("disabled by "), *with) {
            (Some(flag), _) => format!("leave out {flag}"),
            (None, "managedFields") => "let the hub show metadata.managedFields".to_owned(),
            (None, flag) if flag.starts_with("--") => format!("add {flag}"),
            _ => ROLE.to_owned(),
        };
        self.add_gain(check, Gain::of(with, requested, &more, selection), fact, &remedy);
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
        let levels = rules
            .iter()
            .filter_map(|rule| rule.facts.level_in(&more.header.claim));
        Self {
            with: with.to_owned(),
            amount: levels.collect(),
            rules: rules.iter().map(|rule| rule.id).collect(),
        }
    }
}

fn request(evidence: &mut Evidence, kinds: &[Kind]) {
    for kind in kinds {
        evidence.header.asked.insert(*kind, Asked::Yes);
        evidence.gaps.retain(|gap| gap.kind != *kind);
    }
}

impl RuleCounts {
    /// Counts the selected rules, and those that a run can judge.
    fn of(requested: &Evidence, selection: &Selection) -> Self {
        let prospects = prospects(requested, selection);
        let counted = |is_counted: fn(&Prospect) -> bool| {
            let rules = prospects.iter().filter(|(_, prospect)| is_counted(prospect));
            let claim = &requested.header.claim;
            rules.filter_map(|(rule, _)| rule.facts.level_in(claim)).collect()
        };
        Self {
            selected: counted(
                |prospect| !matches!(prospect, Prospect::LeftOut(reason) if reason.id == Some(ReasonId::Deselected)),
            ),
            judged: counted(|prospect| *prospect == Prospect::Judged),
        }
    }

    fn check(&self, requested: &Evidence) -> Check {
        const CHECK: &str = "rules/judged";
        let Self { selected, judged } = self;
        let claim = &requested.header.claim;
        let condition = match claim.edition_of(Role::Consumer) {
            Some(_) => ", if the consumer claims the features that they need",
            None => "",
        };
        let fact = format!(
            "a run can judge {} of {} MUST, {} of {} SHOULD, {} of {} MAY rules of edition {}{condition}",
            judged.must,
            selected.must,
            judged.should,
            selected.should,
            judged.may,
            selected.may,
            claim.edition
        );
        if *judged == Amount::default() && *selected != Amount::default() {
            return Check::warn(CHECK, &fact, "add the evidence that is missing above");
        }
        Check::ok(CHECK, &fact)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gain_has_the_rules_that_need_the_evidence() {
        let mut requested = Evidence::default();
        let kinds = [Kind::Inventory, Kind::Namespaces, Kind::Timeline];
        requested
            .header
            .asked
            .extend(kinds.map(|kind| (kind, Asked::Yes)));
        let selection = Selection::default();
        let gain = |kind| {
            let mut more = requested.clone();
            request(&mut more, &[kind]);
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
