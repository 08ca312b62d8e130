//! Names the flags that help where the libraries say only what is missing.

use std::{path::Path, sync::Arc};

use collect::{
    CollectError,
    connect::{ClientError, ConnectError, ContextError, ExecError},
    missing,
};
use evidence::{Asked, Evidence, Kind, LimitError, LoginOutcome};
use judge::{Judgement, reasons};

use super::called::called;

/// What to do about a hub that cannot be reached, to be added to the error.
pub fn unreachable(error: &ConnectError) -> &'static str {
    match error {
        ConnectError::Unreadable { .. } => "; name another with --kubeconfig",
        ConnectError::NoContext { .. } => "; choose one with --context",
        ConnectError::Nowhere { .. } => {
            "; name a kubeconfig with --kubeconfig, or try the suite without a hub of your own: --hub lab"
        }
        ConnectError::InCluster { .. } => ", or name a kubeconfig with --kubeconfig",
        ConnectError::Unusable {
            source: ContextError::Client(ClientError::Exec(ExecError::Late { .. })),
            ..
        } => {
            ": log in first with `kubectl auth whoami`, or allow the plugin more time with --request-timeout"
        }
        _ => "",
    }
}

/// What to do about a hub of which nothing can be seen, to be added to the error.
pub fn nothing_seen(error: &CollectError) -> String {
    match error {
        CollectError::Unreachable { slow: true, .. } => {
            ", or give a slow hub more time with --request-timeout".to_owned()
        }
        CollectError::Unreachable { slow: false, .. } => ", or choose another with --context".to_owned(),
        CollectError::CrdMissing { .. } | CollectError::PlacementsMissing { .. } => {
            let called = called();
            format!("; if it is not installed yet, install the CRD: `{called} crd | kubectl apply -f -`")
        }
        CollectError::VersionNotServed {
            served, requested, ..
        } => {
            let first = served.first().map(String::as_str).unwrap_or_default();
            if *requested {
                format!("; choose `--api-version {first}`, or leave the flag out")
            } else {
                format!("; use a newer suite, or try `--api-version {first}`")
            }
        }
        CollectError::Undivided { .. } => {
            "; name the namespaces with --namespace, or apply the role that `clusterprofile-conformance rbac` prints".to_owned()
        }
        _ => String::new(),
    }
}

/// What to do about a file that exceeds a limit, to be added to the error.
pub fn too_large(limit: Option<LimitError>) -> &'static str {
    match limit {
        Some(LimitError::Whole(_)) => "; allow more with --max-input SIZE if you trust it",
        _ => "",
    }
}

/// Warns that not everything was undone.
pub fn left_over(journal: &Path) -> String {
    format!(
        "the run could not undo everything: fix what is in the way, then run with `--clean`, which goes by {}",
        journal.display()
    )
}

/// Adds to the reasons in the evidence how to ask for what was not asked for, and which role grants what was forbidden.
pub fn add_flags(evidence: &mut Evidence) {
    for asked in evidence.header.asked.values_mut() {
        if let Asked::No(reason) = asked {
            add_flag(reason);
            add_role(reason, "rbac");
        }
    }
    if let Some(driver) = &mut evidence.driver {
        for (action, reason) in &mut driver.lacking {
            add_flag(reason);
            let role = if action.is_on_placements() {
                "rbac --api placement --allow-mutations"
            } else {
                "rbac --allow-mutations"
            };
            add_role(reason, role);
        }
    }
    for gap in &mut evidence.gaps {
        add_role(&mut gap.reason, "rbac");
    }
    for member in &mut evidence.members {
        let looks = member.looks.iter_mut();
        for look in looks.filter(|look| !look.missing.is_empty()) {
            let reasons = Arc::make_mut(&mut look.missing).values_mut();
            reasons.for_each(|reason| add_role(reason, "rbac"));
        }
        member.share();
    }
    for login in &mut evidence.logins {
        if let LoginOutcome::Unanswered { reason } = &mut login.outcome {
            add_role(reason, "rbac");
        }
    }
}

/// Does the same for a dump, which is read anew each time and so has no flag in its reason yet.
pub fn add_flag_to_dump(evidence: &mut Evidence) {
    let requests = evidence.header.asked.get_mut(&Kind::Requests);
    if let Some(Asked::No(reason)) = requests
        && reason == missing::NO_AUDIT_LOG
    {
        reason.push_str(": add --audit-log FILE");
    }
}

/// Adds to the reasons for no verdict, and to notes on missing evidence, how to get one. Not for a submitted report: its
/// reasons are compared with those that its evidence gives again.
pub fn add_flags_to_verdicts(judgement: &mut Judgement) {
    let verdicts = judgement.verdicts.iter_mut();
    for text in verdicts.flat_map(|verdict| verdict.reason.iter_mut().chain(&mut verdict.notes)) {
        if let Some(hint) = hint(text) {
            text.push_str(&hint);
        }
    }
}

fn hint(reason: &str) -> Option<String> {
    if let Some(feature) = reason.strip_prefix(reasons::DECLARED_ABSENT) {
        return Some(format!(" (`--no-feature {feature}`)"));
    }
    if let Some((_, feature)) = reason.split_once(reasons::NOT_CLAIMED) {
        return Some(format!(" (`--feature {feature}`)"));
    }
    if reason.starts_with(reasons::PART_OF_FLEET) {
        return Some(": merge the evidence of all with `report merge`".to_owned());
    }
    let hint = match reason {
        _ if reason.ends_with(reasons::MANAGER_NOT_NAMED) => {
            " (`--cluster-manager-user USER`, `--cluster-manager-field-manager NAME`)"
        }
        _ if reason.ends_with(reasons::SCHEDULER_NOT_NAMED) => {
            " (`--scheduler-user USER`, `--scheduler-field-manager NAME`)"
        }
        reasons::NO_MEMBER_ASKED => ": add `--members FILE`",
        reasons::NO_SECRET_TRIED => ": add `--members from-secrets`",
        reasons::NO_CLUSTERSET | reasons::NO_PROFILE_IN_CLUSTERSET => " (`--clusterset NAMESPACE=NAME`)",
        reasons::NO_CONSUMER => " (`--consumer NAME`)",
        _ => return None,
    };
    Some(hint.to_owned())
}

fn add_flag(reason: &mut String) {
    let flag = match reason.as_str() {
        missing::ONE_LOOK => " (`--observe 0s`)",
        missing::NO_AUDIT_LOG => " (`--audit-log FILE`)",
        missing::NO_MEMBERS => ": give ways to them with `--members FILE` or `--members from-secrets`",
        missing::NO_PLUGINS => " (`--provider-file FILE`)",
        missing::NO_CONSUMER_USERS => " (`--consumer-user USER`)",
        missing::NO_WORKLOADS => " (`--workload GROUP/VERSION/RESOURCE`)",
        missing::NO_DRIVER => " (`--driver FILE`)",
        missing::NO_WATCH => " (`--observe 0s`)",
        missing::NO_CLAIM => " (`--feature consumer-secrets`)",
        missing::NO_MUTATIONS => ": add `--allow-mutations`",
        _ => return,
    };
    reason.push_str(flag);
}

/// Names the subcommand that prints the role for a permission that is missing: `on_hub` where the hub refused.
fn add_role(reason: &mut String, on_hub: &str) {
    let subcommand = if reason.contains(missing::MEMBER_FORBIDS) {
        "rbac --members"
    } else if reason.contains(missing::FORBIDDEN) {
        on_hub
    } else {
        return;
    };
    let advice = format!(" (`clusterprofile-conformance {subcommand}` prints the role)");
    if !reason.ends_with(&advice) {
        reason.push_str(&advice);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_reason_gets_its_flag_once() {
        let mut reason = missing::NO_DRIVER.to_owned();
        add_flag(&mut reason);
        add_flag(&mut reason);
        assert_eq!(reason, "no driver was given (`--driver FILE`)");
        for (mut reason, told) in [
            (
                missing::NO_DRY_RUN.to_owned(),
                "`clusterprofile-conformance rbac` prints the role)",
            ),
            (
                format!("{}list on nodes on the member", missing::MEMBER_FORBIDS),
                "`clusterprofile-conformance rbac --members` prints the role)",
            ),
        ] {
            add_role(&mut reason, "rbac");
            add_role(&mut reason, "rbac");
            assert!(
                reason.ends_with(told) && reason.matches("prints").count() == 1,
                "{reason}"
            );
        }
        let missing_crd = CollectError::CrdMissing { hub: "h".to_owned() };
        assert!(nothing_seen(&missing_crd).contains("crd | kubectl apply -f -"));
        assert!(unreachable(&ConnectError::Nowhere { looked: Vec::new() }).contains("--hub lab"));
        let hangs = ExecError::Late {
            command: "kubelogin".to_owned(),
            limit: Duration::from_secs(60),
        };
        let hangs = ConnectError::Unusable {
            context: "c".to_owned(),
            place: "p".to_owned(),
            source: ContextError::Client(ClientError::Exec(hangs)),
        };
        assert!(unreachable(&hangs).contains("--request-timeout"));
        assert_eq!(
            hint(&format!(
                "edition 2026-07 {}consumer-secrets",
                reasons::NOT_CLAIMED
            ))
            .as_deref(),
            Some(" (`--feature consumer-secrets`)")
        );
        assert_eq!(
            hint(&format!("a hint only: {}", reasons::SCHEDULER_NOT_NAMED)).as_deref(),
            Some(" (`--scheduler-user USER`, `--scheduler-field-manager NAME`)")
        );
        let served = vec!["v1".to_owned()];
        let refused = |requested| CollectError::VersionNotServed {
            wanted: "v2".to_owned(),
            served: served.clone(),
            requested,
        };
        assert!(nothing_seen(&refused(true)).contains("choose `--api-version v1`"));
        assert!(nothing_seen(&refused(false)).contains("try `--api-version v1`"));
    }
}
