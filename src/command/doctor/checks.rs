//! Checks of what a run uses: the hub, its profiles, the members, the driver, the audit log, and the clients that write.

use std::collections::BTreeSet;

use collect::{
    CollectError, Listed, Plan, Reached, Survey,
    clock::Clock,
    connect::Connection,
    requests::{AuditLog, RequestsError},
};
use evidence::{
    Evidence, Header, Permission, ReasonId,
    api::{ObjectKind, Role, names},
    redact::without_credentials,
};
use jiff::SignedDuration;
use report::{count, no_status};
use serde_json::json;

use super::{
    diagnosis::{Check, Diagnosis},
    evidence::{AUDIT_LOG, DRIVER, MEMBERS},
};
use crate::command::{flags::driver::Driving, terminal::exit::Failure};

/// The largest skew of the clocks that is not a warning.
const MAX_SKEW: SignedDuration = SignedDuration::from_secs(10);
/// How many cluster managers are listed.
const LISTED_MANAGERS: usize = 5;
/// How many members with missing answers are listed.
const LISTED_MEMBERS: usize = 20;
/// The greatest age of the last event of a log that is still written.
const MAX_LOG_AGE: SignedDuration = SignedDuration::from_mins(10);
pub const ROLE: &str = "grant it: `clusterprofile-conformance rbac` prints the role";
pub const OTHER_HUB: &str = "remove the cause, or choose another hub with --context";
const POLICY: &str =
    "log clusterprofiles of the group multicluster.x-k8s.io at level RequestResponse in the audit policy";

impl Diagnosis {
    /// Checks what the survey of a hub shows. Returns what a run would request, with the profiles of its first list;
    /// `None` if it could not begin.
    pub fn add_hub(&mut self, hub: &Connection, surveyed: Result<Survey, CollectError>) -> Option<Evidence> {
        let server = hub
            .access()
            .map(|access| without_credentials(&access.server).into_owned());
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
        let requested = survey.evidence;
        let header = &requested.header;
        self.hub["serverVersion"] = json!(header.hub.server_version);
        self.hub["user"] = json!(survey.user);
        self.hub["apiVersion"] = json!(header.hub.api_version);
        let address = server.map_or_else(String::new, |server| format!(" at {server}"));
        let version = header
            .hub
            .server_version
            .as_deref()
            .unwrap_or("of unknown version");
        let user = survey
            .user
            .map_or_else(String::new, |user| format!("; it knows the runner as {user}"));
        let answers = format!("{}{address} answers, Kubernetes {version}{user}", hub.source);
        self.checks.push(Check::ok("hub/reached", &answers));
        self.checks.push(api(header));
        let skew = SignedDuration::from_millis(header.clock_skew_ms.unwrap_or_default()).abs();
        if skew > MAX_SKEW {
            let fact = format!("the clocks of hub and runner differ by {} s", skew.as_secs());
            self.checks
                .push(Check::warn("hub/clock", &fact, "synchronize both clocks (NTP)"));
        }
        match survey.listed {
            Ok(listed) => {
                self.hub["profiles"] = json!(requested.profiles.len());
                // The run publishes the profiles of a consumer.
                let is_consumer = header.claim.edition_of(Role::Consumer).is_some();
                if !is_consumer || !requested.profiles.is_empty() {
                    self.checks.push(profiles(listed, &requested));
                }
            }
            Err(error) => {
                let remedy = match error {
                    CollectError::Forbidden { .. } => ROLE,
                    _ => OTHER_HUB,
                };
                self.add_failure("hub/profiles", &Failure::no_evidence(error, hub), remedy);
            }
        }
        if let Some(cause) = no_status(&requested) {
            let remedy = "let the manager write the status: most rules need it";
            self.checks.push(Check::warn("hub/profiles", &cause, remedy));
        }
        Some(requested)
    }
}

fn api(header: &Header) -> Check {
    let version = header.hub.api_version.as_deref().unwrap_or_default();
    let served = Vec::from_iter(header.hub.served.iter().map(|version| &*version.name)).join(", ");
    if served.is_empty() {
        let fact = format!("a run reads the profiles in {version}; it may not read their CRD");
        return Check::missing("hub/api", &fact, ROLE);
    }
    Check::ok(
        "hub/api",
        &format!("the CRD serves {served}; a run reads {version}"),
    )
}

/// Counts the profiles by what a run makes of them.
fn profiles(listed: Listed, requested: &Evidence) -> Check {
    let profiles = requested.profiles.iter().map(|history| history.last());
    let managers = BTreeSet::from_iter(profiles.map(|profile| without_credentials(profile.manager())));
    let mut names = Vec::from_iter(managers.iter().take(LISTED_MANAGERS).map(|name| &**name)).join(", ");
    if managers.len() > LISTED_MANAGERS {
        names += ", …";
    }
    let number = count(requested.profiles.len(), "profile");
    let mut fact = format!("{number} of {}: {names}", count(managers.len(), "manager"));
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
    } else if requested.profiles.is_empty() {
        "let the manager publish a profile, or check --cluster-manager and --namespace"
    } else if listed.unreadable > 0 {
        "a run lists each with the reason; no rule examines it"
    } else {
        return Check::ok("hub/profiles", &fact);
    };
    Check::warn("hub/profiles", &fact, remedy)
}

/// Checks whether the members answer, and lists those that do not, or not with all that rules need.
pub fn members(plan: &Plan, reached: &[Reached]) -> Vec<Check> {
    let mut checks = Vec::new();
    if plan.members.from_secrets {
        let fact = "a run tries the kubeconfigs of the consumers' Secrets";
        checks.push(Check::ok(MEMBERS, fact));
    }
    let incomplete = Vec::from_iter(reached.iter().filter(|member| !member.look.missing.is_empty()));
    let answering = reached.len() - incomplete.len();
    let fact = format!(
        "{answering} of {} answer with all that rules need",
        count(reached.len(), "member")
    );
    if answering > 0 {
        checks.push(Check::ok(MEMBERS, &fact));
    } else if !reached.is_empty() {
        let remedy = format!("fix the members that are listed below (at most {LISTED_MEMBERS})");
        checks.push(Check::warn(MEMBERS, &fact, &remedy));
    }
    checks.extend(incomplete.into_iter().take(LISTED_MEMBERS).map(incomplete_member));
    checks
}

fn incomplete_member(Reached { profile, way, look }: &Reached) -> Check {
    let reasons = look.missing.values();
    let reasons = BTreeSet::from_iter(reasons.clone().flat_map(|reason| reason.split(": grant ").next()));
    let reasons = Vec::from_iter(reasons).join("; ");
    let fact = format!("{}/{} ({way}): {reasons}", profile.namespace, profile.name);
    let forbidden = Some(ReasonId::MemberForbidden);
    let remedy = if look.missing.values().any(|reason| reason.id == forbidden) {
        "grant it: `clusterprofile-conformance rbac --members` prints the role for a member"
    } else {
        "check its kubeconfig with `kubectl --kubeconfig FILE --context NAME get --raw /readyz`"
    };
    Check::warn(MEMBERS, &fact, remedy)
}

/// Checks the programs of the driver file, and the permission to write.
pub fn driver(driving: &Driving, permissions: &[Permission]) -> Vec<Check> {
    let mut checks = vec![mutations(driving.mutations(), permissions)];
    if let Driving::File { file, .. } = driving {
        for (action, reason) in file.missing_programs() {
            let fact = format!("the driver file's hook {action}: {reason}");
            checks.push(Check::warn(DRIVER, &fact, "install it, or give its path"));
        }
    }
    checks
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
    // Only the dry-run probe needs `update`.
    let is_refused = |answer: &&Permission| {
        !answer.allowed
            && answer.group == names::GROUP
            && ["create", "patch", "delete"].contains(&&*answer.verb)
    };
    let refused = permissions.iter().filter(is_refused);
    let refused = BTreeSet::from_iter(refused.map(|answer| format!("{} {}", answer.verb, answer.resource)));
    if refused.is_empty() {
        return Check::ok(CHECK, "the driver may write to the hub");
    }
    let fact = format!("the runner may not {}", Vec::from_iter(refused).join(", "));
    let remedy = "grant it: `clusterprofile-conformance rbac --allow-mutations` prints the role";
    Check::missing(CHECK, &fact, remedy)
}

/// Checks an audit log that the user named. A run goes on without a log that it cannot use.
pub fn audit_log(log: &Result<AuditLog, RequestsError>) -> Vec<Check> {
    let log = match log {
        Ok(log) => log,
        Err(error) => {
            let remedy = "pass a log that the API server writes, with a policy above level None";
            return vec![Check::warn(AUDIT_LOG, &error.to_string(), remedy)];
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
    let levels = Vec::from_iter(log.levels.iter().map(String::as_str)).join(" and ");
    match &*levels {
        _ if log.silent_on.contains(&ObjectKind::ClusterProfile) => Check::warn(
            AUDIT_LOG,
            "the audit log has no request on ClusterProfiles",
            POLICY,
        ),
        "" => Check::ok(AUDIT_LOG, "the audit log has no write on ClusterProfiles yet"),
        "RequestResponse" => Check::ok(AUDIT_LOG, "the audit log has writes at level RequestResponse"),
        _ => {
            let fact =
                format!("the audit log has writes at level {levels}: it does not show what each changed");
            Check::warn(AUDIT_LOG, &fact, POLICY)
        }
    }
}

/// Lists the clients that write the judged objects, and the flags that name the implementation.
pub fn writers(mut evidence: Evidence, log: Option<AuditLog>) -> Vec<Check> {
    if let Some(log) = log {
        evidence.requests = Some(log.requests);
        evidence.slice_requests = Some(log.slice_requests);
    }
    let roles = evidence.header.claim.roles();
    let roles = roles.filter(|role| *role != Role::Consumer);
    roles.flat_map(|role| writers_of(&evidence, role)).collect()
}

fn writers_of(evidence: &Evidence, role: Role) -> Vec<Check> {
    const CHECK: &str = "evidence/writers";
    let list = judge::writers(evidence, role);
    let (noun, objects) = (role.noun(), role.objects().noun());
    let mut checks = Vec::from_iter(list.lines.iter().map(|line| Check::ok(CHECK, line)));
    if !list.unknown.is_empty() {
        let writers = count(list.unknown.len(), "writer");
        let fact = format!(
            "which of {writers} of {objects}s is the {noun} is unknown: rules on changes stay inconclusive"
        );
        let flags = list.unknown.join(", ");
        let remedy = format!("pass those that belong to the {noun}: {flags}");
        checks.push(Check::warn(CHECK, &fact, &remedy));
    } else if !list.inferred.is_empty() {
        let fact = format!("the only writer of {objects}s counts as the {noun}; other clients stay unknown");
        let remedy = format!("to recognize all other clients, pass {}", list.inferred.join(" "));
        checks.push(Check::missing(CHECK, &fact, &remedy));
    }
    checks
}

#[cfg(test)]
mod tests {
    use collect::requests::read_audit_text;
    use serde_json::json;

    use super::*;
    use crate::command::doctor::diagnosis::State;

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
}
