//! A run of a consumer on the testbed: what the run published and expected, and what the consumer did.
//!
//! The API server's responses to the run's own writes say what each profile was. No watch is needed for that.

mod act;
mod calls;
mod expectation;
mod outcome;
mod writes;

use std::collections::{BTreeSet, HashMap};

use evidence::{
    Asked, CallEvent, ConsumerSpec, DriverAction, Evidence, Gap, HookCall, Kind, MemberCall, ObjectKey,
    ObjectRef, PluginCall, Published, Reason, Testbed,
    api::{AccessProvider, ClusterProfile, names},
};
use jiff::Timestamp;

pub(crate) use self::{
    act::{Act, without_dot},
    calls::{AccessEntry, connections, plugin_runs},
    expectation::{Case, Expected, SpecialCases},
    writes::{ConsumerWrites, consumer_writes},
};
use super::{Answer, Evaluate, Hub};
use crate::{
    subjects::Findings,
    time::{Micros, SECOND},
};

/// The reason if the evidence was recorded before runs stated what they expect.
const RECORD_AGAIN: &str = "the evidence has no expectations: record it again";
/// The most publications or expectations that are judged. A run has a few hundred.
const MOST_PUBLICATIONS: usize = 5_000;
/// The most calls that are judged; a run records no more.
const MOST_CALLS: usize = 50_000;

/// A consumer on the testbed.
pub(crate) struct ConsumerRun<'e> {
    pub(crate) evidence: &'e Evidence,
    pub(crate) testbed: &'e Testbed,
    /// How long the consumer may take to follow a change. None if it never called the member of a control.
    pub(crate) settle: Option<Micros>,
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
        let calls = evidence.member_calls.iter().flat_map(|log| &log.events);
        let runs = evidence.plugin_calls.iter().flat_map(|log| &log.events);
        if testbed.expectations.is_empty() {
            let mut gaps = evidence.gaps(Kind::Testbed);
            return Err(gaps.next().map_or(RECORD_AGAIN.into(), |gap| gap.reason.clone()));
        }
        let publications = testbed.published.len().max(testbed.expectations.len());
        if publications > MOST_PUBLICATIONS || calls.clone().count().max(runs.count()) > MOST_CALLS {
            return Err("the testbed is larger than that of any run".into());
        }
        let mut by_url: HashMap<&str, Vec<&MemberCall>> = HashMap::new();
        for call in calls {
            by_url.entry(&call.url).or_default().push(call);
        }
        let seconds = testbed
            .settle_seconds
            .and_then(|seconds| Micros::try_from(seconds).ok());
        Ok(Self {
            evidence,
            testbed,
            settle: seconds.map(|seconds| seconds.saturating_mul(SECOND)),
            calls: by_url,
            versions: published_versions(testbed),
        })
    }

    /// What the consumer's author says of it.
    pub(crate) fn consumer(&self) -> &'e ConsumerSpec {
        &self.testbed.consumer
    }

    /// All that reached members, in order of time.
    pub(crate) fn member_calls(&self) -> impl Iterator<Item = &'e MemberCall> + use<'e> {
        self.evidence.member_calls.iter().flat_map(|log| &log.events)
    }

    /// All that reached an address, in order of time.
    pub(crate) fn calls_to(&self, url: &str) -> &[&'e MemberCall] {
        self.calls.get(url).map_or(&[], Vec::as_slice)
    }

    /// The connections to an address in a period that sent a TLS hello.
    pub(crate) fn connections_to(
        &self,
        url: &str,
        (from, until): (Micros, Micros),
    ) -> impl Iterator<Item = &'e MemberCall> {
        let calls = self.calls_to(url).iter().copied();
        calls.filter(move |call| is_connection(call) && (from..=until).contains(&micros(call.at)))
    }

    /// The runs of the credential plugin, in order of time.
    pub(crate) fn plugin_runs(&self) -> impl Iterator<Item = &'e PluginCall> + use<'e> {
        self.evidence.plugin_calls.iter().flat_map(|log| &log.events)
    }

    /// The calls of a hook.
    pub(crate) fn hooks(&self, action: DriverAction) -> impl Iterator<Item = &'e HookCall> {
        let calls = self.testbed.hook_calls.iter();
        calls.filter(move |call| call.action == action)
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
        let published = self.versions.iter().rfind(is_it);
        published.map_or_else(
            || object_ref(names::KIND, profile),
            |version| ObjectRef::from(version.profile),
        )
    }

    /// The entries of known providers that the consumer may have read by then: each was in the last version at some time since
    /// it had to follow earlier changes.
    pub(crate) fn entries_at(
        &self,
        at: Micros,
    ) -> impl Iterator<Item = (&'e ClusterProfile, &'e AccessProvider)> {
        let since = self.knows_since(at);
        let versions = self.versions.iter();
        let read = versions.filter(move |version| version.sent <= at && since <= version.replaced);
        read.flat_map(|version| known(version.profile, self.consumer()).map(|entry| (version.profile, entry)))
    }

    /// All published entries of known providers.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &'e AccessProvider> {
        let versions = self.versions.iter();
        versions.flat_map(|version| known(version.profile, self.consumer()))
    }

    /// A consumer that was stopped goes on with what it knew before.
    fn knows_since(&self, at: Micros) -> Micros {
        let Some(settle) = self.settle else {
            return Micros::MIN;
        };
        let since = at.saturating_sub(settle);
        let pauses = self
            .pauses()
            .filter(|(stopped, started)| *stopped <= at && since <= *started);
        let stopped = pauses.map(|(stopped, _)| stopped.saturating_sub(settle)).min();
        stopped.map_or(since, |stopped| stopped.min(since))
    }

    /// When the consumer was stopped, and when it was started again.
    pub(crate) fn pauses(&self) -> impl Iterator<Item = (Micros, Micros)> {
        self.hooks(DriverAction::Stop).map(|stop| {
            let mut starts = self.hooks(DriverAction::Start);
            let start = starts.find(|start| start.until > stop.from);
            let started = start.map_or(Micros::MAX, |start| micros(start.until));
            (micros(stop.from), started)
        })
    }

    /// Why the logs may lack something that happened in a period.
    pub(crate) fn why_unlogged(&self, (from, until): (Micros, Micros)) -> Option<Reason> {
        let has_outputs = !self.consumer().outputs.is_empty();
        let kinds = [Kind::MemberCalls, Kind::PluginCalls].into_iter();
        let kinds = kinds.chain(has_outputs.then_some(Kind::Outputs));
        for kind in kinds {
            if !matches!(self.evidence.asked(kind), Asked::Yes) {
                return Some(format!("evidence not asked for: {kind}").into());
            }
            let mut gaps = self.evidence.gaps(kind);
            if let Some(gap) = gaps.find(|gap| overlaps(gap, from, until)) {
                return Some(gap.reason.clone());
            }
        }
        let end = self.evidence.member_calls.as_ref().map(|log| log.covers.until)?;
        (micros(end) < until).then(|| {
            let reason = format!(
                "the log of calls is full since {end}: the consumer floods the members or the plugin"
            );
            reason.into()
        })
    }
}

/// Evaluates a function once on the run, for rules on what no expectation, call, or write shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OnceOnTestbed {
    check: fn(&ConsumerRun) -> Vec<Answer>,
    nothing_happened: &'static str,
}

/// A rule on the run as a whole; one answer for each thing that was examined. Findings name their object.
pub(crate) fn on_testbed(
    check: fn(&ConsumerRun) -> Vec<Answer>,
    nothing_happened: &'static str,
) -> OnceOnTestbed {
    OnceOnTestbed {
        check,
        nothing_happened,
    }
}

impl Evaluate for OnceOnTestbed {
    fn judges_around_gaps(&self) -> bool {
        false
    }

    fn evaluate(&self, hub: &Hub, findings: &mut Findings) {
        findings.nothing_happened(self.nothing_happened);
        let Some(run) = judged_run(hub, |_| None, findings) else {
            return;
        };
        for answer in (self.check)(run) {
            findings.count(answer);
        }
    }
}

/// The run, if it can be judged and the rule is not skipped for its consumer. Otherwise the findings get the reason.
fn judged_run<'h, 'e>(
    hub: &'h Hub<'e>,
    skipped: fn(&ConsumerSpec) -> Option<Reason>,
    findings: &mut Findings,
) -> Option<&'h ConsumerRun<'e>> {
    let run = match hub.consumer_run() {
        Ok(run) => run,
        Err(reason) => {
            findings.cannot_tell(reason.clone());
            return None;
        }
    };
    if let Some(reason) = skipped(run.consumer()) {
        findings.not_asked(reason);
        return None;
    }
    Some(run)
}

/// The entries of the providers that the consumer has a plugin for. An entry of `accessProviders` replaces a deprecated one.
pub(crate) fn known<'p>(
    profile: &'p ClusterProfile,
    consumer: &ConsumerSpec,
) -> impl Iterator<Item = &'p AccessProvider> {
    let mut names = BTreeSet::new();
    let entries = profile.access().filter(move |entry| names.insert(&*entry.name));
    entries.filter(|entry| consumer.providers.contains(&*entry.name))
}

/// The URL of an entry; empty if it has none.
pub(crate) fn server(entry: &AccessProvider) -> &str {
    entry.cluster.server.as_deref().unwrap_or_default()
}

/// A time as microseconds.
pub(crate) fn micros(at: Timestamp) -> Micros {
    at.as_microsecond()
}

/// The reference to an object of the testbed.
pub(crate) fn object_ref(kind: &str, object: &ObjectKey) -> ObjectRef {
    ObjectRef {
        kind: kind.to_owned(),
        namespace: object.namespace.clone(),
        name: object.name.clone(),
        ..ObjectRef::default()
    }
}

/// Whether a connection began that sent a TLS hello.
fn is_connection(call: &MemberCall) -> bool {
    call.hello && matches!(call.what, CallEvent::Connected {} | CallEvent::Failed { .. })
}

fn overlaps(gap: &Gap, from: Micros, until: Micros) -> bool {
    let (start, end) = gap.span();
    start <= until && from <= end
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
