//! Evaluates a rule that consists of expectations: rows of the scenarios.

use std::ops::RangeInclusive;

use evidence::{ConsumerSpec, Expectation, Reason, ScenarioRun};

use super::{ConsumerRun, act::Act, micros};
use crate::{
    engine::Answer,
    rules::{ExpectationWords, FindingWords},
    subjects::{Finding, Findings},
    time::Micros,
};

/// The reason if a missing call may come from missing work.
const GIVE_IT_WORK: &str = "the consumer does not call every member; give it work with the hook `work`";
/// The reasons if no call could end. They count only if no other expectation of the rule was judged.
pub(super) const NEVER_HAD_CALLED: &str = "the consumer never called the member to which its access ended";
pub(super) const HAD_CALLED_AT_FIRST: &str =
    "the consumer called the member to which its access ended at first only";
/// The reason if a period was too short.
pub(super) const TOO_SHORT: &str = "the run waited less than the consumer may take";
/// The reason if the consumer reached one control of several with the same difficulty.
const REACHED_ANOTHER: &str = "the consumer reached the control of another scenario of the same kind";

/// What a rule that consists of expectations does differently from others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpecialCases {
    /// Why the rule is skipped for a consumer.
    pub(crate) skipped: fn(&ConsumerSpec) -> Option<Reason>,
    /// Why an expectation is not judged.
    pub(crate) unjudged: fn(&Case) -> Option<Reason>,
    /// Whether a violation is a warning only.
    pub(crate) is_warning: fn(&Case) -> bool,
}

/// An expectation with what the consumer did.
pub(crate) struct Case<'r, 'e> {
    pub(crate) run: &'r ConsumerRun<'e>,
    words: &'r ExpectationWords,
    pub(crate) expectation: &'e Expectation,
    /// What the consumer did for the member in the period.
    pub(super) acts: Vec<Act<'e>>,
}

/// Judges the expectations of a rule.
pub(super) fn evaluate(
    run: &ConsumerRun,
    rule: &str,
    words: &ExpectationWords,
    special: &SpecialCases,
    findings: &mut Findings,
) {
    let expectations = run.testbed.expectations.iter();
    let cases = expectations
        .filter(|expectation| expectation.rule == rule)
        .map(|expectation| {
            let mut case = Case {
                run,
                words,
                expectation,
                acts: Vec::new(),
            };
            case.acts = run.acts(&expectation.url, case.period());
            case
        });
    let answers = cases.map(|case| (case.scenario().is_some(), case.answer(special)));
    let answers: Vec<(bool, Answer)> = answers.collect();
    let is_any_control_kept = answers.contains(&(true, Answer::Kept));
    for (is_control, answer) in answers {
        match answer {
            Answer::Broken(_) if is_any_control_kept && is_control => findings.cannot_tell(REACHED_ANOTHER),
            Answer::Unknown(reason) if [NEVER_HAD_CALLED, HAD_CALLED_AT_FIRST].contains(&&*reason) => {
                findings.cannot_tell_unless_examined(reason);
            }
            answer => findings.count(answer),
        }
    }
}

impl<'e> Case<'_, 'e> {
    fn answer(&self, special: &SpecialCases) -> Answer {
        let void = self.expectation.void.clone().map(Reason::from);
        if let Some(reason) = void.or_else(|| (special.unjudged)(self)) {
            return Answer::Unknown(reason);
        }
        let answer = self.outcome().unwrap_or_else(Answer::Unknown);
        if self.expectation.warn || (special.is_warning)(self) {
            answer.as_warning()
        } else {
            answer
        }
    }

    /// The period of the expectation.
    pub(crate) fn period(&self) -> RangeInclusive<Micros> {
        micros(self.expectation.from)..=micros(self.expectation.until)
    }

    /// The part of the period after the consumer must have followed the change that begins it.
    pub(super) fn settled_period(&self) -> Result<RangeInclusive<Micros>, Reason> {
        let (from, until) = self.period().into_inner();
        Ok(from.saturating_add(self.run.settle.clone()?).saturating_add(1)..=until)
    }

    /// The scenario of which the profile is the control, if it is one.
    pub(crate) fn scenario(&self) -> Option<&'e ScenarioRun> {
        let mut scenarios = self.run.testbed.scenarios.iter();
        scenarios.find(|scenario| scenario.control == self.expectation.member)
    }

    /// Checks that the consumer called a control in the period, that the period was long enough, and that the evidence lacks
    /// nothing the consumer did in it.
    pub(super) fn check_alive(&self) -> Result<(), Reason> {
        let (period, settled) = (self.period(), self.settled_period()?);
        self.run.check_logged(&period)?;
        if *settled.start() > settled.end().saturating_add(1) {
            return Err(TOO_SHORT.into());
        }
        if self.run.control_calls().any(|called| period.contains(&called)) {
            return Ok(());
        }
        Err(match self.run.all_acts().map(|act| act.at()).max() {
            Some(last) if micros(last) < *period.end() => {
                format!("the consumer has called no member since {last}: it may have ended").into()
            }
            _ => "the consumer called no control in the meantime".into(),
        })
    }

    /// Checks that a missing act has no other cause than the profile.
    pub(super) fn check_calls_all_controls(&self) -> Result<(), Reason> {
        self.check_alive()?;
        let mut scenarios = self.run.testbed.scenarios.iter();
        let is_uncalled = scenarios.any(|scenario| {
            let is_begun = self.period().contains(&micros(scenario.from));
            is_begun && !scenario.may_delay && scenario.called_at.is_none()
        });
        if is_uncalled {
            Err(GIVE_IT_WORK.into())
        } else {
            Ok(())
        }
    }

    /// The finding if the consumer does not do what was expected. Without words, the rule is inconclusive.
    pub(super) fn missing(&self, observed: impl Into<String>) -> Answer {
        self.broken(self.words.missing.as_ref(), observed)
    }

    /// The finding if the consumer does something else than expected.
    pub(super) fn wrong(&self, observed: impl Into<String>) -> Answer {
        self.broken(self.words.wrong.as_ref(), observed)
    }

    fn broken(&self, words: Option<&FindingWords>, observed: impl Into<String>) -> Answer {
        let Some(FindingWords { message, expected }) = words else {
            let name = &self.expectation.profile.name;
            return Answer::Unknown(format!("the consumer did not call the member of {name}").into());
        };
        let object = self.run.profile_ref(&self.expectation.profile);
        let finding = Finding::on(object, message)
            .at(&self.words.path)
            .expected(expected);
        Answer::broken(finding.observed(observed))
    }
}
