//! Profiles without a version.

use evidence::api::{
    ClusterProfile,
    names::{CONDITION_HEALTHY, CONDITION_JOINED},
};

use super::{PATH, reported_version};
use crate::{
    shared::state::{State, each_state},
    subjects::{Finding, Findings, Profiles},
    text::ABSENT,
};

/// `version/reported`
///
/// The profile of a joined and healthy member reports its Kubernetes version.
///
/// A missing version counts once the member was joined and healthy for longer than the grace period.
pub(in crate::rules) fn reported(profiles: &Profiles, findings: &mut Findings) {
    findings.not_applicable("no profile says that its member is joined and healthy");
    let state = State {
        called_by: &[CONDITION_JOINED, CONDITION_HEALTHY],
        filled_later: true,
        ..State::default()
    };
    each_state(profiles, findings, state, |profile| {
        if !is_well(profile) {
            return None;
        }
        if reported_version(profile).is_some() {
            return Some(Vec::new());
        }
        let missing = Finding::on(profile, "profile of a healthy member has no Kubernetes version")
            .at(PATH)
            .expected("the version that the member's API server reports, such as v1.34.1")
            .observed(ABSENT);
        // What terminates need not be filled any more.
        let is_terminating = profile.metadata.deletion_timestamp.is_some();
        (!is_terminating).then(|| vec![missing.into()])
    });
}

/// Whether the member is joined and its control plane healthy, so that its version is available.
fn is_well(profile: &ClusterProfile) -> bool {
    let is_true = |kind| {
        let condition = profile.condition(kind);
        condition.is_some_and(|condition| &*condition.status == "True")
    };
    is_true(CONDITION_JOINED) && is_true(CONDITION_HEALTHY)
}
