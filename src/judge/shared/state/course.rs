//! The faults of one profile over time, and how they are told.

use std::{
    collections::{BTreeMap, HashMap},
    ptr,
};

use evidence::{Asked, Evidence, Kind, Origin, ProfileHistory, api::ClusterProfile};

use super::{Fault, Life, State};
use crate::{
    shared::{clocks::GRACE, lasted::describe},
    subjects::{Finding, Findings, Profile},
    time::{Micros, Run, Seen, Stretch, Timeline, While},
};

/// The timeline of a profile, with the faults of each version.
pub(super) struct Course<'e, 'p> {
    timeline: &'p Timeline<'e, ClusterProfile>,
    /// By path and version.
    faults: BTreeMap<&'p str, HashMap<*const ClusterProfile, Vec<&'p Fault>>>,
    lives: Vec<&'e ProfileHistory>,
    is_watched: bool,
    has_window: bool,
    /// How reports say that the runner stopped looking.
    ending: &'static str,
}

/// What ended a fault.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    Mended,
    /// The time that was in the future has come.
    Passed,
    Deleted,
    Gap,
    WindowEnd,
}

impl<'e, 'p> Course<'e, 'p> {
    pub(super) fn of(
        evidence: &'e Evidence,
        profile: &'p Profile<'e>,
        lives: impl Iterator<Item = &'p Life<'e>>,
    ) -> Self {
        let mut by_path: BTreeMap<&str, HashMap<_, Vec<&Fault>>> = BTreeMap::new();
        for (version, faults) in lives.flat_map(|life| life.history.versions.iter().zip(&life.faults)) {
            for fault in &**faults {
                let of_path = by_path.entry(&*fault.finding.path).or_default();
                let of_version = of_path.entry(ptr::from_ref(&version.object)).or_default();
                of_version.push(fault);
            }
        }
        Self {
            timeline: profile.timeline(evidence),
            faults: by_path,
            lives: profile.lives.clone(),
            is_watched: matches!(evidence.asked(Kind::Timeline), Asked::Yes),
            has_window: evidence.header.window.is_some(),
            ending: profile.timeline(evidence).end_in_words(),
        }
    }

    pub(super) fn is_watched(&self) -> bool {
        self.is_watched
    }

    /// Whether nobody saw how the profile was at the end.
    pub(super) fn ends_unseen(&self) -> bool {
        self.timeline.ends_unseen()
    }

    /// The last life that the window had.
    pub(super) fn last_life(&self) -> &'e ProfileHistory {
        self.lives.last().expect("a profile has a life")
    }

    /// What is wrong in any version.
    pub(super) fn paths(&self) -> impl Iterator<Item = &'p str> {
        self.faults.keys().copied()
    }

    /// When there were such faults of that path.
    pub(super) fn lasts(&self, path: &str, such: impl Fn(&Fault) -> bool) -> While {
        self.timeline.while_until(|profile| {
            let faults = self.of_version(profile, path).filter(|fault| such(fault));
            let passes = faults.map(|fault| fault.passes.unwrap_or(Micros::MAX)).max();
            passes.unwrap_or(Micros::MIN)
        })
    }

    /// Why what is wrong there may be no fault, if so.
    pub(super) fn doubt(&self, path: &str) -> Option<&'static str> {
        let versions = self.versions().filter_map(|(_, profile)| profile);
        let mut doubts =
            versions.flat_map(|profile| self.of_version(profile, path).filter_map(|fault| fault.doubt));
        doubts.next()
    }

    /// The first life, if each version since the first list has the fault.
    pub(super) fn listed_with(&self, path: &str, found: &While) -> Option<&'e ProfileHistory> {
        let first = *self.lives.first()?;
        let is_listed = first.origin != Origin::Created;
        let has_fault = |profile: Option<&ClusterProfile>| {
            profile.is_some_and(|profile| self.of_version(profile, path).next().is_some())
        };
        let all = self.versions().all(|(_, profile)| has_fault(profile));
        // A time that has come ends a fault without a version.
        (is_listed && all && found.fills(&self.timeline.seen())).then_some(first)
    }

    /// What is wrong there, in the last version that was wrong for longer than the grace.
    pub(super) fn findings(&self, path: &str, found: &While) -> Vec<Finding> {
        let stretches = found.stretches(GRACE);
        let last = stretches.last();
        let wrong = self.versions().filter_map(|(place, profile)| {
            let profile = profile.filter(|profile| self.of_version(profile, path).next().is_some())?;
            Some((place, profile))
        });
        let mut wrong: Vec<(usize, &ClusterProfile)> = wrong.collect();
        if let Some(last) = last {
            wrong.retain(|(place, _)| {
                let at = self.timeline.runs()[*place].seen_at;
                (last.from..last.until).contains(&at)
            });
        }
        let (Some((first, _)), Some((place, profile))) = (wrong.first(), wrong.last()) else {
            return Vec::new();
        };
        let ending = self.ending(path, *place, profile, last);
        let is_all_along = ending == Ending::WindowEnd && self.listed_with(path, found).is_some();
        let is_told = last.is_some() && self.has_window && self.is_watched && !is_all_along;
        let span = is_told.then(|| self.describe(&stretches, *first, ending));
        let findings = self.of_version(profile, path).map(|fault| &fault.finding);
        findings
            .map(|finding| match &span {
                Some(span) => finding.clone().observed(format!("{}; {span}", finding.observed)),
                None => finding.clone(),
            })
            .collect()
    }

    /// Notes for how long there was a fault that did not last.
    pub(super) fn note_short(&self, path: &str, found: &While, state: State, findings: &mut Findings) {
        for (place, profile) in self.versions() {
            let run = &self.timeline.runs()[place];
            let span = found.told().iter().find(|(from, _)| *from == run.seen_at);
            let (Some(profile), Some((from, until))) = (profile, span) else {
                continue;
            };
            if self.is_created(place) && state.filled_later {
                continue;
            }
            let length = if self.is_watched { until - from } else { 0 };
            if let Some(fault) = self.of_version(profile, path).find(|fault| fault.doubt.is_none()) {
                findings.note_short(&fault.finding, length);
            }
        }
    }

    /// Says from when till when it lasted.
    fn describe(&self, stretches: &[Stretch], first: usize, ending: Ending) -> String {
        let before = first
            .checked_sub(1)
            .map(|before| &self.timeline.runs()[before].seen);
        let may_be_older = matches!(before, Some(Seen::Nothing)) && !self.is_created(first);
        let ending = match ending {
            Ending::Mended => ", then fixed",
            Ending::Passed => ", when that time came",
            Ending::Deleted => ", when the profile was deleted",
            Ending::Gap => ", when the watch was interrupted",
            Ending::WindowEnd => self.ending,
        };
        describe(stretches, may_be_older, ending)
    }

    fn ending(
        &self,
        path: &str,
        place: usize,
        profile: &ClusterProfile,
        stretch: Option<&Stretch>,
    ) -> Ending {
        let passes = self.of_version(profile, path).map(|fault| fault.passes);
        let passes = passes.max().flatten();
        match self.timeline.runs().get(place + 1).map(|run| &run.seen) {
            _ if passes.is_some() && passes == stretch.map(|stretch| stretch.until) => Ending::Passed,
            None => Ending::WindowEnd,
            Some(Seen::Nothing) => Ending::Gap,
            Some(Seen::Absence) => Ending::Deleted,
            Some(Seen::Version(next)) if next.object.metadata.deletion_timestamp.is_some() => Ending::Deleted,
            Some(Seen::Version(_)) => Ending::Mended,
        }
    }

    /// Whether a run begins with the creation of the profile.
    fn is_created(&self, place: usize) -> bool {
        match &self.timeline.runs()[place].seen {
            Seen::Version(version) => self
                .lives
                .iter()
                .any(|life| life.origin == Origin::Created && ptr::eq(life.first(), &version.object)),
            Seen::Nothing | Seen::Absence => false,
        }
    }

    /// The runs that were seen: the places of versions, and of times without the profile.
    fn versions(&self) -> impl Iterator<Item = (usize, Option<&'e ClusterProfile>)> {
        let runs = self.timeline.runs().iter().enumerate();
        runs.filter_map(|(place, run): (usize, &Run<'e, _>)| match &run.seen {
            Seen::Version(version) => Some((place, Some(&version.object))),
            Seen::Absence => Some((place, None)),
            Seen::Nothing => None,
        })
    }

    fn of_version(&self, profile: &ClusterProfile, path: &str) -> impl Iterator<Item = &'p Fault> {
        let of_path = self.faults.get(path);
        let of_version = of_path.and_then(|of_path| of_path.get(&ptr::from_ref(profile)));
        of_version.into_iter().flatten().copied()
    }
}
