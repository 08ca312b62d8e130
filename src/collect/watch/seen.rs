//! Turns records into evidence.

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

/// Adds what the watches have brought to the evidence; slices with the reason why not all of them were listed.
pub(crate) fn add_watched(
    evidence: &mut Evidence,
    profiles: Recorded,
    slices: Option<(Recorded<PlacementDecision>, Option<&str>)>,
    window: Window,
) {
    evidence.header.window = Some(window);
    let writers = asked_for_writers(&profiles.histories);
    evidence.header.asked.insert(Kind::Writers, writers);
    evidence.profiles = profiles.histories;
    evidence.unreadable.extend(profiles.unreadable);
    evidence.gaps.extend(profiles.gaps);
    let Some((recorded, unlisted)) = slices else {
        return;
    };
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
