//! Whether a step was answered in time.

use evidence::{DriverStep, Evidence, ObjectRef, ProfileHistory, Version, api::ClusterProfile};
use jiff::Timestamp;

use super::{
    history::{State, did, newborns, to_the_second},
    steps::ExecutedStep,
};
use crate::rules::{
    finding::{Finding, Findings},
    write_time::{earliest, missed_between},
};

/// How a step was answered.
#[derive(Clone, Debug)]
pub(in crate::rules) enum Answer {
    /// As expected, in time.
    Given,
    /// Not as expected, and the time for it is over.
    Missing,
    /// Nobody can tell, and why.
    Unknown(String),
}

/// What is said of a step that was not answered: of the profile that was there in the end, if any was.
#[derive(Clone, Debug)]
pub(in crate::rules) struct Shortfall {
    /// One line for a person.
    pub(in crate::rules) message: &'static str,
    /// The field that tells.
    pub(in crate::rules) path: String,
    /// What was to be there in time.
    pub(in crate::rules) expected: String,
    /// What was there.
    pub(in crate::rules) observed: String,
}

/// From the beginning of a step until there is no more to be seen of its answer.
#[derive(Clone, Copy, Debug)]
pub(in crate::rules) struct Span<'a> {
    evidence: &'a Evidence,
    step: &'a DriverStep,
    /// When the step began.
    pub(in crate::rules) from: Timestamp,
    /// Until when there is time for an answer.
    pub(in crate::rules) deadline: Timestamp,
    /// Until when the run looked. What was seen at that very moment may be an answer to what it did next.
    pub(in crate::rules) looked: Timestamp,
}

impl<'a> Span<'a> {
    /// The span of a step.
    pub(in crate::rules) fn of(evidence: &'a Evidence, step: &'a DriverStep) -> Self {
        let end = evidence.header.window.map(|window| window.until);
        Self {
            evidence,
            step,
            from: step.from,
            deadline: step.deadline(),
            looked: end.map_or(step.looked_until, |end| end.min(step.looked_until)),
        }
    }

    /// The profiles that came meanwhile, and are not known to be another member's.
    pub(in crate::rules) fn newborns(&self) -> impl Iterator<Item = &'a ProfileHistory> + use<'a> {
        newborns(self.evidence, &self.step.member, self.from, self.looked)
    }

    /// The step, for a person.
    pub(in crate::rules) fn did(&self) -> String {
        did(self.step)
    }

    /// Why it cannot be told that something did not happen in it; none where it can.
    pub(in crate::rules) fn doubt(&self, profile: Option<&ObjectRef>) -> Option<String> {
        self.cut_short().or_else(|| self.missed(profile))
    }

    /// Says so where the run ended before the time for an answer was over.
    pub(in crate::rules) fn cut_short(&self) -> Option<String> {
        let seconds = self.looked.duration_since(self.step.until).as_secs().max(0);
        let patience = self.step.patience_seconds;
        let did = did(self.step);
        (self.looked < self.deadline).then(|| {
            format!("the run was cut short: it looked for {seconds} s of the {patience} s after {did}")
        })
    }

    /// Says so where the watch missed part of the time, of one profile or of any.
    pub(in crate::rules) fn missed(&self, profile: Option<&ObjectRef>) -> Option<String> {
        let missed = missed_between(self.evidence, profile, self.from, self.deadline)?;
        Some(format!(
            "the watch missed part of the time after {}, from {} on",
            did(self.step),
            to_the_second(missed)
        ))
    }

    /// Whether something that was first seen then may have come about before the time was over.
    pub(in crate::rules) fn may_be_in_time(&self, first: &Version) -> bool {
        first.at < self.looked && earliest(self.evidence, None, first) <= self.deadline.as_microsecond()
    }

    /// Whether what there is of a profile when the time is over is as expected. What was seen later and may have been
    /// in time counts, too.
    pub(in crate::rules) fn answer(
        &self,
        profile: &ObjectRef,
        states: &[State],
        expected: impl Fn(Option<&ClusterProfile>) -> bool,
    ) -> Answer {
        let known = states.iter().take_while(|state| state.at < self.looked);
        let deadline = self.deadline.as_microsecond();
        let (mut last, mut late) = (None, false);
        for state in known {
            if state.at <= self.deadline {
                last = Some(state);
            } else if state.earliest <= deadline {
                late |= expected(state.profile);
            }
        }
        if late || expected(last.and_then(|state| state.profile)) {
            return Answer::Given;
        }
        self.doubt(Some(profile)).map_or(Answer::Missing, Answer::Unknown)
    }

    /// What is expected, and until when.
    pub(in crate::rules) fn within(&self, expected: &str) -> String {
        format!(
            "{expected} within {} s of {} at {}",
            self.step.patience_seconds,
            did(self.step),
            to_the_second(self.step.until)
        )
    }

    /// That nothing is to change while the run looks.
    pub(in crate::rules) fn untouched(&self) -> String {
        format!(
            "untouched from {} until {}",
            to_the_second(self.step.until),
            to_the_second(self.looked)
        )
    }

    /// What was seen when the time was over.
    pub(in crate::rules) fn in_the_end(&self, observed: &str) -> String {
        format!("{observed} at {}", to_the_second(self.deadline))
    }
}

impl ExecutedStep<'_> {
    /// Judges whether the profile is as expected when the time is over; else `missing` says what is wrong.
    pub(in crate::rules) fn judge(
        &self,
        evidence: &Evidence,
        findings: &mut Findings,
        expected: impl Fn(Option<&ClusterProfile>) -> bool,
        missing: impl FnOnce(Option<&ClusterProfile>) -> Shortfall,
    ) {
        let span = Span::of(evidence, self.step);
        match span.answer(self.profile, &self.states, expected) {
            Answer::Given => findings.examine(),
            Answer::Unknown(reason) => findings.cannot_tell(reason),
            Answer::Missing => {
                findings.examine();
                let known = self.states.iter();
                let known = known.take_while(|state| state.at <= span.deadline && state.at < span.looked);
                let profile = known.last().and_then(|state| state.profile);
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
