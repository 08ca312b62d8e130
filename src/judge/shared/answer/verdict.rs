//! Judges whether a step was answered in time.

use evidence::{
    DriverStep, Evidence, ObjectRef, ProfileHistory,
    api::{ClusterProfile, PlacementDecision},
};
use jiff::Timestamp;

use super::{
    history::{did, newborns, to_the_second},
    steps::ExecutedStep,
};
use crate::{
    subjects::{Finding, Findings},
    time::{Edge, Known, Micros, Timeline, Why, missed, told_by},
};

/// How a step was answered.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// As expected, in time.
    Given,
    /// Not as expected by the deadline.
    Missing,
    /// Unknown, for this reason.
    Unknown(String),
}

/// How to report a missing answer, on the profile that existed in the end, if any.
#[derive(Clone, Debug)]
pub(crate) struct Shortfall {
    /// The finding's message.
    pub(crate) message: &'static str,
    /// The path of the field.
    pub(crate) path: String,
    /// What was expected by the deadline.
    pub(crate) expected: String,
    /// What was observed.
    pub(crate) observed: String,
}

/// The time in which a step's answer may be observed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span<'a> {
    evidence: &'a Evidence,
    step: &'a DriverStep,
    /// When the step began.
    pub(crate) from: Timestamp,
    /// The deadline for an answer.
    pub(crate) deadline: Timestamp,
    /// When the run stopped looking. What was seen at exactly that time may answer the next step.
    pub(crate) looked: Timestamp,
}

impl<'a> Span<'a> {
    /// The span of a step.
    pub(crate) fn of(evidence: &'a Evidence, step: &'a DriverStep) -> Self {
        let end = evidence.header.window.map(|window| window.until);
        Self {
            evidence,
            step,
            from: step.from,
            deadline: step.deadline(),
            looked: end.map_or(step.looked_until, |end| end.min(step.looked_until)),
        }
    }

    /// Profiles that appeared in the span, without those known to be another member's.
    pub(crate) fn newborns(&self) -> impl Iterator<Item = &'a ProfileHistory> + use<'a> {
        newborns(self.evidence, &self.step.member, self.from, self.looked)
    }

    /// When the step was done.
    pub(super) fn done(&self) -> Timestamp {
        self.step.until
    }

    /// Describes the step.
    pub(crate) fn did(&self) -> String {
        did(self.step)
    }

    /// Why the span cannot prove that nothing happened, if so.
    pub(crate) fn doubt(&self, profile: Option<&ObjectRef>) -> Option<String> {
        self.cut_short().or_else(|| self.missed(profile))
    }

    /// Explains that the run ended before the deadline, if so.
    pub(crate) fn cut_short(&self) -> Option<String> {
        let seconds = self.looked.duration_since(self.step.until).as_secs().max(0);
        let patience = self.step.patience_seconds;
        let did = did(self.step);
        (self.looked < self.deadline).then(|| {
            format!("the run was cut short: it looked for {seconds} s of the {patience} s after {did}")
        })
    }

    /// Explains that the watch missed part of the span, for one profile or any, or for slices, if so. What was written in
    /// time may come late, so a gap counts that begins soon after the deadline.
    pub(crate) fn missed(&self, profile: Option<&ObjectRef>) -> Option<String> {
        self.missed_before(profile, told_by(self.deadline).max(self.looked))
    }

    /// Explains that the watch missed part of the span before a time, if so. What was seen then may be older than it looks.
    pub(crate) fn missed_before(&self, profile: Option<&ObjectRef>, at: Timestamp) -> Option<String> {
        if self.step.action.is_on_placements() {
            return self.missed_slices_before(at);
        }
        let object = profile.map(|profile| (profile.namespace.as_str(), profile.name.as_str()));
        let missed = missed::<ClusterProfile>(self.evidence, object, self.from, at)?;
        Some(missed_from(self.step, missed))
    }

    /// The same for slices, whatever the step is on.
    pub(crate) fn missed_slices_before(&self, at: Timestamp) -> Option<String> {
        let missed = missed::<PlacementDecision>(self.evidence, None, self.from, at)?;
        Some(missed_from(self.step, missed))
    }

    /// Why the span cannot prove that nothing happened to slices, if so.
    pub(crate) fn doubt_of_slices(&self) -> Option<String> {
        self.cut_short()
            .or_else(|| self.missed_slices_before(told_by(self.deadline).max(self.looked)))
    }

    /// When the run saw the last that counts as an answer.
    fn last_look(&self) -> Micros {
        if self.looked < self.deadline {
            self.looked.as_microsecond().saturating_sub(1)
        } else {
            self.deadline.as_microsecond()
        }
    }

    /// Whether a change was in time.
    pub(crate) fn is_in_time(&self, change: Edge) -> Known {
        change.is_before(self.last_look().saturating_add(1))
    }

    /// Whether the profile at the deadline is as expected.
    pub(crate) fn answer(
        &self,
        profile: &ObjectRef,
        timeline: &Timeline<'a, ClusterProfile>,
        expected: impl Fn(Option<&ClusterProfile>) -> bool,
    ) -> Answer {
        let whys = match timeline.last_by(self.last_look(), expected) {
            Known::Yes => return Answer::Given,
            Known::No => None,
            Known::Unknown(whys) => Some(whys),
        };
        let doubt = self.cut_short().or_else(|| {
            let missed = || self.missed(Some(profile)).unwrap_or_else(|| self.answered_late());
            Some(if whys?.contains(&Why::Gap) {
                missed()
            } else {
                self.answered_late()
            })
        });
        doubt.map_or(Answer::Missing, Answer::Unknown)
    }

    /// Explains that an answer may have been in time.
    pub(crate) fn answered_late(&self) -> String {
        format!(
            "the watch showed the answer to {} just after its time: that may be late, or delivered late",
            did(self.step)
        )
    }

    /// The expected value with its deadline.
    pub(crate) fn within(&self, expected: &str) -> String {
        format!(
            "{expected} within {} s of {} at {}",
            self.step.patience_seconds,
            did(self.step),
            to_the_second(self.step.until)
        )
    }

    /// The expectation that nothing changes while the run looks.
    pub(crate) fn untouched(&self) -> String {
        format!(
            "untouched from {} until {}",
            to_the_second(self.step.until),
            to_the_second(self.looked)
        )
    }

    /// The observed value with the deadline.
    pub(crate) fn in_the_end(&self, observed: &str) -> String {
        format!("{observed} at {}", to_the_second(self.deadline))
    }
}

/// Explains that the watch missed part of the time after a step.
pub(crate) fn missed_from(step: &DriverStep, missed: Timestamp) -> String {
    format!(
        "the watch missed part of the time after {}, from {} on",
        did(step),
        to_the_second(missed)
    )
}

impl ExecutedStep<'_> {
    /// Judges whether the profile at the deadline is as expected; `missing` describes a shortfall.
    pub(crate) fn judge(
        &self,
        evidence: &Evidence,
        findings: &mut Findings,
        expected: impl Fn(Option<&ClusterProfile>) -> bool,
        missing: impl FnOnce(Option<&ClusterProfile>) -> Shortfall,
    ) {
        let span = Span::of(evidence, self.step);
        if self.own.is_some_and(|own| own > span.deadline) {
            findings.cannot_tell(format!("the watch showed late what {} wrote", span.did()));
            return;
        }
        match span.answer(self.profile, &self.timeline, expected) {
            Answer::Given => findings.examine(),
            Answer::Unknown(reason) => findings.cannot_tell(reason),
            Answer::Missing => {
                findings.examine();
                let known = self.states.iter();
                let known = known.take_while(|state| state.at <= span.deadline && state.at < span.looked);
                let profile = known.last().and_then(|state| state.object);
                let object = profile.map_or_else(|| self.profile.clone(), ObjectRef::from);
                let shortfall = missing(profile);
                findings.report(
                    Finding::on(object, shortfall.message)
                        .at(shortfall.path)
                        .expected(span.within(&shortfall.expected))
                        .observed(span.in_the_end(&shortfall.observed)),
                );
            }
        }
    }
}
