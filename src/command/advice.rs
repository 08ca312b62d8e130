//! Names the flags that help where the libraries say only what is missing.

use std::path::Path;

use collect::{CollectError, connect::ConnectError, missing};
use evidence::{Asked, Evidence, Kind};

/// What to do about a hub that cannot be reached, to be added to the error.
pub fn unreachable(error: &ConnectError) -> &'static str {
    match error {
        ConnectError::Unreadable { .. } => "; name another with --kubeconfig",
        ConnectError::NoContext { .. } => "; choose one with --context",
        ConnectError::Nowhere { .. } => {
            "; name a kubeconfig with --kubeconfig, or try the suite without a hub of your own: --hub lab"
        }
        ConnectError::InCluster { .. } => ", or name a kubeconfig with --kubeconfig",
        _ => "",
    }
}

/// What to do about a hub of which nothing can be seen, to be added to the error.
pub fn nothing_seen(error: &CollectError) -> String {
    match error {
        CollectError::Unreachable { .. } => ", or choose another with --context".to_owned(),
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
        _ => String::new(),
    }
}

/// Warns that not everything was undone.
pub fn left_over(journal: &Path) -> String {
    format!(
        "the run could not undo everything: fix what is in the way, then run with `--clean`, which goes by {}",
        journal.display()
    )
}

/// Adds to the reasons in the evidence how to ask for what was not asked for.
pub fn add_flags(evidence: &mut Evidence) {
    for asked in evidence.header.asked.values_mut() {
        if let Asked::No(reason) = asked {
            add_flag(reason);
        }
    }
    if let Some(driver) = &mut evidence.driver {
        driver.lacking.values_mut().for_each(add_flag);
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

fn add_flag(reason: &mut String) {
    let flag = match reason.as_str() {
        missing::ONE_LOOK => " (`--observe 0s`)",
        missing::NO_AUDIT_LOG => " (`--audit-log FILE`)",
        missing::NO_MEMBERS => ": give ways to them with `--members FILE` or `--members from-secrets`",
        missing::NO_PLUGINS => " (`--provider-file FILE`)",
        missing::NO_DRIVER => " (`--driver FILE`)",
        missing::NO_WATCH => " (`--observe 0s`)",
        missing::NO_CLAIM => " (`--feature consumer-secrets`)",
        missing::NO_MUTATIONS => ": add `--allow-mutations`",
        _ => return,
    };
    reason.push_str(flag);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_gets_its_flag_once() {
        let mut reason = missing::NO_DRIVER.to_owned();
        add_flag(&mut reason);
        add_flag(&mut reason);
        assert_eq!(reason, "the implementation was not made to act (`--driver FILE`)");
        assert!(unreachable(&ConnectError::Nowhere { looked: Vec::new() }).contains("--hub lab"));
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
