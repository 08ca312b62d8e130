//! The reported version after an upgrade.

use evidence::{DriverAction, Evidence, Scenario, api::ClusterProfile};

use crate::{
    shared::answer::{Shortfall, did, executed},
    subjects::Findings,
    text::{redacted, redacted_or_absent},
};

/// `version/follows-upgrade`
///
/// After an upgrade of a member, its profile reports the new version in time.
pub(in crate::rules) fn follows_upgrade(evidence: &Evidence, findings: &mut Findings) {
    for upgraded in executed(evidence, findings, Scenario::Upgrade, DriverAction::Upgrade) {
        let change = upgraded.step.change.as_ref();
        let wanted = change.and_then(|change| change.after.as_deref());
        let wanted = wanted.filter(|wanted| !wanted.is_empty());
        let before = version(upgraded.before());
        if is_followed(before, wanted, before) {
            findings.cannot_tell(format!(
                "{} had that version before {}",
                upgraded.profile,
                did(upgraded.step)
            ));
            continue;
        }
        upgraded.judge(
            evidence,
            findings,
            |profile| is_followed(before, wanted, version(profile)),
            |profile| Shortfall {
                message: "the version does not follow the member's upgrade",
                path: "status.version.kubernetes".to_owned(),
                expected: wanted.map_or("another version".to_owned(), redacted),
                observed: redacted_or_absent(version(profile)),
            },
        );
    }
}

fn version(profile: Option<&ClusterProfile>) -> Option<&str> {
    profile?.status.version.kubernetes.as_deref()
}

/// Whether a version is the wanted one or, if that is unknown, differs from the earlier one.
fn is_followed(before: Option<&str>, wanted: Option<&str>, version: Option<&str>) -> bool {
    match (wanted, version) {
        (_, None) => false,
        (Some(wanted), Some(version)) => is_of(bare(wanted), bare(version)),
        (None, version) => version != before,
    }
}

/// Whether a version is the wanted one, a vendor's build of it, or its latest patch.
fn is_of(wanted: &str, version: &str) -> bool {
    version
        .strip_prefix(wanted)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-', '+']))
}

fn bare(version: &str) -> &str {
    version.strip_prefix('v').unwrap_or(version)
}
