//! A run of a consumer on the testbed: what the run published and expected, and what the consumer did.
//!
//! The API server's responses to the run's own writes say what each profile was. No watch is needed for that.

mod expectation;
mod outcome;
mod writes;

use std::{collections::HashMap, ops::RangeInclusive};

use evidence::{
    Asked, CallEvent, ConsumerSpec, Gap, HookCall, MemberCall, PluginCall, Published, Testbed,
    api::{AccessProvider, names},
};

pub(crate) use self::expectation::{Case, SpecialCases, without_dot};
use self::{expectation::is_run_for, writes::CheckWrites};
use super::object_named;
use crate::{engine::prelude::*, rules::ExpectationWords};

/// The reason if the evidence was recorded before runs stated what they expect.
const RECORD_AGAIN: &str = "the evidence has no expectations: record it again";
pub(crate) const NEVER_CALLED: &str = "the consumer never called the member of a control profile: check that it runs, reads the \
     namespaces of the run, and has a plugin for the provider";
/// The most publications or expectations that are judged. A run has a few hundred.
const MOST_PUBLICATIONS: usize = 5_000;
/// The most calls that are judged; a run records no more.
const MOST_CALLS: usize = 50_000;

pub(crate) struct ConsumerRun<'e> {
    pub(crate) evidence: &'e Evidence,
    pub(crate) testbed: &'e Testbed,
    /// How long the consumer may take to follow a change; the reason if it never called the member of a control.
    pub(crate) settle: Result<Micros, Reason>,
    calls: HashMap<&'e str, Vec<&'e MemberCall>>,
    versions: Vec<PublishedVersion<'e>>,
}

/// A published version of a profile, with the time in which the consumer may know it as the last one.
struct PublishedVersion<'e> {
    profile: &'e ClusterProfile,
    sent: Micros,
    replaced: Micros,
}

impl<'e> ConsumerRun<'e> {
    /// Reads the run, or says why it cannot be judged.
    pub(crate) fn of(evidence: &'e Evidence) -> Result<Self, Reason> {
        let testbed = evidence.testbed.as_ref().ok_or("the run had no testbed")?;
        if testbed.expectations.is_empty() {
            let gap = evidence.gaps(Kind::Testbed).next();
            return Err(gap.map_or(RECORD_AGAIN.into(), |gap| gap.reason.clone()));
        }
        let settle = testbed
            .settle_seconds
            .and_then(|seconds| Micros::try_from(seconds).ok());
        let settle = settle.map(|seconds| seconds.saturating_mul(SECOND));
        let mut run = Self {
            evidence,
            testbed,
            settle: settle.ok_or(NEVER_CALLED.into()),
            calls: HashMap::new(),
            versions: Vec::new(),
        };
        let publications = testbed.published.len().max(testbed.expectations.len());
        let calls = run.member_calls().count().max(run.plugin_runs().count());
        if publications > MOST_PUBLICATIONS || calls > MOST_CALLS {
            return Err("the testbed in the evidence exceeds the limits of a run".into());
        }
        run.versions = published_versions(testbed);
        for call in run.member_calls() {
            run.calls.entry(&call.url).or_default().push(call);
        }
        Ok(run)
    }

    /// What the consumer's author says of it.
    pub(crate) fn consumer(&self) -> &'e ConsumerSpec {
        &self.testbed.consumer
    }

    /// The same, without a claim that the evidence contradicts.
    pub(crate) fn claims(&self) -> ConsumerSpec {
        let consumer = self.consumer().clone();
        ConsumerSpec {
            outputs_only: consumer.outputs_only && self.all_acts().next().is_none(),
            ..consumer
        }
    }

    pub(crate) fn member_calls(&self) -> impl Iterator<Item = &'e MemberCall> + use<'e> {
        self.evidence.member_calls.iter().flat_map(|log| &log.events)
    }

    /// All that reached an address, in order of time.
    pub(crate) fn calls_to(&self, url: &str) -> impl Iterator<Item = &'e MemberCall> {
        self.calls.get(url).into_iter().flatten().copied()
    }

    /// The connections to an address in a period that sent a TLS hello.
    pub(crate) fn connections_to(
        &self,
        url: &str,
        period: RangeInclusive<Micros>,
    ) -> impl Iterator<Item = &'e MemberCall> {
        let calls = self.calls_to(url).filter(|call| is_connection(call));
        calls.filter(move |call| period.contains(&micros(call.at)))
    }

    pub(crate) fn plugin_runs(&self) -> impl Iterator<Item = &'e PluginCall> + use<'e> {
        self.evidence.plugin_calls.iter().flat_map(|log| &log.events)
    }

    pub(crate) fn hooks(&self, action: DriverAction) -> impl DoubleEndedIterator<Item = &'e HookCall> {
        let calls = self.testbed.hook_calls.iter();
        calls.filter(move |call| call.action == action)
    }

    /// When the consumer was stopped, and when it was started again.
    pub(crate) fn pauses(&self) -> impl Iterator<Item = RangeInclusive<Micros>> {
        self.hooks(DriverAction::Stop).map(|stop| {
            let mut starts = self.hooks(DriverAction::Start);
            let start = starts.find(|start| start.until > stop.from);
            micros(stop.from)..=start.map_or(Micros::MAX, |start| micros(start.until))
        })
    }

    /// When the consumer first called the member of each control.
    fn control_calls(&self) -> impl Iterator<Item = Micros> {
        let scenarios = self.testbed.scenarios.iter();
        scenarios.filter_map(|scenario| scenario.called_at.map(micros))
    }

    /// The published object of that name.
    pub(crate) fn profile_ref(&self, profile: &ObjectKey) -> ObjectRef {
        let is_it = |version: &&PublishedVersion| {
            *version.profile.metadata.name == *profile.name
                && *version.profile.metadata.namespace == *profile.namespace
        };
        match self.versions.iter().rfind(is_it) {
            Some(version) => ObjectRef::from(version.profile),
            None => object_named(names::KIND, (&profile.namespace, &profile.name)),
        }
    }

    /// The entries of known providers that the consumer may have read by then: each was in the last version at some time since
    /// it had to follow earlier changes. A consumer that was stopped goes on with what it knew before.
    fn entries_at(&self, at: Micros) -> impl Iterator<Item = (&'e ClusterProfile, &'e AccessProvider)> {
        let since = self.settle.as_ref().map_or(Micros::MIN, |settle| {
            let since = at.saturating_sub(*settle);
            let pauses = self.pauses();
            let pauses = pauses.filter(|pause| *pause.start() <= at && since <= *pause.end());
            let stopped = pauses.map(|pause| pause.start().saturating_sub(*settle));
            stopped.chain([since]).min().unwrap_or(since)
        });
        let versions = self.versions.iter();
        let read = versions.filter(move |version| version.sent <= at && since <= version.replaced);
        read.flat_map(|version| known(version.profile, self.consumer()).map(|entry| (version.profile, entry)))
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = &'e AccessProvider> {
        let versions = self.versions.iter();
        versions.flat_map(|version| known(version.profile, self.consumer()))
    }

    /// Checks that the logs lack nothing that happened in a period.
    pub(crate) fn check_logged(&self, period: &RangeInclusive<Micros>) -> Result<(), Reason> {
        let has_outputs = !self.consumer().outputs.is_empty();
        let kinds = [Kind::MemberCalls, Kind::PluginCalls].into_iter();
        for kind in kinds.chain(has_outputs.then_some(Kind::Outputs)) {
            if !matches!(self.evidence.asked(kind), Asked::Yes) {
                return Err(format!("evidence was not requested: {kind}").into());
            }
            let overlaps = |gap: &&Gap| {
                let (start, end) = gap.span();
                start <= *period.end() && *period.start() <= end
            };
            if let Some(gap) = self.evidence.gaps(kind).find(overlaps) {
                return Err(gap.reason.clone());
            }
        }
        match self.evidence.member_calls.as_ref().map(|log| log.covers.until) {
            Some(end) if micros(end) < *period.end() => Err(format!(
                "the log of calls is full since {end}: the consumer floods the members or the plugin"
            )
            .into()),
            _ => Ok(()),
        }
    }

    /// Judges calls, or runs of the plugin, each by the least severe answer of all entries that may be the reason for it. A
    /// finding that differs in what was observed only is counted once.
    fn judge_calls<C: 'e>(
        &self,
        calls: impl Iterator<Item = &'e C>,
        at: fn(&C) -> Timestamp,
        is_for: fn(&C, &AccessProvider) -> bool,
        check: fn(&C, &AccessEntry) -> Answer,
        findings: &mut Findings,
    ) {
        let mut reported = BTreeSet::new();
        for call in calls {
            let entries = self.entries_at(micros(at(call)));
            let entries = entries.filter(|(_, entry)| is_for(call, entry));
            let answers = entries.map(|(profile, provider)| {
                let answer = check(call, &AccessEntry { run: self, provider });
                answer.on(|| profile.into())
            });
            let answer = answers.min_by_key(severity).unwrap_or(Answer::NotApplicable);
            let is_new = answer.findings().first().is_none_or(|finding| {
                let object = finding.object.to_string();
                reported.insert((object, finding.message.clone(), finding.expected.clone()))
            });
            if is_new {
                findings.count(answer);
            }
        }
    }
}

/// An access provider entry of a published profile that may be the reason for a call.
pub(crate) struct AccessEntry<'r, 'e> {
    pub(crate) run: &'r ConsumerRun<'e>,
    pub(crate) provider: &'e AccessProvider,
}

type JudgeRun = Box<dyn Fn(&ConsumerRun, &mut Findings) + Send + Sync>;

pub(crate) struct ConsumerRule {
    judges_around_gaps: bool,
    judge: JudgeRun,
}

impl ConsumerRule {
    fn new(judge: impl Fn(&ConsumerRun, &mut Findings) + Send + Sync + 'static) -> Self {
        Self {
            judges_around_gaps: false,
            judge: Box::new(judge),
        }
    }
}

/// A rule on the run as a whole; one answer for each thing that was examined. Findings name their object.
pub(crate) fn on_testbed(check: fn(&ConsumerRun) -> Vec<Answer>) -> ConsumerRule {
    ConsumerRule::new(move |run, findings| {
        check(run).into_iter().for_each(|answer| findings.count(answer));
    })
}

/// A rule on each connection to a member, with an entry that may be the reason for it.
pub(crate) fn connections(check: fn(&MemberCall, &AccessEntry) -> Answer) -> ConsumerRule {
    ConsumerRule::new(move |run, findings| {
        let calls = run.member_calls().filter(|call| is_connection(call));
        let is_for = |call: &MemberCall, entry: &AccessProvider| call.url == server(entry);
        run.judge_calls(calls, |call| call.at, is_for, check, findings);
    })
}

/// A rule on each run of the credential plugin, with an entry that may be the reason for it.
pub(crate) fn plugin_runs(check: fn(&PluginCall, &AccessEntry) -> Answer) -> ConsumerRule {
    ConsumerRule::new(move |run, findings| {
        let is_for = |call: &PluginCall, entry: &AccessProvider| {
            *entry.name == *call.provider && is_run_for(call, server(entry))
        };
        run.judge_calls(run.plugin_runs(), |call| call.at, is_for, check, findings);
    })
}

/// A rule on the consumer's accepted writes to published objects of a kind, and to other profiles in their namespaces.
pub(crate) fn consumer_writes(kind: ObjectKind, check: CheckWrites) -> ConsumerRule {
    ConsumerRule::new(move |run, findings| writes::evaluate(run, kind, check, findings))
}

/// A rule that consists of expectations: rows of the scenarios. It has no function.
pub(crate) fn expectations(rule: &'static str, words: ExpectationWords, cases: SpecialCases) -> ConsumerRule {
    ConsumerRule {
        judges_around_gaps: true,
        ..ConsumerRule::new(move |run, findings| {
            expectation::evaluate(run, rule, &words, &cases, findings);
        })
    }
}

impl Evaluate for ConsumerRule {
    fn judges_events(&self) -> bool {
        true
    }

    fn judges_around_gaps(&self) -> bool {
        self.judges_around_gaps
    }

    fn evaluate(&self, hub: &Hub, findings: &mut Findings) {
        match hub.consumer_run() {
            Err(reason) => findings.cannot_tell(reason.clone()),
            Ok(run) => (self.judge)(run, findings),
        }
    }
}

fn severity(answer: &Answer) -> u8 {
    match answer {
        Answer::Kept => 0,
        Answer::NotApplicable => 1,
        Answer::Unknown(_) => 2,
        Answer::Warning(_) => 3,
        Answer::Broken(_) => 4,
    }
}

/// The entries of the providers that the consumer has a plugin for. An entry of `accessProviders` replaces a deprecated one.
fn known<'p>(
    profile: &'p ClusterProfile,
    consumer: &ConsumerSpec,
) -> impl Iterator<Item = &'p AccessProvider> {
    let mut names = BTreeSet::new();
    let entries = profile.access().filter(move |entry| names.insert(&*entry.name));
    entries.filter(|entry| consumer.providers.contains(&*entry.name))
}

/// The URL of an entry; empty if it has none.
fn server(entry: &AccessProvider) -> &str {
    entry.cluster.server.as_deref().unwrap_or_default()
}

pub(crate) fn micros(at: Timestamp) -> Micros {
    at.as_microsecond()
}

/// Whether a connection began that sent a TLS hello.
fn is_connection(call: &MemberCall) -> bool {
    call.hello && matches!(call.what, CallEvent::Connected {} | CallEvent::Failed { .. })
}

fn published_versions(testbed: &Testbed) -> Vec<PublishedVersion<'_>> {
    let mut versions: Vec<PublishedVersion> = Vec::new();
    let mut last: HashMap<&ObjectKey, usize> = HashMap::new();
    for publication in &testbed.published {
        if !matches!(publication.state, Published::Slice(_))
            && let Some(place) = last.remove(&publication.object)
        {
            versions[place].replaced = micros(publication.answered);
        }
        if let Published::Profile(profile) = &publication.state {
            last.insert(&publication.object, versions.len());
            let sent = micros(publication.sent);
            versions.push(PublishedVersion {
                profile,
                sent,
                replaced: Micros::MAX,
            });
        }
    }
    versions
}
