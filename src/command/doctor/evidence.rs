//! Checks of the evidence that a run would collect, and the rules that missing evidence would add.

use std::{collections::BTreeSet, path::Path};

use anyhow::anyhow;
use collect::{
    Plan, Reached, Wish,
    clock::Clock,
    driver::DriverFile,
    requests::{AuditLog, RequestsError},
};
use evidence::{
    Asked, Evidence, Header, Kind, Origin, Permission, ProfileHistory, ReasonId, Version,
    api::{ClusterProfile, Feature, ObjectKind, Role, names},
};
use jiff::SignedDuration;
use judge::{Prospect, Selection, gained, prospects};
use report::count;

use super::{
    check::Check,
    document::{Amount, Gain, RuleCounts},
    hub::ROLE,
};
use crate::command::{flags::driver::Driving, terminal::exit::Failure};

/// How many members with missing answers are listed.
const LISTED_MEMBERS: usize = 20;
/// The greatest age of the last event of a log that is still written.
const MAX_LOG_AGE: SignedDuration = SignedDuration::from_mins(10);
const AUDIT_LOG: &str = "evidence/audit-log";
const DRIVER: &str = "evidence/driver";
const POLICY: &str =
    "log clusterprofiles of the group multicluster.x-k8s.io at level RequestResponse in the audit policy";

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
    let is_complete = |one: &Reached| one.look.missing.is_empty();
    let no_member_answers = !reached.is_empty() && !reached.iter().any(is_complete);
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

fn without_remedy(reason: &str) -> String {
    reason.split(": grant ").next().unwrap_or(reason).to_owned()
}

fn members_plan(plan: &Plan, reached: &[Reached]) -> String {
    let mut parts = Vec::new();
    if !reached.is_empty() {
        let complete = reached.iter().filter(|one| one.look.missing.is_empty()).count();
        let all = count(reached.len(), "member");
        parts.push(format!("{complete} of {all} answer with all that rules need"));
    }
    if plan.members.from_secrets {
        parts.push("a run tries the kubeconfigs of the consumers' Secrets".to_owned());
    }
    parts.join("; ")
}

/// Lists the members that do not answer, or not with all that rules need.
pub fn incomplete_members(reached: &[Reached]) -> Vec<Check> {
    let mut checks: Vec<Check> = reached.iter().filter_map(incomplete_member).collect();
    let more = checks.len().saturating_sub(LISTED_MEMBERS);
    checks.truncate(LISTED_MEMBERS);
    if more > 0 {
        let fact = format!("{} more do not answer, or not completely", count(more, "member"));
        checks.push(Check::warn(
            "evidence/members",
            &fact,
            "fix the first ones, then check again",
        ));
    }
    checks
}

fn incomplete_member(reached: &Reached) -> Option<Check> {
    let missing = &reached.look.missing;
    let first = missing.values().next()?;
    let reasons: BTreeSet<String> = missing.values().map(|reason| without_remedy(reason)).collect();
    let reasons: Vec<String> = reasons.into_iter().collect();
    let (profile, way) = (&reached.profile, &reached.way);
    let fact = format!(
        "{}/{} ({way}): {}",
        profile.namespace,
        profile.name,
        reasons.join("; ")
    );
    let is_forbidden = missing
        .values()
        .any(|reason| reason.id == Some(ReasonId::MemberForbidden));
    let remedy = if is_forbidden {
        "grant it: `clusterprofile-conformance rbac --members` prints the role for a member"
    } else if first.contains("401") {
        "renew the credential in its kubeconfig"
    } else {
        "check its kubeconfig with `kubectl --kubeconfig FILE --context NAME get --raw /readyz`"
    };
    Some(Check::warn("evidence/members", &fact, remedy))
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

/// Checks the programs of the driver file, its journal, and the permission to write.
pub fn driver(driving: &Driving, permissions: &[Permission]) -> Vec<Check> {
    let mut checks = Vec::new();
    if let Driving::File { file, journals, .. } = driving {
        for (action, flaw) in file.missing_programs() {
            let error = anyhow!("the driver file's hook {action}: {flaw}; install it, or give its path");
            checks.push(Check::error(DRIVER, &Failure::usage(error), ""));
        }
        checks.extend(journal(journals));
    }
    checks.push(mutations(driving.mutations(), permissions));
    checks
}

/// Whether the journal of changes to undo can be written below the nearest folder that exists.
fn journal(folder: &Path) -> Option<Check> {
    let existing = folder.ancestors().find(|folder| folder.is_dir())?;
    let source = tempfile::tempfile_in(existing).err()?;
    let error = anyhow!(
        "failed to write the log of changes to undo in {}: {source}; set XDG_STATE_HOME to a writable folder",
        folder.display()
    );
    Some(Check::error(DRIVER, &Failure::could_not_run(error), ""))
}

/// Whether the flags and the hub allow the driver to write.
fn mutations(allowed: bool, permissions: &[Permission]) -> Check {
    const CHECK: &str = "evidence/mutations";
    if !allowed {
        return Check::missing(
            CHECK,
            "the driver may not write to the hub, so scenarios that change objects are left out",
            "add --allow-mutations; a run writes only to objects that it created",
        );
    }
    let status = format!("{}/status", names::PLURAL);
    let needed = [
        ("create", names::PLURAL),
        ("patch", names::PLURAL),
        ("delete", names::PLURAL),
        ("patch", &status),
        ("create", names::PLACEMENT_PLURAL),
        ("patch", names::PLACEMENT_PLURAL),
        ("delete", names::PLACEMENT_PLURAL),
    ];
    let refused: BTreeSet<String> = permissions
        .iter()
        .filter(|answer| !answer.allowed && answer.group == names::GROUP)
        .filter(|answer| needed.contains(&(&answer.verb, &answer.resource)))
        .map(|answer| format!("{} {}", answer.verb, answer.resource))
        .collect();
    if refused.is_empty() {
        return Check::ok(CHECK, "the driver may write to the hub");
    }
    let refused: Vec<String> = refused.into_iter().collect();
    Check::missing(
        CHECK,
        &format!("the runner may not {}", refused.join(", ")),
        "grant it: `clusterprofile-conformance rbac --allow-mutations` prints the role",
    )
}

/// Checks an audit log that the user named.
pub fn audit_log(log: &Result<AuditLog, RequestsError>) -> Vec<Check> {
    let log = match log {
        Ok(log) => log,
        Err(error @ RequestsError::Empty { .. }) => {
            let remedy =
                "set --audit-log-path and a policy above None at the API server, or pass another file";
            return vec![Check::warn(AUDIT_LOG, &error.to_string(), remedy)];
        }
        Err(error) => {
            let failure = Failure::usage(anyhow!("{error}"));
            let remedy = "pass the API server's log, or leave out --audit-log";
            return vec![Check::error(AUDIT_LOG, &failure, remedy)];
        }
    };
    let mut checks = vec![logged_writes(log)];
    let age = Clock::system().now().duration_since(log.requests.covers.until);
    if age > MAX_LOG_AGE {
        let fact = format!("the audit log's last event is {} min old", age.as_mins());
        let remedy = "pass the log that the API server writes now: a run needs the events of its own time";
        checks.push(Check::warn(AUDIT_LOG, &fact, remedy));
    }
    checks
}

fn logged_writes(log: &AuditLog) -> Check {
    if log.silent_on.contains(&ObjectKind::ClusterProfile) {
        return Check::warn(
            AUDIT_LOG,
            "the audit log has no request on ClusterProfiles",
            POLICY,
        );
    }
    let levels: Vec<&str> = log.levels.iter().map(String::as_str).collect();
    match levels.as_slice() {
        [] => Check::ok(AUDIT_LOG, "the audit log has no write on ClusterProfiles yet"),
        ["RequestResponse"] => Check::ok(AUDIT_LOG, "the audit log has writes at level RequestResponse"),
        levels => {
            let levels = levels.join(" and ");
            let fact =
                format!("the audit log has writes at level {levels}: it does not show what each changed");
            Check::warn(AUDIT_LOG, &fact, POLICY)
        }
    }
}

/// Lists the clients that write the judged objects, and the flags that name the implementation.
pub fn writers(plan: &Plan, profiles: &[ClusterProfile], log: Option<&AuditLog>) -> Vec<Check> {
    let evidence = Evidence {
        header: Header {
            claim: plan.claim.clone(),
            scope: plan.scope.clone(),
            ..Header::default()
        },
        profiles: profiles.iter().cloned().map(listed).collect(),
        requests: log.map(|log| log.requests.clone()),
        slice_requests: log.map(|log| log.slice_requests.clone()),
        ..Evidence::default()
    };
    let roles = plan.claim.roles().filter(|role| *role != Role::Consumer);
    roles.flat_map(|role| writers_of(&evidence, role)).collect()
}

fn listed(profile: ClusterProfile) -> ProfileHistory {
    ProfileHistory {
        origin: Origin::Listed,
        versions: vec![Version {
            at: None,
            object: profile,
        }],
        deleted: None,
        deleted_version: None,
    }
}

fn writers_of(evidence: &Evidence, role: Role) -> Vec<Check> {
    const CHECK: &str = "evidence/writers";
    let list = judge::writers(evidence, role);
    let (noun, objects) = (role.noun(), role.objects().noun());
    let mut checks: Vec<Check> = list.lines.iter().map(|line| Check::ok(CHECK, line)).collect();
    if !list.unknown.is_empty() {
        let writers = count(list.unknown.len(), "writer");
        let fact = format!(
            "which of {writers} of {objects}s is the {noun} is unknown: rules on changes stay inconclusive"
        );
        let remedy = format!(
            "pass those that belong to the {noun}: {}",
            list.unknown.join(", ")
        );
        checks.push(Check::warn(CHECK, &fact, &remedy));
    } else if !list.inferred.is_empty() {
        let fact = format!("the only writer of {objects}s counts as the {noun}; other clients stay unknown");
        let remedy = format!("to recognize all other clients, pass {}", list.inferred.join(" "));
        checks.push(Check::missing(CHECK, &fact, &remedy));
    }
    checks
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
    use collect::requests::read_audit_text;
    use serde_json::json;

    use super::*;
    use crate::command::doctor::check::State;

    #[test]
    fn refused_writes_of_the_driver_are_listed_once() {
        let refused = |verb: &str, resource: &str, namespace: &str| Permission {
            verb: verb.to_owned(),
            group: names::GROUP.to_owned(),
            resource: resource.to_owned(),
            namespace: namespace.to_owned(),
            allowed: false,
        };
        let permissions = [
            refused("delete", "clusterprofiles", "one"),
            refused("delete", "clusterprofiles", "two"),
            refused("patch", "clusterprofiles/status", "one"),
            // Only the dry-run probe needs it.
            refused("update", "clusterprofiles", "one"),
        ];
        let check = mutations(true, &permissions);
        let fact = "the runner may not delete clusterprofiles, patch clusterprofiles/status";
        assert_eq!((check.state, &*check.fact), (State::Missing, fact));
        assert_eq!(mutations(true, &[]).state, State::Ok);
        assert_eq!(mutations(false, &[]).state, State::Missing);
    }

    /// A log with one request on a profile for each level.
    fn log(levels: &[&str], verb: &str) -> AuditLog {
        let event = |level: &&str| {
            let event = json!({
                "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": level, "auditID": level,
                "stage": "ResponseComplete", "verb": verb, "stageTimestamp": "2026-11-20T10:00:00Z",
                "objectRef": {"apiGroup": names::GROUP, "resource": names::PLURAL},
            });
            format!("{event}\n")
        };
        let text: String = levels.iter().map(event).collect();
        read_audit_text("log", text.as_bytes()).expect("a log")
    }

    #[test]
    fn an_audit_policy_below_request_response_is_a_warning() {
        for (levels, verb, state) in [
            (&["RequestResponse"][..], "patch", State::Ok),
            (&["RequestResponse"], "list", State::Ok),
            (&["Metadata", "RequestResponse"], "patch", State::Warn),
            (&["Request"], "patch", State::Warn),
        ] {
            assert_eq!(logged_writes(&log(levels, verb)).state, state, "{levels:?}");
        }
        let mut silent = log(&["Metadata"], "list");
        silent.silent_on = vec![ObjectKind::ClusterProfile];
        assert_eq!(logged_writes(&silent).state, State::Warn);
    }

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
