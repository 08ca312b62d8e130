//! Names the flags that help where the libraries say only what is missing.

use std::path::Path;

use collect::{
    CollectError,
    connect::{ConnectError, ConnectFault},
};
use evidence::{LimitError, Limits, ReasonId};
use judge::rules::Rule;

use super::called;

/// What to do about a hub that cannot be reached, to be added to the error.
pub fn unreachable(error: &ConnectError) -> &'static str {
    match error.fault {
        ConnectFault::File | ConnectFault::Empty => "; name another with --kubeconfig",
        ConnectFault::NoContext => "; choose one with --context",
        ConnectFault::NoHub => {
            "; name a kubeconfig with --kubeconfig, or try the suite without a hub of your own: --hub lab"
        }
        ConnectFault::ServiceAccount => ", or name a kubeconfig with --kubeconfig",
        ConnectFault::SlowPlugin => {
            ": log in first with `kubectl auth whoami`, or allow the plugin more time with --request-timeout"
        }
        ConnectFault::UnknownContext | ConnectFault::Context => "",
    }
}

/// What to do about a hub at that address of which nothing can be seen, to be added to the error.
pub fn nothing_seen(error: &CollectError, address: Option<&str>) -> String {
    let is_plain = address.is_some_and(|address| address.starts_with("http://"));
    match error {
        CollectError::Unreachable { slow: false, .. }
        | CollectError::Insecure { .. }
        | CollectError::Failed { .. }
            if is_plain =>
        {
            "; the kubeconfig's server begins with http://, and API servers speak HTTPS: try https://".to_owned()
        }
        CollectError::Unreachable { slow: true, .. } => {
            ", or give a slow hub more time with --request-timeout".to_owned()
        }
        CollectError::Unreachable { slow: false, .. } => ", or choose another with --context".to_owned(),
        CollectError::NotServed { .. } => {
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
        CollectError::NothingInScope { .. } => {
            "; correct --namespace, --cluster-manager or --scheduler (`kubectl get clusterprofiles -A` lists what there is), or \
             add --wait to watch until there is one"
                .to_owned()
        }
        CollectError::NoProfiles => {
            "; let the manager publish one first, or add --wait to watch until there is one".to_owned()
        }
        _ => String::new(),
    }
}

/// What to do about a file that is too large.
const MORE: &str = "; allow more with --max-input SIZE if you trust it";

/// What to do about a file that exceeds a limit, to be added to the error.
pub fn too_large(limit: Option<LimitError>) -> &'static str {
    match limit {
        Some(LimitError::Whole(_)) => MORE,
        // Only a part of what any file may have.
        Some(LimitError::Count(count)) if count < Limits::default().count => MORE,
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

/// The flag that helps against a reason, or the subcommand that prints the role for a permission that is missing: see
/// [`report::Advice`].
pub fn flag(reason: ReasonId, rule: Option<&Rule>) -> String {
    let flag = match reason {
        ReasonId::SingleSnapshot | ReasonId::NoWatch => "`--observe 0s`",
        ReasonId::NoAuditLog => "`--audit-log FILE`",
        ReasonId::NoMembers => "`--members FILE` or `--members from-secrets`",
        ReasonId::NoMemberKubeconfig => "`--members FILE`",
        ReasonId::NoSecretTried => "`--members from-secrets`",
        ReasonId::NoPlugins => "`--provider-file FILE`",
        ReasonId::NoConsumerUsers => "`consumer.user` in the driver file",
        ReasonId::NoDriver => "`--driver FILE`",
        ReasonId::NoMutations => "`--allow-mutations`",
        ReasonId::NoClaim => "`--feature consumer-secrets`",
        ReasonId::NoClusterset => "`--clusterset NAMESPACE=NAME`",
        ReasonId::NoConsumer => "`--consumer NAME`",
        ReasonId::ManagerNotNamed => "`--cluster-manager-user USER`, `--cluster-manager-field-manager NAME`",
        ReasonId::SchedulerNotNamed => "`--scheduler-user USER`, `--scheduler-field-manager NAME`",
        ReasonId::ReadForbidden => "`clusterprofile-conformance rbac` prints the role",
        ReasonId::ProfileWritesForbidden => {
            "`clusterprofile-conformance rbac --allow-mutations` prints the role"
        }
        ReasonId::PlacementDecisionWritesForbidden => {
            "`clusterprofile-conformance rbac --role scheduler --allow-mutations` prints the role"
        }
        ReasonId::MemberForbidden => "`clusterprofile-conformance rbac --members` prints the role",
        ReasonId::FeatureAbsent | ReasonId::FeatureNotClaimed => {
            let feature = rule.and_then(|rule| rule.facts.feature);
            return feature.map_or_else(String::new, |feature| match reason {
                ReasonId::FeatureAbsent => format!(" (`--no-feature {feature}`)"),
                _ => format!(" (`--feature {feature}`)"),
            });
        }
        ReasonId::Deselected
        | ReasonId::NotYetJudged
        | ReasonId::NotRequested
        | ReasonId::NoObject
        | ReasonId::NotApplicable
        | ReasonId::NothingHappened
        | ReasonId::Unknown
        | ReasonId::HubRestored
        | ReasonId::Waived => return String::new(),
    };
    format!(" ({flag})")
}

#[cfg(test)]
mod tests {
    use evidence::api::ObjectKind;

    use super::*;

    #[test]
    fn each_failure_gets_its_advice() {
        let missing_crd = CollectError::NotServed {
            hub: "h".to_owned(),
            kind: ObjectKind::ClusterProfile,
        };
        assert!(nothing_seen(&missing_crd, None).contains("crd | kubectl apply -f -"));
        let advice = |fault| unreachable(&ConnectError::new(fault, ""));
        assert!(advice(ConnectFault::NoHub).contains("--hub lab"));
        assert!(advice(ConnectFault::SlowPlugin).contains("--request-timeout"));
        let served = vec!["v1".to_owned()];
        let refused = |requested| CollectError::VersionNotServed {
            wanted: "v2".to_owned(),
            served: served.clone(),
            requested,
        };
        assert!(nothing_seen(&refused(true), None).contains("choose `--api-version v1`"));
        assert!(nothing_seen(&refused(false), None).contains("try `--api-version v1`"));
    }

    #[test]
    fn each_reason_gets_its_flag() {
        assert_eq!(flag(ReasonId::NoDriver, None), " (`--driver FILE`)");
        let mut rules = judge::rules::all().iter();
        let of_feature = rules.find(|rule| rule.facts.feature.is_some());
        let expected = " (`--feature consumer-secrets`)";
        assert_eq!(flag(ReasonId::FeatureNotClaimed, of_feature), expected);
        assert_eq!(flag(ReasonId::Unknown, of_feature), "");
    }
}
