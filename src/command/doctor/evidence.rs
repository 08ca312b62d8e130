//! The table of the evidence that a run would collect, and the rules that missing evidence would add.

use collect::{Plan, Reached, Wish, driver::DriverFile};
use evidence::{
    Asked, Evidence, Kind, ReasonId,
    api::{Feature, Role},
};
use jiff::SignedDuration;
use judge::{Prospect, Selection, gained, prospects};
use report::count;

use super::{
    check::Check,
    document::{Amount, Gain, RuleCounts},
    hub::ROLE,
    sources::{AUDIT_LOG, DRIVER, without_remedy},
};
use crate::command::flags::driver::Driving;

/// Evidence that a run collects, or could collect with another flag or permission.
struct Row {
    check: &'static str,
    kinds: &'static [Kind],
    /// The flag or permission to add.
    with: &'static str,
    noun: &'static str,
    /// What the run does to collect it.
    plan: String,
    remedy: &'static str,
    /// What to do if the plan collects nothing although the run requests the evidence.
    defect: Option<&'static str>,
}

/// The table of evidence.
fn rows(plan: &Plan, driving: Option<&Driving>, reached: &[Reached]) -> Vec<Row> {
    let is_consumer = plan.claim.edition_of(Role::Consumer).is_some();
    let observe = SignedDuration::try_from(plan.observe).unwrap_or(SignedDuration::MAX);
    let row = |check, kinds, with, noun, plan: &str, remedy| Row {
        check,
        kinds,
        with,
        noun,
        plan: plan.to_owned(),
        remedy,
        defect: None,
    };
    let watch = if is_consumer {
        "a run watches the profiles that it publishes".to_owned()
    } else {
        format!("a run watches the profiles for {observe:#}")
    };
    let secrets_remedy = match plan.secrets {
        Wish::No(_) => "leave out --no-feature",
        _ => ROLE,
    };
    let probe_remedy = match plan.probe {
        Wish::No(_) => "leave out --no-probe",
        _ => ROLE,
    };
    let no_member_answers = !reached.is_empty() && complete_members(reached) == 0;
    let driven: &[Kind] = if is_consumer {
        &[Kind::Testbed]
    } else {
        &[Kind::Driver]
    };
    vec![
        row(
            "evidence/timeline",
            &[Kind::Timeline],
            "--observe 5m",
            "a watch",
            &watch,
            "watch, for example with --observe 5m",
        ),
        row(
            "evidence/namespaces",
            &[Kind::Namespaces],
            "list on namespaces",
            "Namespaces",
            "the runner may list Namespaces",
            ROLE,
        ),
        row(
            "evidence/secrets",
            &[Kind::Secrets],
            "list on secrets",
            "the Secrets of consumers",
            "the runner may list the consumers' Secrets",
            secrets_remedy,
        ),
        row(
            "evidence/probe",
            &[Kind::Probe],
            "get, update and patch on clusterprofiles",
            "dry-run writes",
            "the runner may send dry-run writes, which change nothing",
            probe_remedy,
        ),
        row(
            "evidence/managed-fields",
            &[Kind::Writers],
            "managedFields",
            "managedFields",
            "the hub shows managedFields",
            "let the hub, or a proxy in between, show metadata.managedFields",
        ),
        Row {
            defect: no_member_answers.then_some("fix the members that are listed below"),
            ..row(
                "evidence/members",
                &[Kind::Members],
                "--members FILE",
                "samples of members",
                &members_plan(plan, reached),
                "list their kubeconfigs in a file for --members, or try --members from-secrets",
            )
        },
        row(
            "evidence/plugins",
            &[Kind::Members, Kind::Plugins],
            "--provider-file FILE",
            "credential plugins",
            &plugins_plan(plan),
            "list the plugins of access providers in a file for --provider-file",
        ),
        row(
            AUDIT_LOG,
            &[Kind::Requests],
            "--audit-log FILE",
            "an audit log",
            "the hub's own audit log is read after the run",
            "pass the API server's log with --audit-log, where you can read it",
        ),
        row(
            DRIVER,
            driven,
            "--driver FILE",
            "a driver",
            &driver_plan(driving),
            "write its commands in a file for --driver: docs/driver.md",
        ),
    ]
}

/// Checks evidence against the rules that need it.
pub struct EvidenceChecks<'a> {
    /// What a run would request, and the gaps that are known now.
    pub requested: &'a Evidence,
    pub selection: &'a Selection,
    pub gains: Vec<Gain>,
}

impl EvidenceChecks<'_> {
    /// Checks each row of the table, but not those whose file has an error.
    pub fn rows(
        &mut self,
        plan: &Plan,
        driving: Option<&Driving>,
        reached: &[Reached],
        errors: &[Check],
    ) -> Vec<Check> {
        let mut checks = Vec::new();
        for row in rows(plan, driving, reached) {
            let has_error = errors.iter().any(|error| error.check == row.check);
            // An audit log that the user named has checks of its own.
            if !has_error && (row.check != AUDIT_LOG || plan.audit_logs.is_empty()) {
                checks.push(self.row(&row));
            }
        }
        checks.extend(self.features());
        checks
    }

    fn row(&mut self, row: &Row) -> Check {
        let reason = row.kinds.iter().find_map(|kind| self.why_missing(*kind));
        let Some(reason) = reason else {
            return match row.defect {
                Some(remedy) => Check::warn(row.check, &row.plan, remedy),
                None => Check::ok(row.check, &row.plan),
            };
        };
        let gain = self.gain(row.with, |more| request(more, row.kinds));
        if gain.rules.is_empty() {
            return Check::ok(row.check, &format!("no selected rule needs {}", row.noun));
        }
        self.missing(row.check, gain, &reason, row.remedy)
    }

    /// The features that are neither claimed nor declared absent.
    fn features(&mut self) -> Vec<Check> {
        let claim = &self.requested.header.claim;
        let open = Feature::ALL
            .into_iter()
            .filter(|feature| !claim.features.contains(feature) && !claim.no_features.contains(feature));
        let mut checks = Vec::new();
        for feature in open {
            let with = format!("--feature {feature}");
            let gain = self.gain(&with, |more| {
                more.header.claim.features.insert(feature);
                request(more, &[Kind::UnlabelledSecrets]);
            });
            if !gain.rules.is_empty() {
                let reason = format!("the feature {feature} is not claimed");
                let remedy = format!("add {with} if the implementation has it");
                checks.push(self.missing("evidence/features", gain, &reason, &remedy));
            }
        }
        checks
    }

    fn missing(&mut self, check: &'static str, gain: Gain, reason: &str, remedy: &str) -> Check {
        let fact = format!("{reason}, which leaves {} unjudged", gain.amount);
        self.gains.push(gain);
        Check::missing(check, &fact, remedy)
    }

    /// Why a run would not have that evidence, without what to do about it.
    fn why_missing(&self, kind: Kind) -> Option<String> {
        let reason = match self.requested.asked(kind) {
            Asked::No(reason) => reason.to_string(),
            Asked::Yes => self.requested.gaps(kind).next()?.reason.to_string(),
        };
        Some(without_remedy(&reason))
    }

    /// The rules that a run can judge only after that change of the requested evidence.
    fn gain(&self, with: &str, change: impl FnOnce(&mut Evidence)) -> Gain {
        let mut more = self.requested.clone();
        change(&mut more);
        let rules = gained(self.requested, &more, self.selection);
        Gain {
            with: with.to_owned(),
            amount: rules
                .iter()
                .filter_map(|rule| rule.facts.level_in(&more.header.claim))
                .collect(),
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
            selected: counted(is_selected),
            judged: counted(|prospect| *prospect == Prospect::Judged),
        }
    }
}

fn is_selected(prospect: &Prospect) -> bool {
    !matches!(prospect, Prospect::LeftOut(why) if why.id == Some(ReasonId::Deselected))
}

fn request(evidence: &mut Evidence, kinds: &[Kind]) {
    for kind in kinds {
        evidence.header.asked.insert(*kind, Asked::Yes);
        evidence.gaps.retain(|gap| gap.kind != *kind);
    }
}

fn complete_members(reached: &[Reached]) -> usize {
    reached.iter().filter(|one| one.look.missing.is_empty()).count()
}

fn members_plan(plan: &Plan, reached: &[Reached]) -> String {
    let mut parts = Vec::new();
    if !reached.is_empty() {
        let complete = complete_members(reached);
        let all = count(reached.len(), "member");
        parts.push(format!("{complete} of {all} answer with all that rules need"));
    }
    if plan.members.from_secrets {
        parts.push("a run tries the kubeconfigs of the consumers' Secrets".to_owned());
    }
    parts.join("; ")
}

fn plugins_plan(plan: &Plan) -> String {
    let plugins = plan.members.plugins.iter();
    let names: Vec<&str> = plugins
        .flat_map(|plugins| &plugins.providers)
        .map(|provider| &*provider.name)
        .collect();
    let providers = count(names.len(), "access provider");
    format!("the plugins of {providers} are installed: {}", names.join(", "))
}

fn driver_plan(driving: Option<&Driving>) -> String {
    let file = match driving {
        None => return "a run publishes profiles for the reference consumer".to_owned(),
        Some(Driving::Reference { .. }) => return "the reference implementation is driven".to_owned(),
        Some(Driving::File { file, .. }) => file,
    };
    if let Some(consumer) = &file.consumer {
        let namespaces = consumer.namespaces.iter().chain(&consumer.unselected);
        let namespaces: Vec<&str> = namespaces.map(String::as_str).collect();
        return format!(
            "a run publishes profiles for the consumer in {}",
            namespaces.join(", ")
        );
    }
    manager_hooks(file)
}

fn manager_hooks(file: &DriverFile) -> String {
    let hooks: Vec<String> = file.hooks.keys().map(ToString::to_string).collect();
    let members = match file.members.len() {
        _ if file.has_fake_members() => "on fake members".to_owned(),
        0 => "on members that its join hook creates".to_owned(),
        own => format!("on {} of its own", count(own, "member")),
    };
    format!("the driver file has the hooks {}, {members}", hooks.join(", "))
}

/// Reports how many rules a run can judge.
pub fn judged_rules(rules: &RuleCounts, plan: &Plan) -> Check {
    const CHECK: &str = "rules/judged";
    let RuleCounts { selected, judged } = rules;
    let limit = match plan.claim.edition_of(Role::Consumer) {
        Some(_) => ", if the consumer claims what they are about",
        None => "",
    };
    let counts = [
        (judged.must, selected.must, "MUST"),
        (judged.should, selected.should, "SHOULD"),
        (judged.may, selected.may, "MAY"),
    ];
    let counts = counts.map(|(judged, selected, level)| format!("{judged} of {selected} {level}"));
    let fact = format!(
        "a run can judge {} rules of edition {}{limit}",
        counts.join(", "),
        plan.claim.edition
    );
    if *judged == Amount::default() && *selected != Amount::default() {
        return Check::warn(CHECK, &fact, "add the evidence that is missing above");
    }
    Check::ok(CHECK, &fact)
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
        let checks = EvidenceChecks {
            requested: &requested,
            selection: &Selection::default(),
            gains: Vec::new(),
        };
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
