//! What rules are asked of: profiles, each with all of its lives.

use std::{cell::OnceCell, collections::HashMap};

use evidence::{Asked, Evidence, Kind, ProfileHistory, api::ClusterProfile};
use foldhash::fast::RandomState;

use crate::time::Timeline;

/// A profile: one namespace and name, which may be deleted and made again.
pub(crate) struct Profile<'e> {
    /// Its histories, at least one.
    pub(crate) lives: Vec<&'e ProfileHistory>,
    timeline: OnceCell<Timeline<'e, ClusterProfile>>,
}

impl<'e> Profile<'e> {
    fn of(lives: Vec<&'e ProfileHistory>) -> Self {
        Self {
            lives,
            timeline: OnceCell::new(),
        }
    }

    /// What it was over time, found when it is first asked for.
    pub(crate) fn timeline(&self, evidence: &'e Evidence) -> &Timeline<'e, ClusterProfile> {
        self.timeline.get_or_init(|| Timeline::of(evidence, &self.lives))
    }

    /// The life that was seen last.
    pub(crate) fn last_life(&self) -> &'e ProfileHistory {
        self.lives.last().expect("a profile has a life")
    }
}

/// All profiles by name.
pub(crate) struct ByName<'e>(HashMap<(&'e str, &'e str), Profile<'e>, RandomState>);

impl<'e> ByName<'e> {
    pub(crate) fn of(evidence: &'e Evidence) -> Self {
        let mut profiles: HashMap<_, Profile<'e>, RandomState> = HashMap::default();
        for life in &evidence.profiles {
            let profile = profiles
                .entry(name(life))
                .or_insert_with(|| Profile::of(Vec::new()));
            profile.lives.push(life);
        }
        Self(profiles)
    }

    /// The profile that this is a version of.
    pub(crate) fn profile(&self, version: &'e ClusterProfile) -> Option<&Profile<'e>> {
        let metadata = &version.metadata;
        self.0.get(&(&*metadata.namespace, &*metadata.name))
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
        return histories.map(|life| Profile::of(vec![life])).collect();
    }
    let mut profiles: Vec<Profile<'e>> = Vec::new();
    let mut places: HashMap<(&str, &str), usize, RandomState> = HashMap::default();
    for life in histories {
        let place = *places.entry(name(life)).or_insert(profiles.len());
        match profiles.get_mut(place) {
            Some(profile) => profile.lives.push(life),
            None => profiles.push(Profile::of(vec![life])),
        }
    }
    profiles
}
