//! Profiles of other managers.

use evidence::{DriverAction, Evidence, api::ClusterProfile};

use crate::{
    shared::answer::{Foreigners, untouched},
    subjects::Findings,
};

/// `lifecycle/foreign-profiles-untouched`
///
/// The manager does not change or delete profiles of other managers.
///
/// It is known by the users and field managers that the user named. A change by anyone else, or by an unknown author, is
/// only a warning: some tools label or annotate all profiles.
pub(in crate::rules) fn foreign_profiles_untouched(evidence: &Evidence, findings: &mut Findings) {
    untouched(
        evidence,
        findings,
        &Foreigners {
            action: DriverAction::PutForeignProfile,
            object: |step| step.profile.as_ref(),
            changed,
            message_changed: "a profile of another manager was changed",
            message_deleted: "a profile of another manager was deleted",
        },
    );
}

fn changed(before: &ClusterProfile, after: &ClusterProfile) -> Option<&'static str> {
    if before.spec != after.spec {
        Some("spec")
    } else if before.metadata.labels != after.metadata.labels {
        Some("metadata.labels")
    } else if before.status != after.status {
        Some("status")
    } else {
        None
    }
}
