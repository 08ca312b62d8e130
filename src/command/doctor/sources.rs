//! Checks of the sources of evidence: members, the driver, the audit log, and the clients that write.

use std::collections::BTreeSet;

use anyhow::anyhow;
use collect::{
    Plan, Reached,
    clock::Clock,
    driver::DriverFile,
    requests::{AuditLog, RequestsError},
};
use evidence::{
    Evidence, Permission, ReasonId,
    api::{ObjectKind, Role, names},
};
use jiff::SignedDuration;
use report::count;

use super::{
    diagnosis::Check,
    evidence::{AUDIT_LOG, DRIVER, MEMBERS},
};
use crate::command::{flags::driver::Driving, terminal::exit::Failure};

/// How many members with missing answers are listed.
const LISTED_MEMBERS: usize = 20;
/// The greatest age of the last event of a log that is still written.
const MAX_LOG_AGE: SignedDuration = SignedDuration::from_mins(10);
const POLICY: &str =
    "log clusterprofiles of the group multicluster.x-k8s.io at level RequestResponse in the audit policy";

/// Checks whether the members answer, and lists those that do not, or not with all that rules need.
pub fn members(plan: &Plan, reached: &[Reached]) -> Vec<Check> {
    let mut checks = Vec::new();
    if plan.members.from_secrets {
        let fact = "a run tries the kubeconfigs of the consumers' Secrets";
        checks.push(Check::ok(MEMBERS, fact));
    }
    if reached.is_empty() {
        return checks;
    }
    let incomplete: Vec<Check> = reached.iter().filter_map(incomplete_member).collect();
    let answering = reached.len() - incomplete.len();
    let all = count(reached.len(), "member");
    let mut fact = format!("{answering} of {all} answer with all that rules need");
    if incomplete.len() > LISTED_MEMBERS {
        fact += &format!("; the first {LISTED_MEMBERS} of the others follow");
    }
    checks.push(match answering {
        0 => Check::warn(MEMBERS, &fact, "fix the members that are listed below"),
        _ => Check::ok(MEMBERS, &fact),
    });
    checks.extend(incomplete.into_iter().take(LISTED_MEMBERS));
    checks
}

fn incomplete_member(reached: &Reached) -> Option<Check> {
    let missing = &reached.look.missing;
    let reasons = missing
        .values()
        .flat_map(|reason| reason.split(": grant ").next());
    let reasons = Vec::from_iter(BTreeSet::from_iter(reasons)).join("; ");
    let (profile, way) = (&reached.profile, &reached.way);
    let fact = format!("{}/{} ({way}): {reasons}", profile.namespace, profile.name);
    let mut ids = missing.values().map(|reason| reason.id);
    let remedy = if ids.any(|id| id == Some(ReasonId::MemberForbidden)) {
        "grant it: `clusterprofile-conformance rbac --members` prints the role for a member"
    } else {
        "check its kubeconfig with `kubectl --kubeconfig FILE --context NAME get --raw /readyz`"
    };
    (!missing.is_empty()).then(|| Check::warn(MEMBERS, &fact, remedy))
}

/// Checks the programs of the driver file, and the permission to write.
pub fn driver(driving: &Driving, permissions: &[Permission]) -> Vec<Check> {
    let mut checks = Vec::new();
    if let Driving::File { file, .. } = driving {
        if file.consumer.is_none() {
            checks.push(Check::ok(DRIVER, &hooks(file)));
        }
        for (action, reason) in file.missing_programs() {
            let error = anyhow!("the driver file's hook {action}: {reason}; install it, or give its path");
            checks.push(Check::error(DRIVER, &Failure::usage(error), ""));
        }
    }
    checks.push(mutations(driving.mutations(), permissions));
    checks
}

/// The hooks of a driver file, and its members.
fn hooks(file: &DriverFile) -> String {
    let hooks: Vec<String> = file.hooks.keys().map(ToString::to_string).collect();
    let members = match file.members.len() {
        _ if file.has_fake_members() => "on fake members".to_owned(),
        0 => "on members that its join hook creates".to_owned(),
        own => format!("on {} of its own", count(own, "member")),
    };
    format!("the driver file has the hooks {}, {members}", hooks.join(", "))
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
    let is_needed = |answer: &&Permission| {
        answer.group == names::GROUP && matches!(&*answer.verb, "create" | "patch" | "delete")
    };
    let refused: BTreeSet<String> = permissions
        .iter()
        .filter(|answer| !answer.allowed)
        .filter(is_needed)
        .map(|answer| format!("{} {}", answer.verb, answer.resource))
        .collect();
    if refused.is_empty() {
        return Check::ok(CHECK, "the driver may write to the hub");
    }
    let refused = Vec::from_iter(refused).join(", ");
    Check::missing(
        CHECK,
        &format!("the runner may not {refused}"),
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
        let fact = "the audit log has no request on ClusterProfiles";
        return Check::warn(AUDIT_LOG, fact, POLICY);
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
pub fn writers(listed: &Evidence, log: Option<&AuditLog>) -> Vec<Check> {
    let evidence = Evidence {
        requests: log.map(|log| log.requests.clone()),
        slice_requests: log.map(|log| log.slice_requests.clone()),
        ..listed.clone()
    };
    let roles = evidence
        .header
        .claim
        .roles()
        .filter(|role| *role != Role::Consumer);
    roles.flat_map(|role| writers_of(&evidence, role)).collect()
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
