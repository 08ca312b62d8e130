//! The evidence that a run would collect, and the rules that missing evidence leaves unjudged.

use collect::{Plan, driver::DriverFile};
use evidence::{
    Asked, Evidence, Kind, Reason, ReasonId,
    api::{Feature, Role},
};
use jiff::SignedDuration;
use judge::{Prospect, Selection, gained, prospects};
use report::count;
use serde::Serialize;

use super::{
    diagnosis::{Amount, Check},
    hub::ROLE,
};

pub const MEMBERS: &str = "evidence/members";
pub const AUDIT_LOG: &str = "evidence/audit-log";
pub const DRIVER: &str = "evidence/driver";

/// Evidence: its check, its kinds, the flag or the permission that adds it, and what a run does to collect it.
type Row = (&'static str, &'static [Kind], &'static str, &'static str);

const ROWS: [Row; 9] = [
    (
        "evidence/timeline",
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
        "get, update and patch on clusterprofiles",
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
];

/// For a consumer, in place of the driver.
const TESTBED: Row = (
    DRIVER,
    &[Kind::Testbed],
    "--driver FILE",
    "a run publishes profiles for the consumer",
);

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

/// Checks evidence against the rules that need it.
pub struct EvidenceChecks<'a> {
    /// What a run would request, and the gaps that are known now.
    requested: &'a Evidence,
    selection: &'a Selection,
    /// The checks that have an error, or are made elsewhere.
    others: Vec<&'static str>,
    pub gains: Vec<Gain>,
}

impl<'a> EvidenceChecks<'a> {
    pub fn new(requested: &'a Evidence, selection: &'a Selection, plan: &Plan, errors: &[Check]) -> Self {
        let mut others: Vec<&str> = errors.iter().map(|error| error.check).collect();
        others.extend((!plan.audit_logs.is_empty()).then_some(AUDIT_LOG));
        others.extend((!plan.members.ways.is_empty()).then_some(MEMBERS));
        Self {
            requested,
            selection,
            others,
            gains: Vec::new(),
        }
    }

    /// Checks each kind of evidence, and each feature that is neither claimed nor declared absent.
    pub fn all(&mut self, plan: &Plan) -> Vec<Check> {
        let is_consumer = plan.claim.edition_of(Role::Consumer).is_some();
        let mut checks = Vec::new();
        for row in ROWS {
            let row = if is_consumer && row.0 == DRIVER {
                TESTBED
            } else {
                row
            };
            if !self.others.contains(&row.0) {
                checks.extend(self.row(row, plan));
            }
        }
        for feature in Feature::ALL {
            let claim = &self.requested.header.claim;
            if !claim.features.contains(&feature) && !claim.no_features.contains(&feature) {
                checks.extend(self.feature(feature));
            }
        }
        checks
    }

    /// Checks the evidence of a row; none if nothing shows why it is missing, as on a hub without profiles.
    fn row(&mut self, (check, kinds, with, collected): Row, plan: &Plan) -> Option<Check> {
        let Some(reason) = kinds.iter().find_map(|kind| self.why_missing(*kind)) else {
            let observe = SignedDuration::try_from(plan.observe).unwrap_or(SignedDuration::MAX);
            return Some(match check {
                "evidence/timeline" => Check::ok(check, &format!("{collected} for {observe:#}")),
                _ => Check::ok(check, collected),
            });
        };
        let gain = self.gain(with, |more| request(more, kinds));
        if gain.rules.is_empty() {
            return Some(Check::ok(check, &format!("no selected rule needs {with}")));
        }
        let fact = without_remedy(&reason);
        if fact.is_empty() {
            return None;
        }
        let remedy = match (fact.strip_prefix("disabled by "), with) {
            (Some(flag), _) => format!("leave out {flag}"),
            (None, "managedFields") => "let the hub show metadata.managedFields".to_owned(),
            (None, flag) if flag.starts_with("--") => format!("add {flag}"),
            _ => ROLE.to_owned(),
        };
        Some(self.missing(check, gain, &fact, &remedy))
    }

    fn feature(&mut self, feature: Feature) -> Option<Check> {
        let with = format!("--feature {feature}");
        let gain = self.gain(&with, |more| {
            more.header.claim.features.insert(feature);
            request(more, &[Kind::UnlabelledSecrets]);
        });
        let reason = format!("the feature {feature} is not claimed");
        let remedy = format!("add {with} if the implementation has it");
        let is_useful = !gain.rules.is_empty();
        is_useful.then(|| self.missing("evidence/features", gain, &reason, &remedy))
    }

    fn missing(&mut self, check: &'static str, gain: Gain, reason: &str, remedy: &str) -> Check {
        let fact = format!("{reason}, which leaves {} unjudged", gain.amount);
        self.gains.push(gain);
        Check::missing(check, &fact, remedy)
    }

    /// Why a run would not have that evidence.
    fn why_missing(&self, kind: Kind) -> Option<Reason> {
        match self.requested.asked(kind) {
            Asked::No(reason) => Some(reason.clone()),
            Asked::Yes => Some(self.requested.gaps(kind).next()?.reason.clone()),
        }
    }

    /// The rules that a run can judge only after that change of the requested evidence.
    fn gain(&self, with: &str, change: impl FnOnce(&mut Evidence)) -> Gain {
        let mut more = self.requested.clone();
        change(&mut more);
        let rules = gained(self.requested, &more, self.selection);
        let levels = rules
            .iter()
            .filter_map(|rule| rule.facts.level_in(&more.header.claim));
        Gain {
            with: with.to_owned(),
            amount: levels.collect(),
            rules: rules.iter().map(|rule| rule.id).collect(),
        }
    }

    /// Counts the selected rules, and those that a run can judge.
    pub fn count_rules(&self) -> RuleCounts {
        let claim = &self.requested.header.claim;
        let prospects = prospects(self.requested, self.selection);
        let counted = |is_counted: fn(&Prospect) -> bool| {
            let rules = prospects.iter().filter(|(_, prospect)| is_counted(prospect));
            rules.filter_map(|(rule, _)| rule.facts.level_in(claim)).collect()
        };
        RuleCounts {
            selected: counted(
                |prospect| !matches!(prospect, Prospect::LeftOut(reason) if reason.id == Some(ReasonId::Deselected)),
            ),
            judged: counted(|prospect| *prospect == Prospect::Judged),
        }
    }

    /// Reports how many rules a run can judge.
    pub fn judged_rules(&self, rules: &RuleCounts) -> Check {
        const CHECK: &str = "rules/judged";
        let RuleCounts { selected, judged } = rules;
        let claim = &self.requested.header.claim;
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

fn request(evidence: &mut Evidence, kinds: &[Kind]) {
    for kind in kinds {
        evidence.header.asked.insert(*kind, Asked::Yes);
        evidence.gaps.retain(|gap| gap.kind != *kind);
    }
}

/// A reason without what to do about it.
pub fn without_remedy(reason: &str) -> String {
    reason.split(": grant ").next().unwrap_or(reason).to_owned()
}

/// The hooks of a driver file, and its members.
pub fn hooks(file: &DriverFile) -> String {
    let hooks: Vec<String> = file.hooks.keys().map(ToString::to_string).collect();
    let members = match file.members.len() {
        _ if file.has_fake_members() => "on fake members".to_owned(),
        0 => "on members that its join hook creates".to_owned(),
        own => format!("on {} of its own", count(own, "member")),
    };
    format!("the driver file has the hooks {}, {members}", hooks.join(", "))
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
        let plan = Plan::watching(std::time::Duration::ZERO);
        let selection = Selection::default();
        let checks = EvidenceChecks::new(&requested, &selection, &plan, &[]);
        let members = checks.gain("--members FILE", |more| request(more, &[Kind::Members]));
        assert!(members.rules.contains(&"version/matches-member"));
        // It needs Secrets too.
        assert!(!members.rules.contains(&"consumers/kubeconfig-works"));
        let nothing = checks.gain("", |more| request(more, &[Kind::Timeline]));
        assert!(nothing.rules.is_empty());
        let rules = checks.count_rules();
        assert!(rules.judged.must > 0 && rules.judged.must < rules.selected.must);
    }
}
