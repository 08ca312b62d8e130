//! Evaluates a rule that consists of expectations: rows of the scenarios.

use std::ops::RangeInclusive;

use evidence::{Expectation, ScenarioRun};

use super::{ConsumerRun, act::Act, micros};
use crate::{
    engine::prelude::*,
    rules::{ExpectationWords, FindingWords},
};

/// The reason if a missing call may come from missing work.
const GIVE_IT_WORK: &str = "the consumer does not call every member; give it work with the hook `work`";
/// The reason if no call could end. It counts only if no other expectation of the rule was judged.
pub(super) const TOO_BRIEFLY: &str = "the consumer called the member too briefly before its access ended";
pub(super) const TOO_SHORT: &str = "the run did not wait as long as the consumer may take";

/// What a rule judges differently from others.
pub(crate) type SpecialCase = fn(&Case) -> Option<Exception>;

/// How an expectation is judged differently from others.
pub(crate) enum Exception {
    /// The evidence does not decide.
    Unjudged(Reason),
    /// Another behavior is a warning only.
    WarningOnly,
}

/// An expectation with what the consumer did.
pub(crate) struct Case<'r, 'e> {
    pub(crate) run: &'r ConsumerRun<'e>,
    words: &'r ExpectationWords,
    pub(crate) expectation: &'e Expectation,
    /// The scenario of which the profile is the control, if it is one.
    pub(crate) scenario: Option<&'e ScenarioRun>,
    pub(super) period: RangeInclusive<Micros>,
    /// What the consumer did for the member in the period. Of the plugin, only the runs count that gave no credential.
    pub(super) acts: Vec<Act<'e>>,
}

pub(super) fn evaluate(
    run: &ConsumerRun,
    rule: &str,
    words: &ExpectationWords,
    special_case: SpecialCase,
    findings: &mut Findings,
) {
    let expectations = run.testbed.expectations.iter();
    for expectation in expectations.filter(|expectation| expectation.rule == rule) {
        match Case::of(run, words, expectation).answer(special_case) {
            Answer::Unknown(reason) if *reason == *TOO_BRIEFLY => {
                findings.cannot_tell_unless_examined(reason);
            }
            answer => findings.count(answer),
        }
    }
}

impl<'r, 'e> Case<'r, 'e> {
    fn of(run: &'r ConsumerRun<'e>, words: &'r ExpectationWords, expectation: &'e Expectation) -> Self {
        let mut scenarios = run.testbed.scenarios.iter();
        let period = micros(expectation.from)..=micros(expectation.until);
        let acts = run.acts_for(&expectation.url, period.clone());
        Self {
            run,
            words,
            expectation,
            scenario: scenarios.find(|scenario| scenario.control == expectation.member),
            acts: acts.filter(|act| !act.gives_credential()).collect(),
            period,
        }
    }

    fn answer(&self, special_case: SpecialCase) -> Answer {
        if let Some(reason) = &self.expectation.void {
            return Answer::unknown(reason.clone());
        }
        let exception = special_case(self);
        if let Some(Exception::Unjudged(reason)) = exception {
            return Answer::Unknown(reason);
        }
        let answer = self.outcome().unwrap_or_else(Answer::Unknown);
        if self.expectation.warn || exception.is_some() {
            answer.as_warning()
        } else {
            answer
        }
    }

    /// Whether the rule is on calls, and not on outputs: its function judges them, and says what is wrong.
    pub(super) fn needs_calls(&self) -> bool {
        self.words.missing.is_none() && self.words.wrong.is_none()
    }

    /// When the consumer must have followed the change that begins the period.
    pub(super) fn settled_at(&self) -> Result<Micros, Reason> {
        let settle = self.run.settle.clone()?;
        Ok(self.period.start().saturating_add(settle))
    }

    /// Checks that the consumer called a control in the period, that the period was long enough, and that the evidence lacks
    /// nothing the consumer did in it.
    pub(super) fn check_alive(&self) -> Result<(), Reason> {
        self.run.check_logs(&self.period)?;
        if self.settled_at()? > *self.period.end() {
            return Err(TOO_SHORT.into());
        }
        if self.run.control_calls().any(|at| self.period.contains(&at)) {
            return Ok(());
        }
        Err(match self.run.calls().last() {
            Some(last) if micros(last.at()) < *self.period.end() => {
                let last = last.at();
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
            let is_begun = self.period.contains(&micros(scenario.from));
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
            return Answer::unknown(format!("the consumer did not call the member of {name}"));
        };
        let object = self.run.profile_ref(&self.expectation.profile);
        let finding = Finding::on(object, message).at(&self.words.path);
        Answer::broken(finding.expected(expected).observed(observed))
    }
}
