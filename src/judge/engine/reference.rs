//! Evaluates a function on each profile that a decision names, together with the profile at the same time.
//!
//! Slices and profiles come from two watches, so their changes have no common order. A decision names a profile while any
//! of its slices does: the move to another slice is not a new reference.

use std::{
    collections::{BTreeMap, BTreeSet},
    ptr,
};

use evidence::{
    SliceHistory, Version,
    api::{ClusterDecision, ClusterProfile, PlacementDecision, names::LABEL_DECISION_KEY},
};

use super::{
    Answer, Evaluate, Hub, Judged,
    attribution::{author_of_group, not_begun_by_others},
    judged::has_unknown_publisher,
    named_profiles::{NamedProfiles, ProfileName},
    reference_findings::{Lasted, ReferenceFindings},
    same_slice, snapshot,
    state::GRACE,
};
use crate::{
    hash::HashMap,
    shared::placement::owner_uid,
    subjects::{Finding, Findings},
    time::{Micros, Set},
    timeline::{Certainty, Intervals, Timeline},
};

/// A decision names a profile.
pub(crate) struct Reference<'r> {
    /// The entry of the slice.
    pub(crate) entry: &'r ClusterDecision,
    /// Namespace and name of the profile.
    pub(crate) name: ProfileName<'r>,
    /// The profile at that time; none if it did not exist.
    pub(crate) profile: Option<&'r ClusterProfile>,
    /// Whether the profile existed while the decision named it, or less than the grace period before.
    pub(crate) was_there: bool,
}

/// A rule on each reference of a decision.
#[derive(Debug)]
pub(crate) struct References {
    check: fn(&Reference) -> Answer,
    grace: Micros,
}

/// A rule on each reference of a decision, with a grace period of 2 min.
pub(crate) fn reference(check: fn(&Reference) -> Answer) -> References {
    References { check, grace: GRACE }
}

/// What the slices of a decision have in common: namespace, scheduler, and the key, the owner, or the name.
type SharedBy<'e> = (&'e str, &'e str, &'e str);

/// The slices of one decision.
struct Decision<'e> {
    shared: SharedBy<'e>,
    lives: Vec<&'e SliceHistory>,
}

/// An entry of a slice that names a profile.
#[derive(Clone, Copy)]
pub(super) struct Entry<'e> {
    slice: &'e PlacementDecision,
    index: usize,
    decision: &'e ClusterDecision,
    pub(super) name: ProfileName<'e>,
}

/// A profile that a decision names, with all that is needed to judge the reference.
struct Pair<'p, 'e> {
    name: ProfileName<'e>,
    timeline: &'p Timeline<'e, PlacementDecision>,
    /// The entry that names the profile in each moment.
    entries: Vec<Option<Entry<'e>>>,
    profiles: &'p Timeline<'e, ClusterProfile>,
}

impl Reference<'_> {
    /// A finding about the profile. The engine adds the slice and the place of the entry.
    pub(crate) fn finding(&self, message: &str) -> Finding {
        let (namespace, name) = self.name;
        Finding::at_path("", message).observed(format!("{namespace}/{name}"))
    }
}

impl References {
    /// With another grace period.
    pub(crate) fn grace(self, grace: Micros) -> Self {
        Self { grace, ..self }
    }

    fn judge_decision<'e>(
        &self,
        hub: &Hub<'e>,
        profiles: &NamedProfiles<'e>,
        decision: &Decision<'e>,
        known: &mut HashMap<(ProfileName<'e>, &'e str), Precheck>,
        found: &mut ReferenceFindings<'e>,
        findings: &mut Findings,
    ) {
        let mut applies = false;
        let mut suspicious: BTreeSet<ProfileName> = BTreeSet::new();
        for entry in decision.distinct_entries() {
            let reason = entry.decision.reason.as_deref().unwrap_or_default();
            let precheck = known.entry((entry.name, reason));
            let precheck = *precheck.or_insert_with(|| self.precheck(profiles, &entry));
            applies |= precheck.applies;
            if precheck.is_suspicious {
                suspicious.insert(entry.name);
            }
        }
        if !suspicious.is_empty() {
            let timeline = Timeline::of_group_by(hub.evidence, &decision.lives, same_slice);
            let mut entries = decision.entries_of(&timeline, &suspicious);
            for name in suspicious {
                let pair = Pair {
                    name,
                    timeline: &timeline,
                    entries: entries.remove(&name).unwrap_or_default(),
                    profiles: &profiles.timeline(name),
                };
                applies |= self.judge_pair(hub, profiles, decision, &pair, found);
            }
        }
        if applies {
            let lives = decision.lives.iter().filter(|life| decision.names_any(life));
            lives.for_each(|_| findings.examine());
        }
    }

    /// Whether the rule applies to a profile that always exists, and whether any state of the profile may be wrong.
    fn precheck<'e>(&self, profiles: &NamedProfiles<'e>, entry: &Entry<'e>) -> Precheck {
        let is_touched = profiles.is_of_run(entry.name);
        let mut answers: Vec<Answer> = Vec::new();
        for version in profiles.lives(entry.name).iter().flat_map(|life| &life.versions) {
            answers.push(self.answer(entry, Some(&version.object), true));
        }
        let applies = answers.iter().any(|answer| *answer != Answer::NotApplicable);
        if !profiles.is_always_there(entry.name) {
            answers.push(self.answer(entry, None, false));
            answers.push(self.answer(entry, None, true));
        }
        let is_wrong = |answer: &Answer| !matches!(answer, Answer::NotApplicable | Answer::Kept);
        let is_unread = profiles.lives(entry.name).is_empty() && profiles.why_unknown(entry.name).is_some();
        Precheck {
            applies,
            is_suspicious: !is_touched && (is_unread || answers.iter().any(is_wrong)),
        }
    }

    fn answer(&self, entry: &Entry, profile: Option<&ClusterProfile>, was_there: bool) -> Answer {
        (self.check)(&Reference {
            entry: entry.decision,
            name: entry.name,
            profile,
            was_there,
        })
    }

    /// Judges a reference. Returns whether the rule applies at some time.
    fn judge_pair<'e>(
        &self,
        hub: &Hub<'e>,
        profiles: &NamedProfiles<'e>,
        decision: &Decision<'e>,
        pair: &Pair<'_, 'e>,
        found: &mut ReferenceFindings<'e>,
    ) -> bool {
        let counted = pair.counted(hub, &decision.lives);
        let named = pair.timeline.intervals(|place| counted[place]);
        let Some(last) = pair.last_entry(&counted) else {
            return false;
        };
        let unknown = profiles.why_unknown(pair.name);
        if let Some(unknown) = unknown.filter(|_| profiles.lives(pair.name).is_empty()) {
            if named.longer_than(self.grace) != Certainty::No {
                found.add_unknown(unknown, pair.name, last.slice);
            }
            return false;
        }
        let mut applies = false;
        // A pause as long as the grace period ends the reference: the next one is a new choice of the scheduler.
        for span in named.possible_with_pauses(self.grace).spans() {
            let of_span = Set::of([*span]);
            let mut wrong: Option<Intervals> = None;
            let mut finding: Option<Finding> = None;
            for reason in pair.reasons(&counted) {
                let has_reason = |place: usize| counted[place] && pair.reason(place) == Some(reason);
                let entry = (0..counted.len()).rfind(|place| has_reason(*place));
                let Some(entry) = entry.and_then(|place| pair.entries[place]) else {
                    continue;
                };
                let answers = self.answers(pair, &entry, span.0);
                let is_wrong = |place: usize| !answers[place].findings().is_empty();
                let both = profiles
                    .intervals(pair.profiles, is_wrong)
                    .and(&pair.timeline.intervals(has_reason).during(&of_span));
                let last_wrong = answers.iter().rev().find_map(|answer| answer.findings().first());
                finding = last_wrong.cloned().or(finding);
                wrong = Some(wrong.map_or_else(|| both.clone(), |wrong| wrong.or(&both)));
            }
            let (Some(wrong), Some(finding)) = (wrong, finding) else {
                continue;
            };
            applies |= !wrong.seen().is_empty();
            match (wrong.longer_than(self.grace), unknown) {
                (Certainty::No, _) => {}
                (_, Some(unknown)) => found.add_unknown(unknown, pair.name, last.slice),
                (Certainty::Yes, None) => {
                    let is_sure = !decision.has_unknown_publisher(hub, last.slice);
                    let finding = if is_sure { finding } else { finding.advisory() };
                    let lasted = Lasted::of(&wrong, self.grace);
                    found.add(last.slice, last.index, finding, lasted);
                }
                (Certainty::Unknown(_), None) => {
                    found.add_too_early(pair.name, last.slice);
                    if wrong.is_open() {
                        found.wait_for(pair.name, decision.current());
                    }
                }
            }
        }
        applies
    }

    /// The answer about each moment of the profile, for an entry that the decision has had since a time.
    fn answers(&self, pair: &Pair, entry: &Entry, named_since: Micros) -> Vec<Answer> {
        let mut answers = Vec::with_capacity(pair.profiles.moments().len());
        let is_unobserved = pair.profiles.moments().iter().all(|moment| !moment.is_observed());
        let mut existed = false;
        let mut gone = None;
        for (place, moment) in pair.profiles.moments().iter().enumerate() {
            let profile = pair.profiles.object(place);
            if !moment.is_observed() {
                answers.push(if is_unobserved {
                    self.answer(entry, None, false)
                } else {
                    Answer::NotApplicable
                });
                continue;
            }
            if profile.is_none() && existed {
                gone = Some(moment.seen_at);
            }
            existed = profile.is_some();
            let was_there = gone.is_some_and(|gone| gone.saturating_add(self.grace) >= named_since);
            answers.push(self.answer(
                entry,
                profile.map(|version| &version.object),
                existed || was_there,
            ));
        }
        answers
    }

    /// A single list or a dump: the two lists were not read at the same moment, so a violation is a warning.
    fn judge_list<'e>(
        &self,
        hub: &Hub<'e>,
        profiles: &NamedProfiles<'e>,
        decision: &Decision<'e>,
        found: &mut ReferenceFindings<'e>,
        findings: &mut Findings,
    ) {
        for life in &decision.lives {
            let Some(slice) = life.current() else { continue };
            let mut answers = Vec::new();
            for entry in entries(slice).filter(|entry| !profiles.is_of_run(entry.name)) {
                let profile = profiles.current(entry.name);
                let unknown = profiles.why_unknown(entry.name).filter(|_| profile.is_none());
                match unknown {
                    Some(unknown) => found.add_unknown(unknown, entry.name, slice),
                    None => answers.push((entry, self.answer(&entry, profile, profile.is_some()))),
                }
            }
            let is_wrong = answers.iter().any(|(_, answer)| !answer.findings().is_empty());
            if is_wrong && !snapshot::is_settled(hub.evidence, [slice].into_iter(), self.grace) {
                findings.cannot_tell_unless_examined(snapshot::TOO_EARLY);
                continue;
            }
            if answers.iter().any(|(_, answer)| *answer != Answer::NotApplicable) {
                findings.examine();
            }
            for (entry, answer) in answers {
                for finding in answer.findings() {
                    found.add(slice, entry.index, finding.clone().advisory(), None);
                }
            }
        }
    }
}

/// What all states of a profile show of an entry.
#[derive(Clone, Copy)]
struct Precheck {
    applies: bool,
    is_suspicious: bool,
}

impl<'e> Decision<'e> {
    /// The judged slices by decision.
    fn all(hub: &Hub<'e>) -> Vec<Self> {
        let mut decisions: BTreeMap<SharedBy, Vec<&SliceHistory>> = BTreeMap::new();
        for life in hub.slices().iter().flat_map(|object| &object.lives) {
            let shared: BTreeSet<SharedBy> = life
                .versions
                .iter()
                .map(|version| shared_by(&version.object))
                .collect();
            for shared in shared {
                decisions.entry(shared).or_default().push(life);
            }
        }
        decisions
            .into_iter()
            .map(|(shared, lives)| Self { shared, lives })
            .collect()
    }

    fn holds(&self, slice: &PlacementDecision) -> bool {
        !slice.is_terminating() && shared_by(slice) == self.shared
    }

    fn current(&self) -> impl Iterator<Item = &'e PlacementDecision> {
        self.lives.iter().filter_map(|life| life.current())
    }

    fn names_any(&self, life: &'e SliceHistory) -> bool {
        let mut versions = life.versions.iter().map(|version| &version.object);
        versions.any(|slice| self.holds(slice) && entries(slice).next().is_some())
    }

    /// The entries of all versions, without those of a version that equals the one before.
    fn distinct_entries(&self) -> impl Iterator<Item = Entry<'e>> {
        let versions = self.lives.iter().flat_map(|life| {
            let is_new = |place: usize, slice: &PlacementDecision| {
                let before = place.checked_sub(1).map(|before| &life.versions[before].object);
                before.is_none_or(|before| !same_slice(before, slice))
            };
            let versions = life.versions.iter().enumerate();
            versions.filter(move |(place, version)| is_new(*place, &version.object))
        });
        let slices = versions.map(|(_, version)| &version.object);
        slices.filter(|slice| self.holds(slice)).flat_map(entries)
    }

    /// The first entry that names each of some profiles in each moment.
    fn entries_of(
        &self,
        timeline: &Timeline<'e, PlacementDecision>,
        wanted: &BTreeSet<ProfileName<'e>>,
    ) -> BTreeMap<ProfileName<'e>, Vec<Option<Entry<'e>>>> {
        let count = timeline.moments().len();
        let mut by_name: BTreeMap<_, _> = wanted.iter().map(|name| (*name, vec![None; count])).collect();
        let mut of_version: HashMap<*const Version<PlacementDecision>, Vec<Entry>> = HashMap::default();
        let mut objects = timeline.walk();
        for place in 0..count {
            for version in objects.at(place).unwrap_or_default() {
                let found = of_version.entry(ptr::from_ref(*version)).or_insert_with(|| {
                    let slice = Some(&version.object).filter(|slice| self.holds(slice));
                    let all = slice.into_iter().flat_map(entries);
                    all.filter(|entry| wanted.contains(&entry.name)).collect()
                });
                for entry in found {
                    let Some(places) = by_name.get_mut(&entry.name) else {
                        continue;
                    };
                    let is_first = |first: &Entry| entry.place() < first.place();
                    if places[place].as_ref().is_none_or(is_first) {
                        places[place] = Some(*entry);
                    }
                }
            }
        }
        by_name
    }

    fn has_unknown_publisher(&self, hub: &Hub<'e>, slice: &PlacementDecision) -> bool {
        let life = self
            .lives
            .iter()
            .find(|life| life.last().metadata.uid == slice.metadata.uid);
        life.is_some_and(|life| has_unknown_publisher(hub.slice_authors(), life))
    }
}

impl<'e> Entry<'e> {
    fn place(&self) -> (&'e str, usize) {
        (&self.slice.metadata.name, self.index)
    }
}

impl<'e> Pair<'_, 'e> {
    fn reason(&self, place: usize) -> Option<&'e str> {
        let entry = self.entries[place]?;
        Some(entry.decision.reason.as_deref().unwrap_or_default())
    }

    fn reasons(&self, counted: &[bool]) -> BTreeSet<&'e str> {
        let places = (0..counted.len()).filter(|place| counted[*place]);
        places.filter_map(|place| self.reason(place)).collect()
    }

    /// The moments in which the decision names the profile, unless another client is known to have begun that.
    fn counted(&self, hub: &Hub<'e>, lives: &[&'e SliceHistory]) -> Vec<bool> {
        let names_profile = |version: &Version<PlacementDecision>| {
            entries(&version.object).any(|entry| entry.name == self.name)
        };
        let began_with_others = |place: usize| {
            let author = author_of_group(hub, self.timeline, lives, place, "decisions", &names_profile);
            author.is_some_and(|author| author.is_of_others())
        };
        not_begun_by_others(
            self.entries.len(),
            |place| self.entries[place].is_some(),
            began_with_others,
        )
    }

    fn last_entry(&self, counted: &[bool]) -> Option<Entry<'e>> {
        let last = (0..counted.len()).rfind(|place| counted[*place])?;
        self.entries[last]
    }
}

/// The entries of a slice that name a profile. Without a namespace, the profile is in that of the slice.
pub(super) fn entries(slice: &PlacementDecision) -> impl Iterator<Item = Entry<'_>> {
    let decisions = slice.clusters().iter().enumerate();
    decisions.filter_map(move |(index, decision)| {
        let reference = decision.cluster_profile_ref.as_ref()?;
        if reference.name.is_empty() {
            return None;
        }
        let namespace = match &*reference.namespace {
            "" => &slice.metadata.namespace,
            _ => &reference.namespace,
        };
        Some(Entry {
            slice,
            index,
            decision,
            name: (namespace, &reference.name),
        })
    })
}

fn shared_by(slice: &PlacementDecision) -> SharedBy<'_> {
    let key = slice.label(LABEL_DECISION_KEY).filter(|key| !key.is_empty());
    let shared = key.or_else(|| owner_uid(slice)).unwrap_or(&slice.metadata.name);
    (&slice.metadata.namespace, slice.scheduler(), shared)
}

impl Evaluate for References {
    fn evaluate(&self, hub: &Hub, findings: &mut Findings) {
        let profiles = NamedProfiles::of(hub);
        let mut known = HashMap::default();
        for decision in Decision::all(hub) {
            let mut found = ReferenceFindings::default();
            if profiles.is_watched() {
                self.judge_decision(hub, &profiles, &decision, &mut known, &mut found, findings);
            } else {
                self.judge_list(hub, &profiles, &decision, &mut found, findings);
            }
            found.report(findings);
        }
    }
}
