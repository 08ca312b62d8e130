//! A run of a consumer on the testbed: what the run published and expected, and what the consumer did.
//!
//! The API server's responses to the run's own writes say what each profile was. No watch is needed for that.

mod act;
mod expectation;
mod outcome;
mod writes;

use std::ops::RangeInclusive;

use evidence::{
    ConsumerSpec, HookCall, MemberCall, PluginCall, Publication, Published, Testbed,
    api::{AccessProvider, names},
};

use self::{act::Act, expectation::SpecialCase};
pub(crate) use self::{
    expectation::{Case, Exception},
    writes::{consumer_writes, describe_writes},
};
use super::object_named;
use crate::{engine::prelude::*, rules::ExpectationWords};

/// The reason if the evidence was recorded before runs stated what they expect.
const RECORD_AGAIN: &str = "the evidence has no expectations: record it again";
pub(crate) const NEVER_CALLED: &str = "the consumer never called the member of a control profile: check that it runs, reads the \
     namespaces of the run, and has a plugin for the provider";
/// The most publications or expectations that are judged. A run has a few hundred.
const MOST_PUBLICATIONS: usize = 5_000;
/// The most calls that are judged; a run records no more of each kind.
const MOST_CALLS: usize = 50_000;

pub(crate) struct ConsumerRun<'e> {
    pub(crate) evidence: &'e Evidence,
    pub(crate) testbed: &'e Testbed,
    /// What the consumer's author says of it, without a claim that the evidence contradicts.
    pub(crate) consumer: ConsumerSpec,
    /// How long the consumer may take to follow a change; the reason if it never called the member of a control.
    pub(crate) settle: Result<Micros, Reason>,
    /// What the consumer did, in order of time.
    acts: Vec<Act<'e>>,
    /// The published versions of profiles.
    versions: Vec<PublishedVersion<'e>>,
}

struct PublishedVersion<'e> {
    profile: &'e ClusterProfile,
    /// The entries of the providers that the consumer has a plugin for.
    entries: Vec<&'e AccessProvider>,
    /// When the consumer may know it as the last version.
    last: RangeInclusive<Micros>,
}

impl<'e> ConsumerRun<'e> {
    /// Reads the run, or says why it cannot be judged.
    pub(crate) fn of(evidence: &'e Evidence) -> Result<Self, Reason> {
        let testbed = evidence.testbed.as_ref().ok_or("the run had no testbed")?;
        if testbed.expectations.is_empty() {
            return Err(RECORD_AGAIN.into());
        }
        let settle = testbed.settle_seconds.ok_or(NEVER_CALLED.into());
        let settle = settle.map(|seconds| Micros::try_from(seconds).unwrap_or(Micros::MAX));
        let mut run = Self {
            evidence,
            testbed,
            consumer: testbed.consumer.clone(),
            settle: settle.map(|seconds| seconds.saturating_mul(SECOND)),
            acts: act::all(evidence, testbed),
            versions: Vec::new(),
        };
        let publications = testbed.published.len().max(testbed.expectations.len());
        let calls = run.member_calls().count().max(run.plugin_runs().count());
        if publications > MOST_PUBLICATIONS || calls > MOST_CALLS {
            return Err("the testbed in the evidence exceeds the limits of a run".into());
        }
        run.versions = published_versions(&testbed.published, &run.consumer).collect();
        let has_called = run.calls().next().is_some();
        run.consumer.outputs_only &= !has_called;
        Ok(run)
    }

    pub(crate) fn member_calls(&self) -> impl Iterator<Item = &'e MemberCall> + use<'e> {
        self.evidence.member_calls.iter().flat_map(|log| &log.events)
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
        let mut versions = self.versions.iter().rev();
        match versions.find(|version| ObjectKey::of(version.profile) == *profile) {
            Some(version) => ObjectRef::from(version.profile),
            None => object_named(names::KIND, (&profile.namespace, &profile.name)),
        }
    }

    /// The entries of known providers that the consumer may have read by then: each was in the last version at some time since
    /// it had to follow earlier changes. A consumer that was stopped goes on with what it knew before.
    fn entries_at(&self, at: Micros) -> impl Iterator<Item = (&'e ClusterProfile, &'e AccessProvider)> {
        let settle = self.settle.as_ref().copied().unwrap_or(Micros::MAX);
        let recent = at.saturating_sub(settle)..=at;
        let stops = self.pauses().filter(|pause| overlap(pause, &recent));
        let knowledge = stops.map(|pause| *pause.start()).chain([at]).min().unwrap_or(at);
        let period = knowledge.saturating_sub(settle)..=at;
        let versions = self.versions.iter();
        let versions = versions.filter(move |version| overlap(&version.last, &period));
        versions.flat_map(|version| version.entries.iter().map(|entry| (version.profile, *entry)))
    }

    /// The entries of known providers in all published profiles.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &'e AccessProvider> {
        let entries = self.versions.iter().flat_map(|version| &version.entries);
        entries.copied()
    }

    /// Checks that the logs lack nothing that happened in a period.
    fn check_logs(&self, period: &RangeInclusive<Micros>) -> Result<(), Reason> {
        let kinds = [Kind::MemberCalls, Kind::PluginCalls, Kind::Outputs];
        let mut gaps = kinds.into_iter().flat_map(|kind| self.evidence.gaps(kind));
        let gap = gaps.find(|gap| overlap(&(gap.span().0..=gap.span().1), period));
        gap.map_or(Ok(()), |gap| Err(gap.reason.clone()))
    }

    /// Judges each act by the least severe answer of all entries that may be the reason for it. A finding that differs in what
    /// was observed only is counted once.
    fn judge_acts(&self, check: impl Fn(&Act, &AccessEntry) -> Answer, findings: &mut Findings) {
        let mut identities = BTreeSet::new();
        for act in self.calls() {
            let entries = self.entries_at(micros(act.at()));
            let entries = entries.filter(|(_, entry)| act.is_for(server(entry)));
            let answers = entries.map(|(profile, provider)| {
                let answer = check(act, &AccessEntry { run: self, provider });
                answer.on(|| profile.into())
            });
            let answer = answers.min_by_key(severity).unwrap_or(Answer::NotApplicable);
            let is_new = answer.findings().first().is_none_or(|finding| {
                let object = finding.object.to_string();
                identities.insert((object, finding.message.clone(), finding.expected.clone()))
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

struct ConsumerRule<F> {
    judges_around_gaps: bool,
    judge: F,
}

fn on_run(judge: impl Fn(&ConsumerRun, &mut Findings) + Send + Sync) -> impl Evaluate {
    ConsumerRule {
        judges_around_gaps: false,
        judge,
    }
}

/// A rule on the run as a whole; one answer for each thing that was examined. Findings name their object.
pub(crate) fn on_testbed(check: fn(&ConsumerRun) -> Vec<Answer>) -> impl Evaluate {
    on_run(move |run, findings| {
        check(run).into_iter().for_each(|answer| findings.count(answer));
    })
}

/// A rule on each connection to a member, with an entry that may be the reason for it.
pub(crate) fn connections(check: fn(&MemberCall, &AccessEntry) -> Answer) -> impl Evaluate {
    let check_act = move |act: &Act, entry: &AccessEntry| {
        let connection = act.connection();
        connection.map_or(Answer::NotApplicable, |connection| check(connection, entry))
    };
    on_run(move |run, findings| run.judge_acts(check_act, findings))
}

/// A rule on each run of the credential plugin, with an entry that may be the reason for it.
pub(crate) fn plugin_runs(check: fn(&PluginCall, &AccessEntry) -> Answer) -> impl Evaluate {
    let check_act = move |act: &Act, entry: &AccessEntry| match act {
        Act::PluginRun(run) => check(run, entry),
        _ => Answer::NotApplicable,
    };
    on_run(move |run, findings| run.judge_acts(check_act, findings))
}

/// A rule that consists of expectations: rows of the scenarios. It has no function.
pub(crate) fn expectations(
    rule: &'static str,
    words: ExpectationWords,
    special_case: SpecialCase,
) -> impl Evaluate {
    ConsumerRule {
        judges_around_gaps: true,
        judge: move |run: &ConsumerRun, findings: &mut Findings| {
            expectation::evaluate(run, rule, &words, special_case, findings);
        },
    }
}

impl<F: Fn(&ConsumerRun, &mut Findings) + Send + Sync> Evaluate for ConsumerRule<F> {
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

/// The URL of an entry; empty if it has none.
fn server(entry: &AccessProvider) -> &str {
    entry.cluster.server.as_deref().unwrap_or_default()
}

pub(crate) fn micros(at: Timestamp) -> Micros {
    at.as_microsecond()
}

fn overlap(one: &RangeInclusive<Micros>, other: &RangeInclusive<Micros>) -> bool {
    one.start() <= other.end() && other.start() <= one.end()
}

fn published_versions<'e>(
    published: &'e [Publication],
    consumer: &ConsumerSpec,
) -> impl Iterator<Item = PublishedVersion<'e>> {
    published.iter().enumerate().filter_map(|(place, publication)| {
        let Published::Profile(profile) = &publication.state else {
            return None;
        };
        let mut later = published[place + 1..].iter();
        let next = later
            .find(|next| next.object == publication.object && !matches!(next.state, Published::Slice(_)));
        let end = next.map_or(Micros::MAX, |next| micros(next.answered));
        Some(PublishedVersion {
            profile,
            entries: plugin_entries(profile, consumer),
            last: micros(publication.sent)..=end,
        })
    })
}

/// The entries of the providers that the consumer has a plugin for. An entry of `accessProviders` replaces a deprecated one.
fn plugin_entries<'p>(profile: &'p ClusterProfile, consumer: &ConsumerSpec) -> Vec<&'p AccessProvider> {
    let mut names = BTreeSet::new();
    let entries = profile.access().filter(|entry| names.insert(&*entry.name));
    let entries_of_providers = entries.filter(|entry| consumer.providers.contains(&*entry.name));
    entries_of_providers.collect()
}
