//! Evaluates a function on each profile that a decision names, together with the profile at the same time.
//!
//! Slices and profiles come from two watches, so their changes have no common order. A decision names a profile while any
//! of its slices does: the move to another slice is not a new reference.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{
    ObjectRef, Version,
    api::{ClusterDecision, ClusterProfile, PlacementDecision},
};

use super::{
    Answer, Evaluate, Hub,
    author::{author_of_moment, not_begun_by_others},
    decisions::{DecisionSlices, NamedProfiles, NamingEntry, ProfileName, naming_entries},
    same_slice,
    state::{GRACE, UNSETTLED, is_settled},
    unknowns::Unknowns,
};
use crate::{
    subjects::{Finding, Findings},
    text::redacted_field,
    time::{Micros, SECOND, Set, timestamp},
    timeline::{Certainty, Intervals, Timeline},
};

/// A decision names a profile.
pub(crate) struct Reference<'r> {
    pub(crate) entry: &'r ClusterDecision,
    /// Namespace and name of the profile.
    pub(crate) name: ProfileName<'r>,
    /// The profile at that time; none if it did not exist.
    pub(crate) profile: Option<&'r ClusterProfile>,
    /// Whether the profile existed while the decision named it, or less than the grace period before.
    pub(crate) was_there: bool,
}

#[derive(Debug)]
pub(crate) struct References {
    check: fn(&Reference) -> Answer,
    grace: Micros,
}

/// A rule on each reference of a decision, with a grace period of 2 min.
pub(crate) fn reference(check: fn(&Reference) -> Answer) -> References {
    References { check, grace: GRACE }
}

/// The reason for no verdict on a reference that may not have been wrong for longer than the grace period.
const TOO_EARLY: &str =
    "too early to tell: the run did not watch for longer than the grace whether the reference stays";

/// A profile that a decision names, with all that is needed to judge the reference.
struct Pair<'p, 'e> {
    name: ProfileName<'e>,
    timeline: &'p Timeline<'e, PlacementDecision>,
    /// The entry that names the profile in each moment.
    entries: Vec<Option<NamingEntry<'e>>>,
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
    pub(crate) fn grace(self, grace: Micros) -> Self {
        Self { grace, ..self }
    }

    fn judge_decision<'e>(
        &self,
        hub: &Hub<'e>,
        profiles: &NamedProfiles<'e>,
        decision: &DecisionSlices<'e>,
        found: &mut ReferenceFindings<'e>,
        findings: &mut Findings,
    ) {
        let mut applies = false;
        let mut suspicious: BTreeSet<ProfileName> = BTreeSet::new();
        for entry in decision.distinct_entries() {
            let (may_apply, is_suspicious) = self.precheck(profiles, &entry);
            applies |= may_apply;
            if is_suspicious {
                suspicious.insert(entry.name);
            }
        }
        if !suspicious.is_empty() {
            let timeline = Timeline::of_group(hub.evidence, &decision.lives, same_slice);
            for (name, entries) in decision.entries_of(&timeline, &suspicious) {
                let timelines = (&timeline, &profiles.timeline(name));
                let pair = Pair::of(hub, name, &entries, timelines);
                applies |= self.judge_pair(hub, profiles, decision, &pair, found);
            }
        }
        if applies {
            let lives = decision.lives.iter().filter(|life| decision.names_any(life));
            lives.for_each(|_| findings.examine());
        }
    }

    /// Whether the rule applies to a profile that always exists, and whether any state of the profile may be wrong.
    fn precheck<'e>(&self, profiles: &NamedProfiles<'e>, entry: &NamingEntry<'e>) -> (bool, bool) {
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
        let is_unread = profiles.lives(entry.name).is_empty() && profiles.why_unknown(entry.name).is_some();
        let is_suspicious = !is_touched && (is_unread || answers.iter().any(Answer::is_wrong));
        (applies, is_suspicious)
    }

    fn answer(&self, entry: &NamingEntry, profile: Option<&ClusterProfile>, was_there: bool) -> Answer {
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
        decision: &DecisionSlices<'e>,
        pair: &Pair<'_, 'e>,
        found: &mut ReferenceFindings<'e>,
    ) -> bool {
        let Some(last) = pair.entries.iter().flatten().next_back() else {
            return false;
        };
        let named = pair.timeline.intervals(|place| pair.entries[place].is_some());
        let unknown = profiles.why_unknown(pair.name);
        if let Some(unknown) = unknown.filter(|_| profiles.lives(pair.name).is_empty()) {
            if named.longer_than(self.grace) != Certainty::No {
                found.add_unknown(pair.name, last.slice, unknown);
            }
            return false;
        }
        let mut applies = false;
        // A pause as long as the grace period ends the reference: the next one is a new choice of the scheduler.
        for span in named.possible_with_pauses(self.grace).spans() {
            let Some((wrong, finding)) = self.violation_within(*span, profiles, pair) else {
                continue;
            };
            applies |= !wrong.seen().is_empty();
            match (wrong.longer_than(self.grace), unknown) {
                (Certainty::No, _) => {}
                (_, Some(unknown)) => found.add_unknown(pair.name, last.slice, unknown),
                (Certainty::Yes, None) => {
                    let is_sure = !decision.has_unknown_publisher(hub, last.slice);
                    let finding = if is_sure { finding } else { finding.advisory() };
                    let lasted = Lasted::of(&wrong, self.grace);
                    found.add(last.slice, last.index, finding, lasted);
                }
                (Certainty::Unknown(_), None) => {
                    found.add_unknown(pair.name, last.slice, TOO_EARLY);
                    if wrong.is_open() {
                        found.wait_for(pair.name, decision.current());
                    }
                }
            }
        }
        applies
    }

    /// When a reference violated the rule within a span of time, and the last finding.
    fn violation_within<'e>(
        &self,
        span: (Micros, Micros),
        profiles: &NamedProfiles<'e>,
        pair: &Pair<'_, 'e>,
    ) -> Option<(Intervals, Finding)> {
        let span_only = Set::of([span]);
        let mut all: Option<Intervals> = None;
        let mut finding: Option<Finding> = None;
        for entry in pair.last_entry_of_each_reason() {
            let answers = self.answers(pair, entry, span.0);
            let last = answers.iter().rev().find_map(|answer| answer.findings().first());
            finding = last.cloned().or(finding);
            let is_wrong = |place: usize| !answers[place].findings().is_empty();
            let has_reason = |place: usize| pair.reason(place) == Some(entry.reason());
            let named = pair.timeline.intervals(has_reason).during(&span_only);
            let wrong = profiles.intervals(pair.profiles, is_wrong).and(&named);
            all = Some(all.map_or_else(|| wrong.clone(), |all| all.or(&wrong)));
        }
        all.zip(finding)
    }

    /// The answer about each moment of the profile, for an entry that the decision has had since a time.
    fn answers(&self, pair: &Pair, entry: &NamingEntry, named_since: Micros) -> Vec<Answer> {
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
        decision: &DecisionSlices<'e>,
        found: &mut ReferenceFindings<'e>,
        findings: &mut Findings,
    ) {
        for life in &decision.lives {
            let Some(slice) = life.current() else { continue };
            let mut answers = Vec::new();
            for entry in naming_entries(slice).filter(|entry| !profiles.is_of_run(entry.name)) {
                let profile = profiles.current(entry.name);
                let unknown = profiles.why_unknown(entry.name).filter(|_| profile.is_none());
                match unknown {
                    Some(unknown) => found.add_unknown(entry.name, slice, unknown),
                    None => answers.push((entry, self.answer(&entry, profile, profile.is_some()))),
                }
            }
            let is_wrong = answers.iter().any(|(_, answer)| !answer.findings().is_empty());
            if is_wrong && !is_settled(hub.evidence, [slice].into_iter(), self.grace) {
                findings.cannot_tell_unless_examined(UNSETTLED);
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

impl<'p, 'e> Pair<'p, 'e> {
    /// The reference, without entries that another client is known to have begun.
    fn of(
        hub: &Hub<'e>,
        name: ProfileName<'e>,
        entries: &[Option<NamingEntry<'e>>],
        (timeline, profiles): (
            &'p Timeline<'e, PlacementDecision>,
            &'p Timeline<'e, ClusterProfile>,
        ),
    ) -> Self {
        let names_profile = |version: &Version<PlacementDecision>| {
            naming_entries(&version.object).any(|entry| entry.name == name)
        };
        let began_with_others = |place: usize| {
            let author = author_of_moment(hub, timeline, place, "decisions", &names_profile);
            author.is_some_and(|author| author.is_of_others())
        };
        let is_named = |place: usize| entries[place].is_some();
        let counted = not_begun_by_others(entries.len(), is_named, began_with_others);
        let entries = entries.iter().zip(counted);
        Self {
            name,
            timeline,
            entries: entries.map(|(entry, counts)| entry.filter(|_| counts)).collect(),
            profiles,
        }
    }

    fn reason(&self, place: usize) -> Option<&'e str> {
        self.entries[place].as_ref().map(NamingEntry::reason)
    }

    fn last_entry_of_each_reason(&self) -> impl Iterator<Item = &NamingEntry<'e>> {
        let entries = self.entries.iter().flatten();
        let by_reason: BTreeMap<&str, &NamingEntry> = entries.map(|entry| (entry.reason(), entry)).collect();
        by_reason.into_values()
    }
}

impl Evaluate for References {
    fn evaluate(&self, hub: &Hub, findings: &mut Findings) {
        let profiles = NamedProfiles::of(hub);
        for decision in DecisionSlices::all(hub) {
            let mut found = ReferenceFindings::default();
            if profiles.is_watched() {
                self.judge_decision(hub, &profiles, &decision, &mut found, findings);
            } else {
                self.judge_list(hub, &profiles, &decision, &mut found, findings);
            }
            found.report(findings);
        }
    }
}

/// How many references a finding lists.
const LISTED: usize = 5;

/// For how long a violation lasted.
#[derive(Clone, Copy)]
pub(super) struct Lasted {
    length: Micros,
    since: Micros,
    grace: Micros,
    is_open: bool,
}

struct ReferenceViolation<'e> {
    slice: &'e PlacementDecision,
    index: usize,
    finding: Finding,
    /// None in a single list.
    lasted: Option<Lasted>,
}

/// Slice, message, and whether it is a warning: violations that have these in common are one finding.
type SameFinding<'e> = (&'e str, String, bool);

/// The violations of the references of one decision.
#[derive(Default)]
pub(super) struct ReferenceFindings<'e> {
    violations: BTreeMap<SameFinding<'e>, Vec<ReferenceViolation<'e>>>,
    unknowns: Unknowns,
    open: Vec<(ProfileName<'e>, &'e PlacementDecision)>,
}

impl Lasted {
    /// The longest stretch that was longer than the grace period.
    pub(super) fn of(wrong: &Intervals, grace: Micros) -> Option<Self> {
        let stretches = wrong.stretches(grace);
        let longest = stretches.iter().max_by_key(|stretch| stretch.total)?;
        let last = wrong.seen().last();
        Some(Self {
            length: longest.total,
            since: longest.from,
            grace,
            is_open: wrong.is_open() && last.is_some_and(|last| last.1 <= longest.until),
        })
    }
}

impl<'e> ReferenceFindings<'e> {
    /// Adds a violation of the entry at a place of a slice.
    pub(super) fn add(
        &mut self,
        slice: &'e PlacementDecision,
        index: usize,
        finding: Finding,
        lasted: Option<Lasted>,
    ) {
        let same = (&*slice.metadata.name, finding.message.clone(), finding.advisory);
        self.violations.entry(same).or_default().push(ReferenceViolation {
            slice,
            index,
            finding,
            lasted,
        });
    }

    pub(super) fn add_unknown(
        &mut self,
        name: ProfileName<'e>,
        slice: &PlacementDecision,
        reason: &'static str,
    ) {
        let (metadata, (namespace, name)) = (&slice.metadata, name);
        let slice = format!("slice {}/{}", metadata.namespace, metadata.name);
        let reference = format!("{slice}, which refers to ClusterProfile {namespace}/{name}");
        self.unknowns.add(redacted_field(&reference), reason);
    }

    /// Adds a violation that was open at the end, with the slices of the decision.
    pub(super) fn wait_for(
        &mut self,
        name: ProfileName<'e>,
        slices: impl Iterator<Item = &'e PlacementDecision>,
    ) {
        self.open.extend(slices.map(|slice| (name, slice)));
    }

    /// Reports one finding for each slice and message, and each reason for an unknown answer once.
    pub(super) fn report(self, findings: &mut Findings) {
        for violations in self.violations.into_values() {
            findings.report(together(violations));
        }
        for ((namespace, name), slice) in self.open {
            findings.wait_for_slice(&ObjectRef::from(slice));
            findings.wait_for_profile(namespace, name);
        }
        self.unknowns.report(findings);
    }
}

/// One finding for violations with one message.
fn together(mut violations: Vec<ReferenceViolation>) -> Finding {
    violations.sort_by_key(|violation| violation.index);
    let listed = violations.iter().take(LISTED);
    let listed: Vec<&str> = listed.map(|violation| &*violation.finding.observed).collect();
    let mut observed = listed.join(", ");
    let more = violations.len() - listed.len();
    if more > 0 {
        observed.push_str(&format!(" and {more} more"));
    }
    let lasted = violations.iter().filter_map(|violation| violation.lasted);
    if let Some(longest) = lasted.clone().max_by_key(|lasted| lasted.length) {
        let most = if violations.len() > 1 { "up to " } else { "" };
        let is_open = lasted.clone().any(|lasted| lasted.is_open);
        let when = if is_open { " when the window ended" } else { "" };
        observed.push_str(&format!(
            "; for {most}{} s{when} (grace: {} s), since {}",
            longest.length / SECOND,
            longest.grace / SECOND,
            timestamp(longest.since)
        ));
    }
    let first = &violations[0];
    let mut finding = first.finding.clone();
    finding.object = ObjectRef::from(first.slice);
    finding
        .at(format!("decisions[{}].clusterProfileRef", first.index))
        .observed(observed)
}
