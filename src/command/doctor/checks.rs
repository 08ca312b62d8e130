//! Checks of what a run uses: the hub, its profiles, the members, the driver, the audit log, and the clients that write.

use std::collections::BTreeSet;

use anyhow::anyhow;
use collect::{
    CollectError, ListSummary, Members, Survey, clock::Clock, connect::Connection, driver::DriverFile,
    requests::AuditLog,
};
use evidence::{
    Evidence, Gap, Header, Kind, Member, MemberPart, Permission, Reason, ReasonId,
    api::{Role, names},
    redact::without_credentials,
};
use jiff::SignedDuration;
use report::{count, no_status};
use serde_json::json;

use super::{
    Diagnosis,
    evidence::{AUDIT_LOG, DRIVER, MEMBERS},
    split_remedy,
};
use crate::command::{Driving, Failure};

/// How many cluster managers are listed.
const LISTED_MANAGERS: usize = 5;
/// How many members with missing answers are listed.
const LISTED_MEMBERS: usize = 20;
/// The greatest age of the last event of a log that is still written.
const MAX_LOG_AGE: SignedDuration = SignedDuration::from_mins(10);
pub const ROLE: &str = "grant it: `clusterprofile-conformance rbac` prints the role";
pub const OTHER_HUB: &str = "remove the cause, or choose another hub with --context";
const MUTATIONS: &str = "evidence/mutations";
const WRITERS: &str = "evidence/writers";

impl Diagnosis {
    /// Checks what the survey of a hub shows. Returns what a run would request, with the profiles of its first list;
    /// `None` if it could not begin.
    pub fn add_hub(&mut self, hub: &Connection, surveyed: Result<Survey, CollectError>) -> Option<Evidence> {
        let server = hub.access().map(|access| without_credentials(&access.server));
        self.hub = json!({"source": hub.source, "server": server});
        let survey = match surveyed {
            Ok(survey) => survey,
            Err(error) => {
                let check = match &error {
                    CollectError::Unauthorized { .. } => "hub/user",
                    CollectError::NotServed { .. } | CollectError::VersionNotServed { .. } => "hub/api",
                    _ => "hub/reached",
                };
                self.add_failure(check, &Failure::no_evidence(error, hub), OTHER_HUB);
                return None;
            }
        };
        let header = &survey.evidence.header;
        self.hub["serverVersion"] = json!(header.hub.server_version);
        self.hub["user"] = json!(survey.user);
        self.hub["apiVersion"] = json!(header.hub.api_version);
        let server = server.map_or_else(String::new, |server| format!(" at {server}"));
        let version = header.hub.server_version.as_deref();
        let version = version.unwrap_or("of unknown version");
        let mut answers = format!("{}{server} answers, Kubernetes {version}", hub.source);
        if let Some(user) = survey.user {
            answers += &format!("; it knows the runner as {user}");
        }
        self.ok("hub/reached", &answers);
        self.add_api(header);
        match survey.listed {
            Ok(listed) => self.add_profiles(listed, &survey.evidence),
            Err(error) => {
                let is_forbidden = matches!(error, CollectError::Forbidden { .. });
                let remedy = if is_forbidden { ROLE } else { OTHER_HUB };
                self.add_failure("hub/profiles", &Failure::no_evidence(error, hub), remedy);
            }
        }
        Some(survey.evidence)
    }

    fn add_api(&mut self, header: &Header) {
        let version = header.hub.api_version.as_deref().unwrap_or_default();
        let served = Vec::from_iter(header.hub.served.iter().map(|version| &*version.name)).join(", ");
        if served.is_empty() {
            let fact = format!("a run reads the profiles in {version}; it may not read their CRD");
            self.missing("hub/api", &fact, ROLE);
        } else {
            let fact = format!("the CRD serves {served}; a run reads {version}");
            self.ok("hub/api", &fact);
        }
    }

    /// Counts the profiles by what a run makes of them. The run itself publishes the profiles of a consumer.
    fn add_profiles(&mut self, listed: ListSummary, requested: &Evidence) {
        let number = requested.profiles.len();
        self.hub["profiles"] = json!(number);
        if number == 0 && requested.header.claim.edition_of(Role::Consumer).is_some() {
            return;
        }
        let profiles = requested.profiles.iter().map(|history| history.last());
        let managers = BTreeSet::from_iter(profiles.map(|profile| without_credentials(profile.manager())));
        let mut fact = count(number, "profile");
        if number > 0 {
            let names = Vec::from_iter(managers.iter().take(LISTED_MANAGERS).map(|name| &**name));
            fact += &format!(" of {}: {}", count(managers.len(), "manager"), names.join(", "));
        }
        if listed.left_out > 0 {
            let left_out = count(listed.left_out, "profile");
            fact += &format!("; {left_out} of other managers or runs left out");
        }
        if listed.unreadable > 0 {
            fact += &format!("; {} cannot be read", count(listed.unreadable, "profile"));
        }
        let remedy = if !listed.is_whole {
            fact += "; the hub did not list all of them in time";
            "give a slow hub more time with --request-timeout"
        } else if number == 0 {
            "let the manager publish a profile, or check --cluster-manager and --namespace"
        } else if let Some(cause) = no_status(requested) {
            fact += &format!("; {cause}");
            "let the manager write the status: most rules need it"
        } else if listed.unreadable > 0 {
            "a run lists each with the reason; no rule examines it"
        } else {
            return self.ok("hub/profiles", &fact);
        };
        self.warn("hub/profiles", &fact, remedy);
    }

    /// Lists the members that do not answer, or not with all that rules need. Returns a gap if none answers, and the run
    /// has no other way to a member.
    pub fn add_members(&mut self, members: &Members, reached: &[Member]) -> Option<Gap> {
        let is_incomplete = |member: &&Member| member.samples.iter().any(|sample| !sample.missing.is_empty());
        let incomplete = Vec::from_iter(reached.iter().filter(is_incomplete));
        let (complete, all) = (reached.len() - incomplete.len(), count(reached.len(), "member"));
        let fact = format!("{complete} of {all} answer with all that rules need");
        let mut samples = reached.iter().flat_map(|member| &member.samples);
        let is_silent = samples.all(|sample| sample.missing.len() == MemberPart::ALL.len());
        let is_gap = is_silent && !members.from_secrets && members.plugins.is_none();
        if complete > 0 {
            self.ok(MEMBERS, &fact);
        } else if reached.is_empty() {
            return None;
        } else if !is_gap {
            self.warn(MEMBERS, &fact, "fix the members that are listed below");
        }
        for member in incomplete.iter().take(LISTED_MEMBERS) {
            self.add_incomplete(member);
        }
        let remedy = format!("fix those that are listed above (at most {LISTED_MEMBERS})");
        let reason = format!("0 of {all} answer; {remedy}");
        is_gap.then(|| Gap::of(Kind::Members, reason))
    }

    fn add_incomplete(&mut self, member: &Member) {
        let (profile, access) = (&member.profile, &member.access);
        let reasons = member.samples.iter().flat_map(|sample| sample.missing.values());
        let is_forbidden = |reason: &Reason| reason.id == Some(ReasonId::MemberForbidden);
        let remedy = if reasons.clone().any(is_forbidden) {
            "grant it: `clusterprofile-conformance rbac --members` prints the role for a member"
        } else {
            "check its kubeconfig with `kubectl --kubeconfig FILE --context NAME get --raw /readyz`"
        };
        let reasons = BTreeSet::from_iter(reasons.map(|reason| split_remedy(reason).0));
        let reasons = Vec::from_iter(reasons).join("; ");
        let fact = format!("{}/{} ({access}): {reasons}", profile.namespace, profile.name);
        self.warn(MEMBERS, &fact, remedy);
    }

    /// Checks the programs of the driver file.
    pub fn add_programs(&mut self, driving: &Driving) {
        let programs = driving.file.as_ref().map(DriverFile::missing_programs);
        for (action, reason) in programs.unwrap_or_default() {
            let error = anyhow!("the driver file's hook {action}: {reason}");
            self.add_failure(DRIVER, &Failure::usage(error), "install it, or give its path");
        }
    }

    /// Checks whether the flags and the hub allow the driver to write.
    pub fn add_mutations(&mut self, allowed: bool, permissions: &[Permission]) {
        // Only the dry-run probe needs `update`.
        let verbs = ["create", "patch", "delete"];
        let is_refused = |answer: &&Permission| {
            !answer.allowed && answer.group == names::GROUP && verbs.contains(&&*answer.verb)
        };
        let refused = permissions.iter().filter(is_refused);
        let refused =
            BTreeSet::from_iter(refused.map(|answer| format!("{} {}", answer.verb, answer.resource)));
        if !allowed {
            let fact = "the driver may not write to the hub, so scenarios that change objects are left out";
            let remedy = "add --allow-mutations; a run writes only to objects that it created";
            self.missing(MUTATIONS, fact, remedy);
        } else if refused.is_empty() {
            self.ok(MUTATIONS, "the driver may write to the hub");
        } else {
            let fact = format!("the runner may not {}", Vec::from_iter(refused).join(", "));
            let remedy = "grant it: `clusterprofile-conformance rbac --allow-mutations` prints the role";
            self.missing(MUTATIONS, &fact, remedy);
        }
    }

    /// Checks what the audit log shows of writes on profiles, and whether it is still written.
    pub fn add_audit_log(&mut self, log: &AuditLog) {
        let levels = Vec::from_iter(log.levels.iter().map(String::as_str)).join(" and ");
        let fact = format!("the audit log has writes at level {levels}");
        match &*levels {
            "" => {}
            "RequestResponse" => self.ok(AUDIT_LOG, &fact),
            _ => {
                let fact = format!("{fact}: it does not show what each changed");
                let remedy = "log clusterprofiles of the group multicluster.x-k8s.io at level RequestResponse in the audit policy";
                self.warn(AUDIT_LOG, &fact, remedy);
            }
        }
        let age = Clock::system().now().duration_since(log.requests.covers.until);
        if age > MAX_LOG_AGE {
            let fact = format!("the audit log's last event is {} min old", age.as_mins());
            let remedy =
                "pass the log that the API server writes now: a run needs the events of its own time";
            self.warn(AUDIT_LOG, &fact, remedy);
        }
    }

    /// Lists the clients that write the judged objects, and the flags that name the implementation.
    pub fn add_writers(&mut self, requested: &Evidence) {
        let roles = requested.header.claim.roles();
        for role in roles.filter(|role| *role != Role::Consumer) {
            let (noun, objects) = (role.noun(), role.objects().noun());
            let list = judge::writers(requested, role);
            for line in &list.lines {
                self.ok(WRITERS, line);
            }
            if !list.unknown.is_empty() {
                let writers = count(list.unknown.len(), "writer");
                let fact = format!(
                    "which of {writers} of {objects}s is the {noun} is unknown: rules on changes stay inconclusive"
                );
                let flags = list.unknown.join(", ");
                let remedy = format!("pass those that belong to the {noun}: {flags}");
                self.warn(WRITERS, &fact, &remedy);
            } else if !list.inferred.is_empty() {
                let fact =
                    format!("the only writer of {objects}s counts as the {noun}; other clients stay unknown");
                let flags = list.inferred.join(" ");
                let remedy = format!("to recognize all other clients, pass {flags}");
                self.missing(WRITERS, &fact, &remedy);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use collect::requests::read_audit_text;
    use evidence::api::Edition;
    use serde_json::json;

    use super::*;
    use crate::command::doctor::CheckState;

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
        let check = |allowed, permissions: &[Permission]| {
            let mut diagnosis = Diagnosis::new(Edition::default(), String::new());
            diagnosis.add_mutations(allowed, permissions);
            diagnosis.checks.remove(0)
        };
        let refused = check(true, &permissions);
        let fact = "the runner may not delete clusterprofiles, patch clusterprofiles/status";
        assert_eq!((refused.state, &*refused.fact), (CheckState::Missing, fact));
        assert_eq!(check(true, &[]).state, CheckState::Ok);
        assert_eq!(check(false, &[]).state, CheckState::Missing);
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

    fn state_of(log: &AuditLog) -> Option<CheckState> {
        let mut diagnosis = Diagnosis::new(Edition::default(), String::new());
        diagnosis.add_audit_log(log);
        let mut checks = diagnosis.checks.into_iter();
        let of_level = checks.find(|check| check.fact.contains("level"))?;
        Some(of_level.state)
    }

    #[test]
    fn an_audit_policy_below_request_response_is_a_warning() {
        for (levels, verb, state) in [
            (&["RequestResponse"][..], "patch", Some(CheckState::Ok)),
            (&["RequestResponse"], "list", None),
            (&["Metadata", "RequestResponse"], "patch", Some(CheckState::Warn)),
            (&["Request"], "patch", Some(CheckState::Warn)),
        ] {
            assert_eq!(state_of(&log(levels, verb)), state, "{levels:?}");
        }
    }
}
