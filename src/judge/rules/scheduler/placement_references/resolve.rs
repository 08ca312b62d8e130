//! References to profiles that do not exist.

use crate::{
    engine::{Answer, Reference},
    time::{Micros, SECOND},
};

/// How long a decision may name a profile that does not exist: 60 s.
pub(in crate::rules) const REFERENCE_GRACE: Micros = 60 * SECOND;

/// `placement-references/resolve`
pub(in crate::rules) fn resolve(reference: &Reference) -> Answer {
    if reference.profile.is_none() && reference.was_there {
        return Answer::NotApplicable;
    }
    Answer::broken_if(reference.profile.is_none(), || {
        reference
            .finding("the decision refers to a ClusterProfile that does not exist")
            .expected("references to ClusterProfiles that exist")
    })
}

/// `placement-references/resolve-across-time`
pub(in crate::rules) fn resolve_across_time(reference: &Reference) -> Answer {
    if reference.profile.is_some() || !reference.was_there {
        return Answer::NotApplicable;
    }
    let finding = reference.finding("the decision keeps a ClusterProfile that was deleted");
    Answer::broken(finding.expected("dropped within 60 s of the deletion"))
}
