//! A consumer on its stage.

use std::collections::{BTreeMap, HashMap};

use evidence::{
    Evidence, Kind, Log, MemberCall, Origin, PluginCall, ProfileHistory, Reason, Stage,
    api::{AccessProvider, ClusterProfile},
};

use super::{known, server};
use crate::{
    subjects::Findings,
    time::{Edge, Known, Micros, SECOND, Seen, Timeline, While, was_watched_in_part, why_incomplete},
};

/// The most profiles, addresses and scenes of a stage that are judged. Rules compare each with all calls, and a run has a few
/// dozen of them: a file with more is none of a run.
const LARGEST: usize = 500;
/// The most calls of members, and the most of the plugin.
const MOST_CALLS: usize = 50_000;

/// A consumer on its stage, with what it could read and whom it called.
pub(crate) struct Play<'e> {
    pub(crate) evidence: &'e Evidence,
    pub(crate) stage: &'e Stage,
    /// For how long the consumer may go on as before a change.
    pub(crate) settle: Micros,
    subjects: Vec<Subject<'e>>,
    by_url: HashMap<&'e str, Vec<&'e MemberCall>>,
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

impl<'e> Play<'e> {
    /// Reads what was played. None, with a doubt, if the consumer never called a control: it may not run at all.
    pub(crate) fn of(evidence: &'e Evidence, findings: &mut Findings) -> Option<Self> {
        let stage = evidence.stage.as_ref()?;
        if is_too_large(evidence, stage) {
            findings.cannot_tell(format!(
                "the stage is larger than that of any run: it has more than {LARGEST} profiles, addresses or scenes, or \
                 more than {MOST_CALLS} calls"
            ));
            return None;
        }
        if !was_watched_in_part(evidence) {
            findings.cannot_tell("the profiles were not watched, so that nobody knows what they said when");
            return None;
        }
        let Some(settle) = stage.settle_seconds() else {
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
        let subjects = lives.into_values().filter_map(|lives| {
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
        for call in evidence.member_calls.iter().flat_map(|log| &log.events) {
            by_url.entry(&call.url).or_default().push(call);
        }
        Some(Self {
            evidence,
            stage,
            settle: settle.saturating_mul(SECOND),
            subjects: subjects.collect(),
            by_url,
        })
    }

    /// The staged profiles.
    pub(crate) fn subjects(&self) -> &[Subject<'e>] {
        &self.subjects
    }

    /// What reached an address, in order of time.
    pub(crate) fn calls_to(&self, url: &str) -> &[&'e MemberCall] {
        self.by_url.get(url).map_or(&[], Vec::as_slice)
    }

    /// All calls of members, in order of time.
    pub(crate) fn member_calls(&self) -> impl Iterator<Item = &'e MemberCall> + use<'e> {
        events(&self.evidence.member_calls)
    }

    /// All calls of the credential plugin, in order of time.
    pub(crate) fn plugin_calls(&self) -> impl Iterator<Item = &'e PluginCall> + use<'e> {
        events(&self.evidence.plugin_calls)
    }

    /// A span in which something surely held, and the consumer had its chance to act on it: a control that came into the span
    /// was called, and as much time went by as a consumer may take.
    pub(crate) fn chance(&self, held: &While) -> Option<(Micros, Micros)> {
        let spans = self.stage.scenes.iter().filter_map(|scene| {
            let called = scene.called?.as_microsecond();
            Some((called, scene.until.as_microsecond()))
        });
        let mut long = spans.filter(|(from, until)| until.saturating_sub(*from) >= self.settle);
        long.find(|(from, until)| held_throughout(held, *from, *until))
    }

    /// Whether a profile may have said, so that the consumer could still act on it at a moment, what permits an act.
    pub(crate) fn may_permit(&self, at: Micros, permits: impl Fn(&ClusterProfile) -> bool) -> bool {
        let mut subjects = self.subjects.iter();
        subjects.any(|subject| self.may_have_said(subject, at, &permits))
    }

    /// The same of one profile.
    pub(crate) fn may_have_said(
        &self,
        subject: &Subject<'e>,
        at: Micros,
        permits: impl Fn(&ClusterProfile) -> bool,
    ) -> bool {
        let since = at.saturating_sub(self.settle);
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

    /// Whether a profile may have named that server for a provider that the consumer has a plugin for, so that the consumer
    /// could still call it at a moment.
    pub(crate) fn permits(&self, at: Micros, url: &str) -> bool {
        self.may_permit(at, |profile| {
            known(profile, &self.stage.consumer).any(|entry| server(entry) == url)
        })
    }

    /// Whether a call reached any of these addresses by the end of a span. One from before counts: a client goes on with its
    /// connections. None if the log may lack it.
    pub(crate) fn was_called<'u>(
        &self,
        urls: impl IntoIterator<Item = &'u str>,
        (_, until): (Micros, Micros),
    ) -> Option<bool> {
        let mut calls = urls.into_iter().flat_map(|url| self.calls_to(url));
        if calls.any(|call| call.at.as_microsecond() <= until) {
            return Some(true);
        }
        self.evidence.is_whole(Kind::MemberCalls).then_some(false)
    }

    /// Whether a call of the plugin is for an entry, by its provider and its server.
    pub(crate) fn is_call_of(&self, call: &PluginCall, entry: &AccessProvider) -> bool {
        let url = call.cluster.as_ref().map(|cluster| &*cluster.server);
        *entry.name == *call.provider && url == Some(server(entry))
    }

    /// The first profile that a call of the plugin may be for, with its entry.
    pub(crate) fn entry_of(&self, call: &PluginCall) -> Option<(&'e ClusterProfile, &'e AccessProvider)> {
        self.versions().find_map(|profile| {
            let mut entries = known(profile, &self.stage.consumer);
            Some((profile, entries.find(|entry| self.is_call_of(call, entry))?))
        })
    }

    /// Why calls may be missing.
    pub(crate) fn why_missed(&self, kind: Kind) -> Reason {
        let why = why_incomplete(self.evidence, kind);
        why.unwrap_or_else(|| format!("evidence not asked for: {kind}").into())
    }

    /// All versions of a staged profile.
    pub(crate) fn versions_of<'s>(
        &self,
        subject: &'s Subject<'e>,
    ) -> impl Iterator<Item = &'e ClusterProfile> + use<'e, 's> {
        subject.timeline.runs().iter().filter_map(|run| match run.seen {
            Seen::Version(version) => Some(&version.object),
            Seen::Nothing | Seen::Absence => None,
        })
    }

    /// All versions of all staged profiles.
    pub(crate) fn versions(&self) -> impl Iterator<Item = &'e ClusterProfile> {
        self.subjects.iter().flat_map(|subject| self.versions_of(subject))
    }
}

fn is_too_large(evidence: &Evidence, stage: &Stage) -> bool {
    let counts = [evidence.profiles.len(), stage.addresses.len(), stage.scenes.len()];
    let calls = [
        events(&evidence.member_calls).count(),
        events(&evidence.plugin_calls).count(),
    ];
    counts.iter().any(|count| *count > LARGEST) || calls.iter().any(|count| *count > MOST_CALLS)
}

/// Whether something surely held from one moment to another.
pub(crate) fn held_throughout(held: &While, from: Micros, until: Micros) -> bool {
    let edge = Edge {
        earliest: from,
        // The last moment of the run is in no span.
        latest: until.saturating_sub(1),
    };
    held.at(edge) == Known::Yes
}

fn events<T>(log: &Option<Log<T>>) -> impl Iterator<Item = &T> {
    log.iter().flat_map(|log| &log.events)
}

#[cfg(test)]
mod tests {
    use evidence::{MemberAddress, Scene};
    use jiff::Timestamp;

    use super::*;

    fn doubts(addresses: usize) -> usize {
        let at = Timestamp::UNIX_EPOCH;
        let stage = Stage {
            addresses: vec![MemberAddress::default(); addresses],
            scenes: vec![Scene {
                name: String::new(),
                control: String::new(),
                from: at,
                until: at,
                called: Some(at),
            }],
            ..Stage::default()
        };
        let mut evidence = Evidence {
            stage: Some(stage),
            ..Evidence::default()
        };
        evidence.header.asked.insert(Kind::Timeline, evidence::Asked::Yes);
        let mut findings = Findings::default();
        assert_eq!(Play::of(&evidence, &mut findings).is_some(), addresses <= LARGEST);
        findings.conclude().doubts.len()
    }

    #[test]
    fn a_stage_that_no_run_has_is_not_judged() {
        assert_eq!(doubts(LARGEST), 0);
        assert_eq!(doubts(LARGEST + 1), 1);
    }
}
