//! Evaluates a rule that consists of expectations: rows of the scenarios. A consumer acts for a member: it calls the member,
//! runs the credential plugin, or writes an output.

use std::{fmt, ops::RangeInclusive};

use evidence::{
    CallEvent, Expectation, MemberCall, Output, PluginAnswer, PluginCall, ScenarioRun, api::address::Address,
};

use super::{ConsumerRun, micros};
use crate::{
    engine::prelude::*,
    rules::{ExpectationWords, FindingWords},
};

/// The reason if a missing call may come from missing work.
const GIVE_IT_WORK: &str = "the consumer does not call every member; give it work with the hook `work`";
/// The reasons if no call could end. They count only if no other expectation of the rule was judged.
pub(super) const NEVER_HAD_CALLED: &str = "the consumer never called the member to which its access ended";
pub(super) const HAD_CALLED_AT_FIRST: &str =
    "the consumer called the member too briefly before its access ended";
pub(super) const TOO_SHORT: &str = "the run did not wait as long as the consumer may take";
/// The reason if the consumer reached one control of several with the same difficulty.
const REACHED_ANOTHER: &str = "the consumer reached the control of another scenario of the same kind";

/// What a rule that consists of expectations does differently from others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpecialCases {
    /// Why an expectation is not judged.
    pub(crate) unjudged: fn(&Case) -> Option<Reason>,
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

pub(super) fn evaluate(
    run: &ConsumerRun,
    rule: &str,
    words: &ExpectationWords,
    special: &SpecialCases,
    findings: &mut Findings,
) {
    let expectations = run.testbed.expectations.iter();
    let own = expectations.filter(|expectation| expectation.rule == rule);
    let cases = own.map(|expectation| Case {
        run,
        words,
        expectation,
        acts: run.acts(&expectation.url, period(expectation)),
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

    pub(crate) fn period(&self) -> RangeInclusive<Micros> {
        period(self.expectation)
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
        let finding = Finding::on(object, message).at(&self.words.path);
        Answer::broken(finding.expected(expected).observed(observed))
    }
}

fn period(expectation: &Expectation) -> RangeInclusive<Micros> {
    micros(expectation.from)..=micros(expectation.until)
}

/// Something that the consumer did for a member.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Act<'e> {
    Call(&'e MemberCall),
    PluginRun(&'e PluginCall),
    Output(Timestamp, &'e Output),
}

impl<'e> ConsumerRun<'e> {
    /// What the consumer did for a URL in a period, in order of time. Of the plugin, only the runs count that gave no credential:
    /// a call follows the other ones.
    pub(crate) fn acts(&self, url: &str, period: RangeInclusive<Micros>) -> Vec<Act<'e>> {
        if url.is_empty() {
            return Vec::new();
        }
        let calls = self.calls_to(url).filter(|call| is_act(call));
        let leads_to_url =
            |call: &&MemberCall| matches!(&call.what, CallEvent::Proxied { host } if is_way_to(url, host));
        let calls = calls.chain(self.member_calls().filter(leads_to_url));
        let runs = self.plugin_runs().filter(|run| is_run_for(run, url));
        let runs = runs.filter(|run| !gives_credential(run));
        let outputs = self.testbed.outputs.iter().flat_map(|snapshot| {
            let outputs = snapshot.outputs.iter();
            let outputs = outputs.filter(|output| output.servers.contains(url));
            outputs.map(|output| Act::Output(snapshot.at, output))
        });
        let acts = calls.map(Act::Call).chain(runs.map(Act::PluginRun));
        let mut acts: Vec<Act> = acts.chain(outputs).collect();
        acts.retain(|act| period.contains(&micros(act.at())));
        acts.sort_by_key(Act::at);
        acts
    }

    /// All calls and plugin runs of the consumer.
    pub(crate) fn all_acts(&self) -> impl Iterator<Item = Act<'e>> {
        let calls = self.member_calls().filter(|call| is_act(call)).map(Act::Call);
        calls.chain(self.plugin_runs().map(Act::PluginRun))
    }
}

impl Act<'_> {
    /// When it happened.
    pub(crate) fn at(&self) -> Timestamp {
        match self {
            Self::Call(call) => call.at,
            Self::PluginRun(run) => run.at,
            Self::Output(at, _) => *at,
        }
    }

    pub(super) fn is_output(&self) -> bool {
        matches!(self, Self::Output(..))
    }

    /// Whether it goes on by itself: a watch, or an output.
    pub(super) fn goes_on(&self) -> bool {
        match self {
            Self::Call(call) => matches!(call.what, CallEvent::Request { watch: true, .. }),
            Self::PluginRun(_) => false,
            Self::Output(..) => true,
        }
    }
}

impl fmt::Display for Act<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.at();
        match self {
            Self::Call(call) => write!(f, "a call to {} at {at}", redacted(&call.url)),
            Self::PluginRun(run) => {
                write!(f, "a run of the plugin {} ", redacted(&run.provider))?;
                match run.cluster.as_ref().map_or("", |cluster| &*cluster.server) {
                    "" => write!(f, "without a server at {at}"),
                    server => write!(f, "for {} at {at}", redacted(server)),
                }
            }
            Self::Output(_, output) => write!(f, "{} at {at}", redacted(&output.object)),
        }
    }
}

/// Whether the consumer called a member. A connection without a TLS hello may be a port scan.
fn is_act(call: &MemberCall) -> bool {
    match call.what {
        CallEvent::Request { .. } => true,
        CallEvent::Connected {} | CallEvent::Failed { .. } => call.hello,
        CallEvent::Proxied { .. } | CallEvent::Closed {} => false,
    }
}

pub(super) fn is_run_for(run: &PluginCall, url: &str) -> bool {
    run.cluster.as_ref().is_some_and(|cluster| cluster.server == url)
}

pub(super) fn gives_credential(run: &PluginCall) -> bool {
    matches!(run.answer, PluginAnswer::Credential { .. })
}

/// Whether a request to a proxy for that host and port leads to a URL.
fn is_way_to(url: &str, asked: &str) -> bool {
    let (url, asked) = (Address::split(url), Address::split(asked));
    let implied = if url.has_scheme("http") { "80" } else { "443" };
    let port = url.port.filter(|port| !port.is_empty()).unwrap_or(implied);
    without_dot(url.host).eq_ignore_ascii_case(without_dot(asked.host))
        && asked.port.is_none_or(|asked| asked == port)
}

/// A host without the dot of a fully qualified name.
pub(crate) fn without_dot(host: &str) -> &str {
    host.strip_suffix('.').unwrap_or(host)
}
