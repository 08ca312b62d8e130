//! The profiles in a ClusterSet's namespace.

use super::inventory::{is_steady, speaks};
use crate::{
    reasons::NO_PROFILE_IN_CLUSTERSET,
    shared::state::TOO_EARLY,
    subjects::{
        Finding, Findings, Profiles,
        sets::{ClusterSets, claims},
    },
    text::redacted,
};

/// `clustersets/one-set-per-namespace`
///
/// No profile in a ClusterSet's namespace claims another ClusterSet.
///
/// A profile without a claim belongs to the set of its namespace.
pub(in crate::rules) fn one_set_per_namespace(profiles: &Profiles, findings: &mut Findings) {
    let evidence = profiles.evidence();
    findings.not_applicable(NO_PROFILE_IN_CLUSTERSET);
    let sets = ClusterSets::of(evidence);
    for history in profiles.histories() {
        let Some(profile) = history.current() else {
            continue;
        };
        let Some(set) = sets.of_namespace(&profile.metadata.namespace) else {
            continue;
        };
        if !speaks(profile) {
            findings.not_applicable("no profile in a ClusterSet's namespace names its ClusterSet");
            continue;
        }
        let mut others = claims(profile).filter(|(_, other)| *other != set).peekable();
        if others.peek().is_some() && !is_steady(evidence, history) {
            // The profile may be about to move to another namespace.
            findings.cannot_tell_unless_examined(TOO_EARLY);
            continue;
        }
        findings.examine();
        for (path, other) in others {
            findings.report(
                Finding::on(
                    profile,
                    "profile of another ClusterSet is in a ClusterSet's namespace",
                )
                .at(path)
                .expected(format!(
                    "{}, as its namespace {}",
                    redacted(set),
                    redacted(&profile.metadata.namespace)
                ))
                .observed(redacted(other)),
            );
        }
    }
}
