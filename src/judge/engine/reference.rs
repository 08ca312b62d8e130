//! Evaluates a function on each profile that a decision names, together with the profile at the same time.
//!
//! Slices and profiles come from two watches, so their changes have no common order. A decision names a profile while any
//! of its slices does: the move to another slice is not a new reference.

use evidence::api::ClusterDecision;

use super::{
    author::{author_of_moment, not_begun_by_other_clients},
    decisions::{DecisionSlices, NamedProfiles, NamingEntry, ProfileName, naming_entries},
    prelude::*,
    same_slice,
    state::{GRACE, UNSETTLED, is_settled},
    violation::describe,
};
use crate::{
    text::{first_of, redacted_field},
    time::{Set, Stretch, is_watched},
};

/// A decision names a profile.
pub(crate) struct ProfileReference<'r> {
    pub(crate) name: ProfileName<'r>,
    /// The profile at that time; none if it did not exist.
    pub(crate) profile: Option<&'r ClusterProfile>,
    /// Whether the profile existed while the decision named it, or less than the grace period before.
    pub(crate) was_there: bool,
}

pub(crate) struct References {
    check: fn(&ProfileReference) -> Answer,
    grace: Micros,
    /// Whether an entry of a decision explains a violation, so that the rule is kept.
    is_excused: fn(&ClusterDecision) -> bool,
}

/// A rule on each reference of a decision, with a grace period of 2 min.
pub(crate) fn reference(check: fn(&ProfileReference) -> Answer) -> References {
    References {
        check,
        grace: GRACE,
        is_excused: |_| false,
    }
}

/// The reason for no verdict on a reference that may not have been wrong for longer than the grace period.
const TOO_EARLY: &str =
    "too early to tell: the run did not watch the reference for longer than the grace period";

impl ProfileReference<'_> {
    /// A finding about the profile. The engine adds the slice and the place of the entry.
    pub(crate) fn finding(&self) -> Finding {
        let (namespace, name) = self.name;
        Finding::at_field("", format!("{namespace}/{name}"))
    }
}

impl References {
    pub(crate) fn grace(self, grace: Micros) -> Self {
        Self { grace, ..self }
    }

    /// Kept while the entry of the decision explains the violation.
    pub(crate) fn unless(self, is_excused: fn(&ClusterDecision) -> bool) -> Self {
        Self { is_excused, ..self }
    }

    /// The answer about a profile, whatever the entry explains.
    fn answer(&self, name: ProfileName, profile: Option<&ClusterProfile>, was_there: bool) -> Answer {
        let reference = ProfileReference {
            name,
            profile,
            was_there,
        };
        (self.check)(&reference)
    }

    /// The answer about each moment of a profile that the decision has named since a time.
    fn answers(
        &self,
        name: ProfileName,
        profiles: &Timeline<'_, ClusterProfile>,
        named_since: Micros,
    ) -> Vec<Answer> {
        let moments = profiles.moments();
        let is_unobserved = moments.iter().all(|moment| !moment.is_observed());
        let mut existed = false;
        let mut deleted_at = None;
        let of_moment = |place: usize| {
            let profile = profiles.object(place);
            if !moments[place].is_observed() {
                return if is_unobserved {
                    self.answer(name, None, false)
                } else {
                    Answer::NotApplicable
                };
            }
            if profile.is_none() && existed {
                deleted_at = Some(moments[place].seen_at);
            }
            existed = profile.is_some();
            let was_there = deleted_at.is_some_and(|at| at.saturating_add(self.grace) >= named_since);
            self.answer(name, profile, existed || was_there)
        };
        (0..moments.len()).map(of_moment).collect()
    }
}

impl Evaluate for References {
    fn evaluate(&self, hub: &Hub, findings: &mut Findings) {
        let profiles = NamedProfiles::of(hub);
        let evidence = hub.evidence;
        let is_watched = is_watched::<ClusterProfile>(evidence) && is_watched::<PlacementDecision>(evidence);
        for decision in DecisionSlices::all(hub) {
            let mut judgement = JudgedDecision {
                rule: self,
                hub,
                profiles: &profiles,
                decision: &decision,
                violations: BTreeMap::new(),
            };
            if is_watched {
                judgement.judge_watched(findings);
            } else {
                judgement.judge_list(findings);
            }
            judgement.report(findings);
        }
    }
}

/// The references of one decision. Violations with one message are reported together: a scheduler often makes the same
/// mistake in all of them.
struct JudgedDecision<'r, 'e> {
    rule: &'r References,
    hub: &'r Hub<'e>,
    profiles: &'r NamedProfiles<'e>,
    decision: &'r DecisionSlices<'e>,
    violations: BTreeMap<FindingKey<'e>, Vec<ReferenceViolation<'e>>>,
}

/// Slice, message, and whether it is a warning: violations that have these in common are one finding.
type FindingKey<'e> = (&'e str, String, bool);

struct ReferenceViolation<'e> {
    entry: NamingEntry<'e>,
    finding: Finding,
    /// The longest time for which it lasted; none in a single list.
    longest: Option<Stretch>,
    ending: &'static str,
}

impl<'e> JudgedDecision<'_, 'e> {
    fn judge_watched(&mut self, findings: &mut Findings) {
        let mut applies = false;
        let mut suspicious: BTreeSet<ProfileName> = BTreeSet::new();
        for entry in self.decision.distinct_entries(self.rule.is_excused) {
            let (may_apply, is_suspicious) = self.precheck(&entry);
            applies |= may_apply;
            if is_suspicious {
                suspicious.insert(entry.name);
            }
        }
        if !suspicious.is_empty() {
            let timeline = Timeline::of_group(self.hub.evidence, &self.decision.histories, same_slice);
            for (name, entries) in self.decision.entries_of(&timeline, &suspicious) {
                let entries = self.not_begun_by_other_clients(name, &timeline, entries);
                applies |= self.judge_name(name, &timeline, &entries, findings);
            }
        }
        if applies {
            let histories = self.decision.histories.iter();
            let histories = histories.filter(|history| self.decision.names_any(history));
            findings.examined += histories.count();
        }
    }

    /// Whether the rule applies to a profile that always exists, and whether any state of the profile may be wrong.
    fn precheck(&self, entry: &NamingEntry<'e>) -> (bool, bool) {
        let histories = self.profiles.histories(entry.name);
        let profiles = histories.iter().flat_map(|history| history.objects());
        let answers = profiles.map(|profile| self.rule.answer(entry.name, Some(profile), true));
        let mut answers: Vec<Answer> = answers.collect();
        let applies = answers.iter().any(|answer| *answer != Answer::NotApplicable);
        if !self.profiles.is_always_there(entry.name) {
            answers.extend([false, true].map(|was_there| self.rule.answer(entry.name, None, was_there)));
        }
        let is_unread = histories.is_empty() && self.profiles.why_unknown(entry.name).is_some();
        let is_wrong = !(self.rule.is_excused)(entry.decision) && answers.iter().any(Answer::is_wrong);
        let is_suspicious = !self.profiles.is_of_run(entry.name) && (is_unread || is_wrong);
        (applies, is_suspicious)
    }

    /// The entry that names a profile in each moment, without those that another client is known to have begun.
    fn not_begun_by_other_clients(
        &self,
        name: ProfileName<'e>,
        timeline: &Timeline<'e, PlacementDecision>,
        entries: Vec<Option<NamingEntry<'e>>>,
    ) -> Vec<Option<NamingEntry<'e>>> {
        let names_profile = |version: &Version<PlacementDecision>| {
            naming_entries(&version.object).any(|entry| entry.name == name)
        };
        let began_with_other_client = |place: usize| {
            let author = author_of_moment(self.hub, timeline, place, "decisions", &names_profile);
            author.is_some_and(|author| author.is_other_client())
        };
        let has_entry = |place: usize| entries[place].is_some();
        let counts = not_begun_by_other_clients(entries.len(), has_entry, began_with_other_client);
        let entries = entries.into_iter().zip(counts);
        entries.map(|(entry, counts)| entry.filter(|_| counts)).collect()
    }

    /// Judges a profile that the decision names. Returns whether the rule applies at some time.
    fn judge_name(
        &mut self,
        name: ProfileName<'e>,
        timeline: &Timeline<'e, PlacementDecision>,
        entries: &[Option<NamingEntry<'e>>],
        findings: &mut Findings,
    ) -> bool {
        let Some(last) = entries.iter().flatten().next_back() else {
            return false;
        };
        let grace = self.rule.grace;
        let references = timeline.intervals(|place| entries[place].is_some());
        let reason = self.profiles.why_unknown(name);
        if let Some(reason) = reason.filter(|_| self.profiles.histories(name).is_empty()) {
            if references.longer_than(grace) != Certainty::No {
                add_unknown(name, last.slice, reason, findings);
            }
            return false;
        }
        let is_unexcused = |entry: &NamingEntry| !(self.rule.is_excused)(entry.decision);
        if !entries.iter().flatten().any(is_unexcused) {
            return false;
        }
        let unexcused = timeline.intervals(|place| entries[place].as_ref().is_some_and(is_unexcused));
        let profiles = self.profiles.timeline(name);
        let mut applies = false;
        // A pause as long as the grace period ends the reference: the next one is a new choice of the scheduler.
        for span in references.possible_with_pauses(grace).spans() {
            let answers = self.rule.answers(name, &profiles, span.0);
            let Some(finding) = answers.iter().rev().find_map(|answer| answer.findings().first()) else {
                continue;
            };
            let is_wrong = |place: usize| !answers[place].findings().is_empty();
            let wrong = self.profiles.intervals(&profiles, is_wrong);
            let wrong = wrong.and(&unexcused.during(&Set::of([*span])));
            applies |= !wrong.arrival_spans().is_empty();
            match (wrong.longer_than(grace), reason) {
                (Certainty::No, _) => {}
                (_, Some(reason)) => add_unknown(name, last.slice, reason, findings),
                (Certainty::Yes, None) => {
                    let is_sure = !self.decision.has_unknown_publisher(self.hub, last.slice);
                    let finding = finding.clone().advisory_unless(is_sure);
                    let stretches = wrong.stretches(grace);
                    let longest = stretches.into_iter().max_by_key(|stretch| stretch.total);
                    let last_span = wrong.arrival_spans().last();
                    let is_last = |stretch: &Stretch| last_span.is_some_and(|span| span.1 <= stretch.until);
                    let is_open = wrong.is_open() && longest.as_ref().is_some_and(is_last);
                    let ending = if is_open { timeline.end_in_words() } else { "" };
                    self.add(*last, finding, longest, ending);
                }
                (Certainty::Unknown(_), None) => {
                    add_unknown(name, last.slice, TOO_EARLY, findings);
                    if wrong.goes_on() {
                        self.wait_for(name, findings);
                    }
                }
            }
        }
        applies
    }

    /// A single list or a dump: the two lists were not read at the same moment, so a violation is a warning.
    fn judge_list(&mut self, findings: &mut Findings) {
        for slice in self.decision.current() {
            let mut answers = Vec::new();
            for entry in naming_entries(slice).filter(|entry| !self.profiles.is_of_run(entry.name)) {
                let profile = self.profiles.current(entry.name);
                let reason = self.profiles.why_unknown(entry.name);
                match reason.filter(|_| profile.is_none()) {
                    Some(reason) => add_unknown(entry.name, slice, reason, findings),
                    None => answers.push((entry, self.rule.answer(entry.name, profile, profile.is_some()))),
                }
            }
            let applies = answers.iter().any(|(_, answer)| *answer != Answer::NotApplicable);
            answers.retain(|(entry, answer)| {
                !answer.findings().is_empty() && !(self.rule.is_excused)(entry.decision)
            });
            let is_settled = || is_settled(self.hub.evidence, [slice].into_iter(), self.rule.grace);
            if !answers.is_empty() && !is_settled() {
                findings.cannot_tell_unless_examined(UNSETTLED);
                continue;
            }
            findings.examined += usize::from(applies);
            for (entry, answer) in answers {
                for finding in answer.findings() {
                    self.add(entry, finding.clone().advisory(), None, "");
                }
            }
        }
    }

    fn add(
        &mut self,
        entry: NamingEntry<'e>,
        finding: Finding,
        longest: Option<Stretch>,
        ending: &'static str,
    ) {
        let slice = &*entry.slice.metadata.name;
        let identity = (slice, finding.message.clone(), finding.advisory);
        let violation = ReferenceViolation {
            entry,
            finding,
            longest,
            ending,
        };
        self.violations.entry(identity).or_default().push(violation);
    }

    /// Records a violation that was open at the end, for the slices of the decision, and the profile.
    fn wait_for(&self, name: ProfileName, findings: &mut Findings) {
        for slice in self.decision.current() {
            slice.wait_for(findings);
            findings.wait_for(ObjectKind::ClusterProfile, name);
        }
    }

    /// Reports one finding for each slice and message.
    fn report(self, findings: &mut Findings) {
        for violations in self.violations.into_values() {
            findings.report(merge(violations, self.rule.grace));
        }
    }
}

/// Records why a reference cannot be judged.
fn add_unknown(
    (namespace, name): ProfileName,
    slice: &PlacementDecision,
    reason: &'static str,
    findings: &mut Findings,
) {
    let metadata = &slice.metadata;
    let slice = format!("slice {}/{}", metadata.namespace, metadata.name);
    let reference = format!("{slice}, which refers to ClusterProfile {namespace}/{name}");
    findings.cannot_tell_of(redacted_field(&reference), reason);
}

/// How many references a finding lists.
const MOST_REFERENCES: usize = 5;

/// One finding for violations with one message.
fn merge(mut violations: Vec<ReferenceViolation>, grace: Micros) -> Finding {
    violations.sort_by_key(|violation| violation.entry.index);
    let texts = violations
        .iter()
        .map(|violation| violation.finding.observed.clone());
    let mut observed = first_of(texts, MOST_REFERENCES);
    let length = |violation: &&ReferenceViolation| violation.longest.map(|stretch| stretch.total);
    let bound = if violations.len() > 1 { "up to " } else { "" };
    if let Some(violation) = violations.iter().max_by_key(length)
        && let Some(longest) = violation.longest
    {
        let duration = describe(&[longest], bound, grace, violation.ending);
        observed.push_str(&format!("; {duration}"));
    }
    let ReferenceViolation { entry, finding, .. } = violations.swap_remove(0);
    let path = format!("decisions[{}].clusterProfileRef", entry.index);
    let finding = finding.at(path).observed(observed);
    Finding {
        object: ObjectRef::from(entry.slice),
        ..finding
    }
}
