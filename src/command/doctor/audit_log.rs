//! Whether the audit log is one, how much it records of profiles, and whether it is still written to.

use std::{path::PathBuf, time::Duration};

use collect::requests::{AuditSample, RequestsError, sample_audit_log};
use evidence::Kind;
use jiff::{SignedDuration, Timestamp};
use report::count;

use super::{
    check::Check,
    kinds::{Gains, Words},
};
use crate::command::terminal::exit::Failure;

/// How long an audit log is read for.
const LIMIT: Duration = Duration::from_secs(5);
/// The oldest last event of a log that is still written to.
const FRESH: SignedDuration = SignedDuration::from_mins(10);
/// What makes an audit log complete.
const POLICY: &str =
    "log clusterprofiles of the group multicluster.x-k8s.io at level RequestResponse in the audit policy";
/// The check.
const CHECK: &str = "evidence/audit-log";

/// Samples the audit logs that the user named, if any, beside other work.
pub async fn sample(logs: &[PathBuf]) -> Option<Result<AuditSample, RequestsError>> {
    if logs.is_empty() {
        return None;
    }
    let logs = logs.to_vec();
    tokio::task::spawn_blocking(move || sample_audit_log(&logs, LIMIT))
        .await
        .ok()
}

/// Checks the audit log. `own`: the hub is the suite's, and has one without being told.
pub fn of_audit_log(
    gains: &mut Gains<'_>,
    own: bool,
    sample: Option<Result<AuditSample, RequestsError>>,
    now: Timestamp,
) -> Vec<Check> {
    let sample = match sample {
        None => {
            let given = if own {
                "the hub's own audit log is read after the run"
            } else {
                ""
            };
            let check = gains.check(
                CHECK,
                &[Kind::Requests],
                "--audit-log FILE",
                Words {
                    subject: "an audit log",
                    given,
                    absent: "no audit log is read",
                    remedy: "name the API server's log with --audit-log, where you can read it",
                },
            );
            return check.into_iter().collect();
        }
        Some(Err(error)) => return vec![audit_error(error)],
        Some(Ok(sample)) => sample,
    };
    let mut checks = vec![records(&sample)];
    if let Some(last) = sample.last.filter(|_| sample.is_whole) {
        let age = now.duration_since(last);
        if age > FRESH {
            checks.push(Check::warn(
                CHECK,
                &format!("the audit log's last event is {} old", told(age)),
                "name the log that the API server writes now: a run needs the events of its own time",
            ));
        }
    }
    checks
}

/// A long time in its largest unit.
fn told(age: SignedDuration) -> String {
    let units = [(86_400, "day"), (3_600, "hour"), (60, "minute")];
    let seconds = usize::try_from(age.as_secs()).unwrap_or_default();
    let (size, unit) = units
        .into_iter()
        .find(|(size, _)| seconds >= 2 * size)
        .unwrap_or((60, "minute"));
    count(seconds / size, unit)
}

fn audit_error(error: RequestsError) -> Check {
    match error {
        RequestsError::Empty { .. } => Check::warn(
            CHECK,
            &error.to_string(),
            "set --audit-log-path and a policy above None at the API server, or name another file",
        ),
        RequestsError::Read { .. } | RequestsError::NoLog { .. } => {
            Check::error(CHECK, &Failure::usage(error))
        }
    }
}

/// What the log records of writes on profiles.
fn records(sample: &AuditSample) -> Check {
    let part = if sample.is_whole {
        ""
    } else {
        ", of which the first part was read"
    };
    let files = format!("{} of audit log{part}", count(sample.files, "file"));
    if !sample.knows_profiles {
        return Check::warn(
            CHECK,
            &format!("{files}, with no request on ClusterProfiles"),
            POLICY,
        );
    }
    let levels: Vec<&str> = sample.writes.keys().map(String::as_str).collect();
    match levels.as_slice() {
        [] => Check::ok(CHECK, &format!("{files}, with no write on ClusterProfiles yet")),
        ["RequestResponse"] => Check::ok(CHECK, &format!("{files}, with writes at level RequestResponse")),
        levels => Check::warn(
            CHECK,
            &format!(
                "{files}, with writes at level {}: it does not show what each changed",
                levels.join(" and ")
            ),
            POLICY,
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::doctor::check::State;

    fn sample(levels: &[&str], knows_profiles: bool) -> AuditSample {
        AuditSample {
            files: 1,
            events: 1,
            knows_profiles,
            writes: levels.iter().map(|level| ((*level).to_owned(), 1)).collect(),
            is_whole: true,
            ..AuditSample::default()
        }
    }

    #[test]
    fn a_policy_that_leaves_out_what_rules_need_is_told() {
        let state = |levels: &[&str], knows| records(&sample(levels, knows)).state;
        assert_eq!(state(&["RequestResponse"], true), State::Ok);
        assert_eq!(state(&[], true), State::Ok);
        assert_eq!(state(&[], false), State::Warn);
        for level in ["Metadata", "Request"] {
            let check = records(&sample(&[level, "RequestResponse"], true));
            assert_eq!(check.state, State::Warn);
            assert!(
                check
                    .fact
                    .contains(&format!("at level {level} and RequestResponse")),
                "{}",
                check.fact
            );
            assert_eq!(check.remedy.as_deref(), Some(POLICY));
        }
    }

    #[test]
    fn an_age_is_told_in_its_largest_unit() {
        let hours = |hours| told(SignedDuration::from_hours(hours));
        assert_eq!(hours(1154), "48 days");
        assert_eq!(hours(47), "47 hours");
        assert_eq!(hours(1), "60 minutes");
    }
}
