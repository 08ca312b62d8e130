//! Which clients write the objects that a run judges, and the flags that name the implementation.

use collect::{
    Plan,
    requests::{AuditSample, RequestsError},
};
use evidence::{
    Evidence, Header, Origin, ProfileHistory, Requests, Version, Window,
    api::{ClusterProfile, Role},
};
use jiff::Timestamp;
use judge::WriterList;
use report::count;

use super::check::Check;

const CHECK: &str = "evidence/writers";

/// Lists the writers by the profiles on the hub and the sample of the audit log.
pub fn of_writers(
    plan: &Plan,
    profiles: Vec<ClusterProfile>,
    sample: &Option<Result<AuditSample, RequestsError>>,
) -> Vec<Check> {
    let sample = sample.as_ref().and_then(|sample| sample.as_ref().ok());
    let log = |events: &[evidence::Request]| Requests {
        covers: Window {
            from: Timestamp::MIN,
            until: Timestamp::MAX,
        },
        events: events.to_vec(),
    };
    let evidence = Evidence {
        header: Header {
            claim: plan.claim.clone(),
            scope: plan.scope.clone(),
            ..Header::default()
        },
        profiles: profiles.into_iter().map(listed).collect(),
        requests: sample.map(|sample| log(&sample.requests)),
        slice_requests: sample.map(|sample| log(&sample.slice_requests)),
        ..Evidence::default()
    };
    let roles = plan.claim.roles().filter(|role| *role != Role::Consumer);
    roles
        .flat_map(|role| checks(role, judge::writers(&evidence, role)))
        .collect()
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

fn checks(role: Role, list: WriterList) -> Vec<Check> {
    let (noun, objects) = (role.noun(), role.objects().noun());
    let mut checks: Vec<Check> = list.lines.iter().map(|line| Check::ok(CHECK, line)).collect();
    if !list.unknown.is_empty() {
        let writers = count(list.unknown.len(), "writer");
        checks.push(Check::warn(
            CHECK,
            &format!(
                "the {noun} is unknown among {writers} of {objects}s: rules on changes stay inconclusive"
            ),
            &format!(
                "pass those that belong to the {noun}: {}",
                list.unknown.join(", ")
            ),
        ));
    } else if !list.inferred.is_empty() {
        checks.push(Check::missing(
            CHECK,
            &format!("the only writer of {objects}s counts as the {noun}; other clients stay unknown"),
            &format!("to recognize all other clients, pass {}", list.inferred.join(" ")),
        ));
    }
    checks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::doctor::check::State;

    #[test]
    fn the_last_check_has_the_flags_to_copy() {
        let last = |inferred: &[&str], unknown: &[&str]| {
            let owned = |flags: &[&str]| flags.iter().map(|flag| (*flag).to_owned()).collect();
            let list = WriterList {
                lines: vec!["user a: create 1".to_owned()],
                inferred: owned(inferred),
                unknown: owned(unknown),
            };
            let last = checks(Role::Manager, list).pop().expect("a check");
            (last.state, last.remedy.unwrap_or_default())
        };
        assert_eq!(last(&[], &[]), (State::Ok, String::new()));
        let (state, remedy) = last(
            &["--cluster-manager-user a", "--cluster-manager-field-manager m"],
            &[],
        );
        assert_eq!(state, State::Missing);
        assert!(
            remedy.ends_with("pass --cluster-manager-user a --cluster-manager-field-manager m"),
            "{remedy}"
        );
        let (state, remedy) = last(&[], &["--cluster-manager-user a", "--cluster-manager-user b"]);
        assert_eq!(state, State::Warn);
        assert!(
            remedy.ends_with(": --cluster-manager-user a, --cluster-manager-user b"),
            "{remedy}"
        );
    }
}
