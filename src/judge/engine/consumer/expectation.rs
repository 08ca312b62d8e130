//! Evaluates a rule that consists of expectations: rows of the scenario table.

use evidence::{ConsumerSpec, Expectation, Reason, ScenarioRun};

use super::{Act, ConsumerRun, judged_run, micros};
use crate::{
    engine::{Answer, Evaluate, Hub},
    rules::{ExpectationWords, FindingWords},
    subjects::{Finding, Findings},
    time::Micros,
};

/// The reason if the consumer never called a control.
pub(super) const NEVER_CALLED: &str = "the consumer never called the member of a control profile: check that it runs, reads the \
     namespaces of the run, and has a plugin for the provider";
/// The reason if a missing call may come from missing work.
const GIVE_IT_WORK: &str = "the consumer does not call every member; give it work with the hook `work`";
/// The reasons if no call could end. They count only if no other expectation of the rule was judged.
pub(super) const NEVER_HAD_CALLED: &str = "the consumer never called the member to which its access ended";
pub(super) const HAD_CALLED_AT_FIRST: &str =
    "the consumer called the member to which its access ended at first only";
/// The reason if a period was too short.
pub(super) const TOO_SHORT: &str = "the run waited less than the consumer may take";

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

impl SpecialCases {
    /// None of them.
    pub(crate) const NONE: Self = Self {
        skipped: |_| None,
        unjudged: |_| None,
        is_warning: |_| false,
    };
}

/// A rule that consists of expectations: rows of the scenario table. It has no function.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    /// The id of the rule.
    pub(crate) rule: &'static str,
    pub(crate) words: ExpectationWords,
    pub(crate) cases: SpecialCases,
}

/// An expectation with what the consumer did.
pub(crate) struct Case<'r, 'e> {
    pub(crate) run: &'r ConsumerRun<'e>,
    rule: &'r Expected,
    pub(crate) expectation: &'e Expectation,
    /// What the consumer did for the member in the period.
    pub(super) acts: Vec<Act<'e>>,
}

impl Evaluate for Expected {
    fn evaluate(&self, hub: &Hub, findings: &mut Findings) {
        findings.nothing_happened(self.words.nothing_happened.clone());
        let Some(run) = judged_run(hub, self.cases.skipped, findings) else {
            return;
        };
        let own = run
            .testbed
            .expectations
            .iter()
            .filter(|expectation| expectation.rule == self.rule);
        let cases: Vec<Case> = own.map(|expectation| Case::new(run, self, expectation)).collect();
        let answers: Vec<Answer> = cases.iter().map(Case::answer).collect();
        let is_kept = |(case, answer): (&Case, &Answer)| case.scenario().is_some() && *answer == Answer::Kept;
        let is_any_control_kept = cases.iter().zip(&answers).any(is_kept);
        for (case, answer) in cases.iter().zip(answers) {
            match answer {
                Answer::Broken(_) if is_any_control_kept && case.scenario().is_some() => {
                    findings.cannot_tell(REACHED_ANOTHER);
                }
                Answer::Unknown(reason) if [NEVER_HAD_CALLED, HAD_CALLED_AT_FIRST].contains(&&*reason) => {
                    findings.cannot_tell_unless_examined(reason);
                }
                answer => findings.count(answer),
            }
        }
    }
}

/// The reason if the consumer reached one control of several beside the same difficulty.
const REACHED_ANOTHER: &str = "the consumer reached the control of another scenario of the same kind";

impl<'r, 'e> Case<'r, 'e> {
    fn new(run: &'r ConsumerRun<'e>, rule: &'r Expected, expectation: &'e Expectation) -> Self {
        let mut case = Self {
            run,
            rule,
            expectation,
            acts: Vec::new(),
        };
        case.acts = run.acts(&expectation.url, case.period());
        case
    }

    fn answer(&self) -> Answer {
        if let Some(reason) = &self.expectation.void {
            return Answer::Unknown(reason.clone().into());
        }
        if let Some(reason) = (self.rule.cases.unjudged)(self) {
            return Answer::Unknown(reason);
        }
        let answer = self.outcome();
        if self.expectation.warn || (self.rule.cases.is_warning)(self) {
            answer.as_warning()
        } else {
            answer
        }
    }

    /// The period, as a closed span.
    pub(crate) fn period(&self) -> (Micros, Micros) {
        (micros(self.expectation.from), micros(self.expectation.until))
    }

    /// The scenario of which the profile is the control, if it is one.
    pub(crate) fn scenario(&self) -> Option<&'e ScenarioRun> {
        let mut scenarios = self.run.testbed.scenarios.iter();
        scenarios.find(|scenario| scenario.control == self.expectation.member)
    }

    /// What the consumer did for a URL before the period.
    pub(super) fn acts_before(&self, url: &str) -> Vec<Act<'e>> {
        self.run
            .acts(url, (Micros::MIN, self.period().0.saturating_sub(1)))
    }

    /// When the consumer must have followed the change that begins the period; none if that is unknown.
    pub(super) fn settled(&self) -> Option<Micros> {
        Some(self.period().0.saturating_add(self.run.settle?))
    }

    /// Why the consumer may have done something that the evidence lacks, or may have been unable to do something.
    pub(super) fn why_idle(&self) -> Option<Reason> {
        let (from, until) = self.period();
        let Some(settled) = self.settled() else {
            return Some(NEVER_CALLED.into());
        };
        if let Some(reason) = self.run.why_unlogged(self.period()) {
            return Some(reason);
        }
        if until < settled {
            return Some(TOO_SHORT.into());
        }
        let is_alive = self
            .run
            .control_calls()
            .any(|called| (from..=until).contains(&called));
        (!is_alive).then(|| self.why_dead())
    }

    /// Why a missing act may have another cause than the profile.
    pub(super) fn why_silent(&self) -> Option<Reason> {
        let (from, until) = self.period();
        let scenarios = self.run.testbed.scenarios.iter();
        let begun = scenarios.filter(|scenario| (from..=until).contains(&micros(scenario.from)));
        let mut free = begun.filter(|scenario| !scenario.may_delay);
        let is_idle = self.why_idle();
        is_idle.or_else(|| {
            free.any(|scenario| scenario.called_at.is_none())
                .then(|| GIVE_IT_WORK.into())
        })
    }

    /// The consumer called no control in the period.
    fn why_dead(&self) -> Reason {
        match self.run.all_acts().iter().map(|act| act.at).max() {
            Some(last) if micros(last) < self.period().1 => {
                format!("the consumer has called no member since {last}: it may have ended").into()
            }
            _ => "the consumer called no control in the meantime".into(),
        }
    }

    /// The finding if the consumer does not do what was expected. Without words, the rule is inconclusive.
    pub(super) fn missing(&self, observed: impl Into<String>) -> Answer {
        self.broken(self.rule.words.missing.as_ref(), observed)
    }

    /// The finding if the consumer does something else than expected.
    pub(super) fn wrong(&self, observed: impl Into<String>) -> Answer {
        self.broken(self.rule.words.wrong.as_ref(), observed)
    }

    fn broken(&self, words: Option<&FindingWords>, observed: impl Into<String>) -> Answer {
        let Some(FindingWords { message, expected }) = words else {
            let name = &self.expectation.profile.name;
            return Answer::Unknown(format!("the consumer did not call the member of {name}").into());
        };
        let object = self.run.profile_ref(&self.expectation.profile);
        let finding = Finding::on(object, message)
            .at(&self.rule.words.path)
            .expected(expected);
        Answer::broken(finding.observed(observed))
    }
}
