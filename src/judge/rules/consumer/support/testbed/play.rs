//! A consumer on its testbed.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use evidence::{
    CallEvent, Evidence, Kind, Log, MemberCall, Origin, PluginAnswer, PluginCall, ProfileHistory, Reason,
    Request, Testbed, Version,
    api::{AccessProvider, ClusterProfile, ClusterProfileReference},
};
use jiff::Timestamp;

use super::{
    decisions::ever_named, entries::is_selected, inviting, is_way_to, known, server, size::why_too_large,
};
use crate::{
    rules::consumer::support::{
        time::{
            Edge, Known, Micros, Run, SECOND, Seen, Timeline, While, was_watched_in_part, why_incomplete,
        },
        who::Sender,
    },
    subjects::Findings,
};

/// A consumer on its testbed, with what it could read and whom it called.
pub(crate) struct Play<'e> {
    pub(crate) evidence: &'e Evidence,
    pub(crate) testbed: &'e Testbed,
    /// For how long the consumer may go on as before a change.
    pub(crate) settle: Micros,
    subjects: Vec<Subject<'e>>,
    by_url: HashMap<&'e str, Vec<&'e MemberCall>>,
    /// When members ended all connections to an address.
    ends: HashMap<&'e str, Vec<Micros>>,
    /// The profiles that decisions named, if the consumer acts on no others.
    named: Option<BTreeSet<ClusterProfileReference>>,
}

/// A staged profile: one namespace and name, in all of its lives.
pub(crate) struct Subject<'e> {
    /// Its last version.
    pub(crate) last: &'e ClusterProfile,
    /// When it said what.
    pub(crate) timeline: Timeline<'e, ClusterProfile>,
    /// Until when nobody knows what it said: it was there before the run looked.
    unknown_until: Micros,
}

impl Subject<'_> {
    /// Whether the run saw all that it ever said, but for gaps.
    pub(crate) fn is_seen_from_its_creation(&self) -> bool {
        self.unknown_until == Micros::MIN
    }

    /// Since when the profile was surely there: before that, it permitted nothing. The beginning of time if it was there before the
    /// run looked.
    pub(super) fn there_since(&self) -> Micros {
        let mut runs = self.timeline.runs().iter();
        let first = runs.find(|run| matches!(run.seen, Seen::Version(_)));
        let first = first.filter(|_| self.is_seen_from_its_creation());
        first.map_or(Micros::MIN, |first| first.from.latest)
    }

    /// The first moment at which it may have been there, if the run saw all that it ever said.
    pub(crate) fn came(&self) -> Option<Micros> {
        let first = self.timeline.runs().iter().find(|run| run.version().is_some())?;
        self.is_seen_from_its_creation().then_some(first.from.earliest)
    }

    /// Whether the run made the profile after a moment.
    pub(crate) fn is_to_come(&self, at: Micros) -> bool {
        self.came().is_some_and(|came| at < came)
    }
}

impl<'e> Play<'e> {
    /// Reads what was played. None, with a doubt, if the consumer never called a control: it may not run at all.
    pub(crate) fn of(evidence: &'e Evidence, findings: &mut Findings) -> Option<Self> {
        let testbed = evidence.testbed.as_ref()?;
        if let Some(why) = why_too_large(evidence, testbed) {
            findings.cannot_tell(why);
            return None;
        }
        if !was_watched_in_part(evidence) {
            findings.cannot_tell("the profiles were not watched, so that nobody knows what they said when");
            return None;
        }
        let Some(settle) = testbed.settle_seconds() else {
            findings.cannot_tell(
                "the consumer never called the member of a control profile: check that it runs, reads the namespaces of \
                 the run, and has a plugin for the provider",
            );
            return None;
        };
        let mut lives: BTreeMap<(&str, &str), Vec<&ProfileHistory>> = BTreeMap::new();
        for history in evidence.histories() {
            let metadata = &history.last().metadata;
            let key = (&*metadata.namespace, &*metadata.name);
            lives.entry(key).or_default().push(history);
        }
        let subjects = lives.into_values().filter_map(|mut lives| {
            lives.sort_by_key(|life| life.versions.first().map(Version::received));
            let first = lives.first()?;
            let is_created = first.origin == Origin::Created;
            let listed = first.versions.first()?.received().as_microsecond();
            Some(Subject {
                unknown_until: if is_created { Micros::MIN } else { listed },
                last: lives.last()?.last(),
                timeline: Timeline::of(evidence, &lives),
            })
        });
        let mut by_url: HashMap<&str, Vec<&MemberCall>> = HashMap::new();
        let mut ends: HashMap<&str, Vec<Micros>> = HashMap::new();
        for call in events(&evidence.member_calls) {
            if is_call(call) {
                by_url.entry(&call.url).or_default().push(call);
            } else {
                ends.entry(&call.url).or_default().push(call.at.as_microsecond());
            }
        }
        let claims = &testbed.consumer;
        Some(Self {
            evidence,
            testbed,
            settle: settle.saturating_mul(SECOND),
            subjects: subjects.collect(),
            by_url,
            ends,
            named: claims
                .acts_on_placements_alone()
                .then(|| ever_named(evidence, claims)),
        })
    }

    /// The consumer's user, if the driver file names it and the suite's own requests are not taken for the consumer's.
    pub(crate) fn own_user(&self, requests: &[Request]) -> Option<&'e str> {
        let user = &*self.testbed.consumer.user;
        let mut of_run = requests.iter().filter(|request| request.is_the_suites());
        let is_shared = of_run.any(|request| self.is_consumers(request));
        (!user.is_empty() && !is_shared).then_some(user)
    }

    /// Returns `true` if the consumer sent the request: by its user and, if its programs are named, by one of them.
    pub(crate) fn is_consumers(&self, request: &Request) -> bool {
        let agents = &self.evidence.header.claim.consumer_agents;
        let is_its_program = agents.is_empty() || agents.iter().any(|agent| agent == request.program());
        Sender::of(request).name == self.testbed.consumer.user && is_its_program
    }

    /// The staged profiles.
    pub(crate) fn subjects(&self) -> &[Subject<'e>] {
        &self.subjects
    }

    /// The profile of a member, by its name.
    pub(crate) fn subject_of(&self, member: &str) -> Option<&Subject<'e>> {
        let mut subjects = self.subjects.iter();
        subjects.find(|subject| *subject.last.metadata.name == *member)
    }

    /// What reached an address, in order of time.
    pub(crate) fn calls_to(&self, url: &str) -> &[&'e MemberCall] {
        self.by_url.get(url).map_or(&[], Vec::as_slice)
    }

    /// What reached any of these addresses, address by address.
    pub(crate) fn calls_to_any(&self, urls: &BTreeSet<&str>) -> impl Iterator<Item = &'e MemberCall> + Clone {
        urls.iter().flat_map(|url| self.calls_to(url).iter().copied())
    }

    /// When members ended all connections to any of these addresses.
    pub(crate) fn ends_of(&self, urls: &BTreeSet<&str>) -> Vec<Micros> {
        let ends = urls.iter().filter_map(|url| self.ends.get(url));
        ends.flatten().copied().collect()
    }

    /// The beginnings of connections to an address, where a client chooses whom to ask for and to trust.
    pub(crate) fn connections_to(&self, url: &str) -> impl Iterator<Item = &'e MemberCall> {
        let calls = self.calls_to(url).iter().copied();
        calls.filter(|call| !matches!(call.what, CallEvent::Request { .. }))
    }

    /// The beginnings of connections to these addresses, in a closed span.
    pub(crate) fn connections_in(
        &self,
        urls: &BTreeSet<&str>,
        (from, until): (Micros, Micros),
    ) -> impl Iterator<Item = &'e MemberCall> {
        let begun = urls.iter().flat_map(|url| self.connections_to(url));
        begun.filter(move |call| (from..=until).contains(&call.at.as_microsecond()))
    }

    /// All calls of members, in order of time.
    pub(crate) fn member_calls(&self) -> impl Iterator<Item = &'e MemberCall> + use<'e> {
        events(&self.evidence.member_calls).filter(|call| is_call(call))
    }

    /// All calls of the credential plugin, in order of time.
    pub(crate) fn plugin_calls(&self) -> impl Iterator<Item = &'e PluginCall> + use<'e> {
        events(&self.evidence.plugin_calls)
    }

    /// A span in which something surely held, and the consumer had its chance to act on it: a control that came into the span
    /// was called, and as much time went by as a consumer may take. One that is held up has none.
    pub(crate) fn chance(&self, held: &While) -> Option<(Micros, Micros)> {
        self.chance_since(Micros::MIN, held)
    }

    /// The same from a moment on.
    pub(crate) fn chance_since(&self, since: Micros, held: &While) -> Option<(Micros, Micros)> {
        let free = self.testbed.scenarios.iter().filter(|scene| !scene.may_delay);
        let spans = free.filter_map(|scene| {
            let called = scene.called_at?.as_microsecond();
            Some((called.max(since), scene.until.as_microsecond()))
        });
        let mut long = spans.filter(|(from, until)| until.saturating_sub(*from) >= self.settle);
        long.find(|(from, until)| held_throughout(held, *from, *until))
    }

    /// Whether the consumer reads a profile, by its namespace and its labels.
    pub(crate) fn is_selected(&self, profile: &ClusterProfile) -> bool {
        is_selected(profile, &self.testbed.consumer)
    }

    /// Whether the consumer has no reason to leave a profile alone.
    pub(crate) fn invites(&self, profile: &ClusterProfile) -> bool {
        let is_named = self.named.as_ref().is_none_or(|named| {
            named.contains(&ClusterProfileReference {
                name: Arc::clone(&profile.metadata.name),
                namespace: Arc::clone(&profile.metadata.namespace),
            })
        });
        is_named && inviting(profile, &self.testbed.consumer).next().is_some()
    }

    /// The servers that a profile ever named for a provider that the consumer has a plugin for, and no other profile.
    pub(crate) fn own_servers(&self, subject: &Subject<'e>) -> BTreeSet<&'e str> {
        let entries = self
            .versions_of(subject)
            .flat_map(|profile| known(profile, &self.testbed.consumer));
        let servers = entries.map(server).filter(|url| !url.is_empty());
        servers.filter(|url| !self.is_shared(subject, url)).collect()
    }

    /// Whether a profile may have had such an entry of a provider that the consumer has a plugin for, so that the consumer
    /// could still act on it at a moment.
    pub(crate) fn may_have_had(&self, at: Micros, is_it: impl Fn(&AccessProvider) -> bool) -> bool {
        let has = |profile: &ClusterProfile| {
            self.is_selected(profile) && known(profile, &self.testbed.consumer).any(&is_it)
        };
        let mut subjects = self.subjects.iter();
        subjects.any(|subject| self.may_have_said(subject, at, has))
    }

    /// Whether what the consumer did at a moment is against what profiles said: it did it by some entry, and by none that it
    /// fits. What it does by no entry is the subject of other rules.
    pub(crate) fn is_against(
        &self,
        at: Micros,
        is_it: impl Fn(&AccessProvider) -> bool,
        fits: impl Fn(&AccessProvider) -> bool,
    ) -> bool {
        self.may_have_had(at, &is_it) && !self.may_have_had(at, |entry| is_it(entry) && fits(entry))
    }

    /// Whether a call of the plugin is surely for an entry of which something holds.
    pub(crate) fn is_surely_for(&self, call: &PluginCall, holds: impl Fn(&AccessProvider) -> bool) -> bool {
        let at = call.at.as_microsecond();
        let is_its = |entry: &AccessProvider| self.is_call_of(call, entry);
        self.may_have_had(at, is_its) && !self.may_have_had(at, |entry| is_its(entry) && !holds(entry))
    }

    /// Whether a profile may have said something, so that the consumer could still act on it at a moment.
    pub(crate) fn may_have_said(
        &self,
        subject: &Subject<'e>,
        at: Micros,
        permits: impl Fn(&ClusterProfile) -> bool,
    ) -> bool {
        let since = self.known_since(at);
        if since < subject.unknown_until {
            return true;
        }
        let mut seen = subject.timeline.seen_around(since, at);
        seen.any(|seen| match seen {
            Seen::Nothing => true,
            Seen::Absence => false,
            Seen::Version(version) => permits(&version.object),
        })
    }

    /// Since when the consumer must have learnt what profiles said: by a moment, it may go on as before any later change.
    fn known_since(&self, at: Micros) -> Micros {
        at.saturating_sub(self.settle)
    }

    /// Whether a profile may have named that server for a provider that the consumer has a plugin for, so that the consumer
    /// could still call it at a moment.
    pub(crate) fn permits(&self, at: Micros, url: &str) -> bool {
        self.may_have_had(at, |entry| server(entry) == url)
    }

    /// Whether the consumer set out for any of these servers in a closed span: it called it, itself or by a proxy, or ran the
    /// plugin for it in vain. If a log may lack that, the reason.
    pub(crate) fn set_out_for(
        &self,
        urls: &BTreeSet<&str>,
        (from, until): (Micros, Micros),
    ) -> Result<bool, Reason> {
        let is_in = |at: Timestamp| (from..=until).contains(&at.as_microsecond());
        let is_host = |host: &str| urls.iter().any(|url| is_way_to(url, host));
        let mut calls = self.member_calls();
        let is_called = calls.any(|call| {
            let is_proxied = matches!(&call.what, CallEvent::Proxied { host } if is_host(host));
            is_in(call.at) && (is_proxied || urls.contains(&*call.url))
        });
        let mut runs = self.plugin_calls();
        let is_run = runs.any(|run| {
            let cluster = run.cluster.as_ref();
            let is_in_vain = !matches!(run.answer, PluginAnswer::Credential { .. });
            is_in_vain && is_in(run.at) && cluster.is_some_and(|cluster| urls.contains(&*cluster.server))
        });
        if is_called || is_run {
            return Ok(true);
        }
        let mut kinds = [Kind::MemberCalls, Kind::PluginCalls].into_iter();
        kinds
            .find_map(|kind| self.why_missed(kind))
            .map_or(Ok(false), Err)
    }

    /// The same since a moment, for the servers of a profile. If they may have been called before the run looked, nobody can tell.
    pub(crate) fn set_out_for_profile(
        &self,
        subject: &Subject<'e>,
        urls: &BTreeSet<&str>,
        until: Micros,
    ) -> Result<bool, Reason> {
        let is_called = self.set_out_for(urls, (Micros::MIN, until))?;
        if is_called || subject.is_seen_from_its_creation() {
            return Ok(is_called);
        }
        Err("the consumer may have called the member before the run looked".into())
    }

    /// Whether another profile ever had that server, so that calls do not tell for which one they are.
    pub(crate) fn is_shared(&self, subject: &Subject<'e>, url: &str) -> bool {
        let others = self.subjects.iter();
        let others = others.filter(|other| !std::ptr::eq(*other, subject));
        let mut versions = others.flat_map(|other| self.versions_of(other));
        versions.any(|profile| known(profile, &self.testbed.consumer).any(|entry| server(entry) == url))
    }

    /// Whether a call of the plugin is for an entry, by its provider and its server.
    pub(crate) fn is_call_of(&self, call: &PluginCall, entry: &AccessProvider) -> bool {
        let url = call.cluster.as_ref().map(|cluster| &*cluster.server);
        *entry.name == *call.provider && url == Some(server(entry))
    }

    /// The profile that a call of the plugin may be for, with its entry: the last one that the run saw by then.
    pub(crate) fn entry_of(&self, call: &PluginCall) -> Option<(&'e ClusterProfile, &'e AccessProvider)> {
        let at = call.at.as_microsecond();
        let runs = self.subjects.iter().flat_map(|subject| subject.timeline.runs());
        let fitting = runs.filter_map(|run| {
            let profile = run.version()?;
            let mut entries = known(profile, &self.testbed.consumer);
            Some((
                run.seen_at,
                profile,
                entries.find(|entry| self.is_call_of(call, entry))?,
            ))
        });
        let last = fitting.max_by_key(|(seen_at, ..)| (*seen_at <= at, *seen_at));
        last.map(|(_, profile, entry)| (profile, entry))
    }

    /// Why calls may be missing, if so.
    pub(crate) fn why_missed(&self, kind: Kind) -> Option<Reason> {
        let not_asked = || format!("evidence not asked for: {kind}").into();
        let is_whole = self.evidence.is_whole(kind);
        (!is_whole).then(|| why_incomplete(self.evidence, kind).unwrap_or_else(not_asked))
    }

    /// All versions of a staged profile.
    pub(crate) fn versions_of<'s>(
        &self,
        subject: &'s Subject<'e>,
    ) -> impl Iterator<Item = &'e ClusterProfile> + use<'e, 's> {
        subject.timeline.runs().iter().filter_map(Run::version)
    }

    /// All versions of all staged profiles.
    pub(crate) fn versions(&self) -> impl Iterator<Item = &'e ClusterProfile> {
        self.subjects.iter().flat_map(|subject| self.versions_of(subject))
    }
}

/// Whether somebody called, rather than that the member did something.
fn is_call(call: &MemberCall) -> bool {
    !matches!(call.what, CallEvent::Closed {})
}

/// Whether something surely held from one moment to another.
pub(crate) fn held_throughout(held: &While, from: Micros, until: Micros) -> bool {
    let edge = Edge {
        earliest: from,
        // The last moment of the run is in no span.
        latest: until.saturating_sub(1).max(from),
    };
    held.at(edge) == Known::Yes
}

fn events<T>(log: &Option<Log<T>>) -> impl Iterator<Item = &T> {
    log.iter().flat_map(|log| &log.events)
}
