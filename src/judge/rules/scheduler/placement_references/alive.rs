//! Selected clusters that their profiles report as down.

use evidence::api::{
    ClusterProfile,
    names::{CONDITION_HEALTHY, CONDITION_JOINED},
};

use crate::engine::{Answer, Reference};

/// `placement-references/selected-is-alive`
pub(in crate::rules) fn selected_is_alive(reference: &Reference) -> Answer {
    let Some(profile) = reference.profile else {
        return Answer::NotApplicable;
    };
    let reason = reference.entry.reason.as_deref().unwrap_or_default();
    let Some(condition) = false_condition(profile).filter(|_| reason.trim().is_empty()) else {
        return Answer::Kept;
    };
    let finding = reference.finding("the decision names a cluster that its profile reports as down");
    let observed = format!("{} ({condition} is False)", finding.observed);
    Answer::broken(
        finding
            .expected("clusters that are joined and healthy, or a reason that says otherwise")
            .observed(observed),
    )
}

/// The condition that reports the member as down. `Unknown` does not.
fn false_condition(profile: &ClusterProfile) -> Option<&'static str> {
    let is_false = |kind: &&str| {
        let condition = profile.condition(kind);
        condition.is_some_and(|condition| &*condition.status == "False")
    };
    [CONDITION_JOINED, CONDITION_HEALTHY].into_iter().find(is_false)
}
