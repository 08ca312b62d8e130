//! The reported version after an upgrade.

use evidence::api::ClusterProfile;

use crate::{
    engine::{Answer, Shortfall, Step, describe},
    text::{redacted, redacted_or_absent},
};

/// `version/follows-upgrade`
///
/// After an upgrade, the profile reports the version of the action, a vendor's build or a patch of it. If the driver names
/// none, another version than before.
pub(in crate::rules) fn follows_upgrade(step: &Step) -> Answer {
    let change = step.taken.change.as_ref();
    let wanted = change
        .and_then(|change| change.after.as_deref())
        .filter(|wanted| !wanted.is_empty());
    let before = version(step.before());
    if is_followed(before, wanted, before) {
        let action = describe(step.taken);
        return Answer::Unknown(format!("{} had that version before {action}", step.profile).into());
    }
    step.expect(
        |profile| is_followed(before, wanted, version(profile)),
        |profile| Shortfall {
            message: "the version does not follow the member's upgrade",
            path: "status.version.kubernetes".to_owned(),
            expected: wanted.map_or("another version".to_owned(), redacted),
            observed: redacted_or_absent(version(profile)),
        },
    )
}

fn version(profile: Option<&ClusterProfile>) -> Option<&str> {
    profile?.status.version.kubernetes.as_deref()
}

/// Whether a version is the wanted one or, if that is unknown, differs from the earlier one.
fn is_followed(before: Option<&str>, wanted: Option<&str>, version: Option<&str>) -> bool {
    match (wanted, version) {
        (_, None) => false,
        (Some(wanted), Some(version)) => is_build_of(wanted, version),
        (None, version) => version != before,
    }
}

/// Whether a version is the wanted one, a vendor's build of it, or its latest patch.
fn is_build_of(wanted: &str, version: &str) -> bool {
    let bare = |version| str::strip_prefix(version, 'v').unwrap_or(version);
    let rest = bare(version).strip_prefix(bare(wanted));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-', '+']))
}
