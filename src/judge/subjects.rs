//! What rules are asked of: profiles, each with all of its lives.

use std::collections::HashMap;

use evidence::{Asked, Evidence, Kind, ProfileHistory};
use foldhash::fast::RandomState;

use crate::time::Timeline;

/// A profile: one namespace and name, which may be deleted and made again.
pub(crate) struct Profile<'e> {
    /// Its histories, at least one.
    pub(crate) lives: Vec<&'e ProfileHistory>,
}

impl<'e> Profile<'e> {
    /// What it was over time.
    pub(crate) fn timeline(&self, evidence: &'e Evidence) -> Timeline<'e, evidence::api::ClusterProfile> {
        Timeline::of(evidence, &self.lives)
    }

    /// The life that was seen last.
    pub(crate) fn last_life(&self) -> &'e ProfileHistory {
        self.lives.last().expect("a profile has a life")
    }
}

/// The namespace and the name of a profile.
pub(crate) fn name(history: &ProfileHistory) -> (&str, &str) {
    let metadata = &history.last().metadata;
    (&metadata.namespace, &metadata.name)
}

/// The profiles of these histories, in the order of their first lives.
pub(crate) fn profiles<'e>(
    evidence: &Evidence,
    histories: impl Iterator<Item = &'e ProfileHistory>,
) -> Vec<Profile<'e>> {
    // Without a watch, each name is there once.
    if !matches!(evidence.asked(Kind::Timeline), Asked::Yes) {
        return histories.map(|life| Profile { lives: vec![life] }).collect();
    }
    let mut profiles: Vec<Profile<'e>> = Vec::new();
    let mut places: HashMap<(&str, &str), usize, RandomState> = HashMap::default();
    for life in histories {
        let place = *places.entry(name(life)).or_insert(profiles.len());
        match profiles.get_mut(place) {
            Some(profile) => profile.lives.push(life),
            None => profiles.push(Profile { lives: vec![life] }),
        }
    }
    profiles
}
