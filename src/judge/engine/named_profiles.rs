//! The profiles of the hub by name: when each existed, and whether the run read it.

use evidence::{
    Asked, Evidence, Kind, Origin, ProfileHistory,
    api::{ClusterProfile, names},
};

use super::Hub;
use crate::{
    hash::HashMap,
    time::Micros,
    timeline::{Intervals, Moment, Timeline},
};

/// Namespace and name of a profile.
pub(crate) type ProfileName<'e> = (&'e str, &'e str);

/// All profiles, in scope or not: a decision may name any.
pub(super) struct NamedProfiles<'e> {
    evidence: &'e Evidence,
    lives: HashMap<ProfileName<'e>, Vec<&'e ProfileHistory>>,
    /// When the profiles were first listed.
    listed: Micros,
}

impl<'e> NamedProfiles<'e> {
    pub(super) fn of(hub: &Hub<'e>) -> Self {
        let evidence = hub.evidence;
        let mut lives: HashMap<ProfileName, Vec<&ProfileHistory>> = HashMap::default();
        for life in &evidence.profiles {
            let metadata = &life.last().metadata;
            lives
                .entry((&metadata.namespace, &metadata.name))
                .or_default()
                .push(life);
        }
        Self {
            evidence,
            lives,
            listed: listed_at(evidence),
        }
    }

    /// Whether the run watched both profiles and slices.
    pub(super) fn is_watched(&self) -> bool {
        let is_watched = |kind| *self.evidence.asked(kind) == Asked::Yes;
        let has_window = self.evidence.header.window.is_some();
        has_window && is_watched(Kind::Timeline) && is_watched(Kind::PlacementTimeline)
    }

    /// Whether a conformance run made or changed the profile.
    pub(super) fn is_of_run(&self, (namespace, name): ProfileName) -> bool {
        self.evidence.is_touched(namespace, name)
    }

    /// The objects that had the name, one after the other.
    pub(super) fn lives(&self, name: ProfileName<'e>) -> &[&'e ProfileHistory] {
        self.lives.get(&name).map_or(&[], Vec::as_slice)
    }

    /// The profile of that name that was not deleted.
    pub(super) fn current(&self, name: ProfileName<'e>) -> Option<&'e ClusterProfile> {
        self.lives(name).iter().find_map(|life| life.current())
    }

    /// Whether one profile of that name existed from the first list to the end.
    pub(super) fn is_always_there(&self, name: ProfileName<'e>) -> bool {
        let is_always_there =
            |life: &&ProfileHistory| life.origin == Origin::Listed && life.deleted.is_none();
        self.lives(name).iter().any(is_always_there)
    }

    pub(super) fn timeline(&self, name: ProfileName<'e>) -> Timeline<'e, ClusterProfile> {
        Timeline::of_key(self.evidence, name, self.lives(name))
    }

    /// When something was so of the profile of a name. Before the first list, its absence is unknown.
    pub(super) fn intervals(
        &self,
        timeline: &Timeline<'e, ClusterProfile>,
        holds: impl Fn(usize) -> bool,
    ) -> Intervals {
        let intervals = timeline.intervals(holds);
        let first = timeline.moments().iter().position(Moment::is_observed);
        match first.filter(|first| timeline.object(*first).is_none()) {
            Some(_) => intervals.unknown_before(self.listed),
            None => intervals,
        }
    }

    /// Why a profile of that name may exist although the run did not read it, if so.
    pub(super) fn why_unknown(&self, (namespace, name): ProfileName) -> Option<&'static str> {
        if !self.evidence.header.scope.holds_namespace(namespace) {
            Some("the run did not list the ClusterProfiles of that namespace")
        } else if self.evidence.may_be_unread(names::KIND, name) {
            Some("a ClusterProfile that could not be read may have that name")
        } else {
            let is_incomplete = self.evidence.gaps.may_lack(Kind::Inventory, namespace);
            is_incomplete.then_some("the list of ClusterProfiles has a gap")
        }
    }
}

/// When the last profile of the first list was read, or when the window began.
fn listed_at(evidence: &Evidence) -> Micros {
    let Some(window) = evidence.header.window else {
        return Micros::MIN;
    };
    let listed = evidence
        .profiles
        .iter()
        .filter(|life| life.origin == Origin::Listed);
    let read = listed.map(|life| life.versions[0].received());
    let read = read.filter(|read| *read <= window.until).max();
    read.map_or(window.from, |read| read.max(window.from))
        .as_microsecond()
}
