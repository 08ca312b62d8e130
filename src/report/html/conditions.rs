//! A profile's conditions over time.

use std::collections::BTreeSet;

use evidence::{
    Evidence, ProfileHistory,
    api::{ClusterProfile, names},
};

use super::{
    axis::Axis,
    bars::{Bars, Track, missed},
    state::State,
    text::brief,
};

/// Draws the conditions of the successive profiles of one name; `None` without any.
pub(super) fn draw(evidence: &Evidence, histories: &[&ProfileHistory], axis: &Axis) -> Option<Bars> {
    let tracks = kinds(histories).into_iter().map(|kind| {
        let state = |profile: &ClusterProfile| {
            let mut conditions = profile.status.conditions.iter();
            let condition = conditions.find(|condition| *condition.kind == *kind);
            let reason = condition.map_or(String::new(), |condition| brief(&condition.reason, 60));
            (State::of(condition), reason)
        };
        Track::of_histories(kind.to_owned(), State::NoProfile, histories, state, axis)
    });
    let gaps = missed(evidence, histories, axis);
    Bars::draw(("Conditions", "condition"), tracks.collect(), gaps, axis)
}

/// Lists the types of all conditions that ever existed, the documents' own first.
fn kinds<'a>(histories: &[&'a ProfileHistory]) -> Vec<&'a str> {
    let versions = histories.iter().flat_map(|history| &history.versions);
    let kinds: BTreeSet<&str> = versions
        .flat_map(|version| version.object.status.conditions.iter())
        .map(|condition| &*condition.kind)
        .collect();
    let mut kinds: Vec<&str> = kinds.into_iter().collect();
    let own = [names::CONDITION_HEALTHY, names::CONDITION_JOINED];
    kinds.sort_by_key(|kind| own.iter().position(|name| name == kind).unwrap_or(own.len()));
    kinds
}
