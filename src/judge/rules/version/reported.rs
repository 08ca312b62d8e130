//! Profiles without a version.

use evidence::{
    Evidence,
    api::{
        ClusterProfile,
        names::{CONDITION_HEALTHY, CONDITION_JOINED},
    },
};

use super::{PATH, reported_version};
use crate::rules::{
    finding::{Finding, Findings},
    presence::{TOO_EARLY, lasts},
    text::ABSENT,
};

/// `version/reported`
///
/// The profile of a joined and healthy member reports its Kubernetes version.
///
/// A missing version counts once the member was joined and healthy for longer than the grace period.
pub(in crate::rules) fn reported(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable("no profile says that its member is joined and healthy");
    let mut excused = false;
    for history in evidence.histories() {
        let Some(profile) = history.current().filter(|profile| is_well(profile)) else {
            continue;
        };
        if reported_version(profile).is_some() {
            findings.examine();
            continue;
        }
        let conditions = [CONDITION_JOINED, CONDITION_HEALTHY];
        let owes = |earlier: &ClusterProfile| is_well(earlier) && reported_version(earlier).is_none();
        if evidence.is_settled(profile) && lasts(evidence, history, &conditions, owes) {
            findings.examine();
            findings.report(
                Finding::on(profile, "profile of a healthy member has no Kubernetes version")
                    .at(PATH)
                    .expected("the version that the member's API server reports, such as v1.34.1")
                    .observed(ABSENT),
            );
        } else {
            excused = true;
        }
    }
    if excused && findings.examined == 0 {
        findings.cannot_tell(TOO_EARLY);
    }
}

/// Whether the member is joined and its control plane healthy, so that its version is available.
fn is_well(profile: &ClusterProfile) -> bool {
    let is_true = |kind| {
        let condition = profile.condition(kind);
        condition.is_some_and(|condition| &*condition.status == "True")
    };
    is_true(CONDITION_JOINED) && is_true(CONDITION_HEALTHY)
}
