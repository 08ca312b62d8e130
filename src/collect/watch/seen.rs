//! How what was seen becomes evidence.

use evidence::{Asked, Evidence, Gap, Kind, ProfileHistory, Window, api::PlacementDecision};

use super::{record::Recorded, timeline::gap};

/// Whether managedFields were seen. Without profiles, nothing speaks against it.
pub(crate) fn asked_for_writers(profiles: &[ProfileHistory]) -> Asked {
    let has_writers = |history: &ProfileHistory| history.last().metadata.writers.is_some();
    if profiles.is_empty() || profiles.iter().any(has_writers) {
        Asked::Yes
    } else {
        Asked::No("the hub showed no managedFields".into())
    }
}

/// Puts slices into the evidence, with what is missing where not all were listed.
pub(crate) fn add_slices(
    evidence: &mut Evidence,
    recorded: Recorded<PlacementDecision>,
    unlisted: Option<&str>,
    window: Window,
) {
    evidence.slices = recorded.histories;
    evidence.unreadable.extend(recorded.unreadable);
    evidence.gaps.extend(recorded.gaps);
    let Some(why) = unlisted else {
        return;
    };
    let seen = evidence.slices.len();
    let reason = format!("not all placement decisions were listed, but only {seen}: {why}");
    evidence.gaps.push(Gap::of(Kind::PlacementDecisions, reason));
    if *evidence.asked(Kind::PlacementTimeline) == Asked::Yes {
        let reason = format!("placement decisions were not watched, as their list did not end: {why}");
        evidence
            .gaps
            .push(gap::<PlacementDecision>(window.from, window.until, reason));
    }
}
