//! The display name, which is the consumer's.

use evidence::api::ClusterProfile;

use crate::{
    engine::{Answer, Step, describe},
    subjects::Finding,
    text::redacted_or_absent,
};

/// `identity/display-name-kept`
///
/// After the run set `spec.displayName`, no change by the implementation takes that value away.
pub(in crate::rules) fn display_name_kept(step: &Step) -> Answer {
    let change = step.taken.change.as_ref();
    let Some(wanted) = change.and_then(|change| change.after.as_deref()) else {
        return Answer::Unknown(format!("{} does not record what it changed", describe(step.taken)).into());
    };
    let name = |profile: &ClusterProfile| profile.spec.display_name.clone();
    let is_wanted = |profile: &ClusterProfile| name(profile).as_deref() == Some(wanted);
    step.expect_kept(is_wanted, "spec.displayName", |after| {
        Finding::on(after, "a consumer's display name was overwritten")
            .at("spec.displayName")
            .expected(redacted_or_absent(Some(wanted)))
            .observed(redacted_or_absent(name(after).as_deref()))
    })
}
