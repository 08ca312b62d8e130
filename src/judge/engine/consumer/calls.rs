//! Evaluates a function on each connection or plugin run, with every published entry that may be the reason for it.

use std::collections::BTreeSet;

use evidence::{ConsumerSpec, MemberCall, PluginCall, Reason, api::AccessProvider};
use jiff::Timestamp;

use super::{ConsumerRun, is_connection, judged_run, micros, server};
use crate::{
    engine::{Answer, Evaluate, Hub},
    subjects::Findings,
};

/// An access provider entry of a published profile that may be the reason for a call.
pub(crate) struct AccessEntry<'r, 'e> {
    pub(crate) run: &'r ConsumerRun<'e>,
    pub(crate) provider: &'e AccessProvider,
}

/// A connection, or a run of the plugin.
pub(crate) trait ConsumerCall: Sized {
    /// All of them, in order of time.
    fn all<'e>(run: &ConsumerRun<'e>) -> Vec<&'e Self>;

    /// When it began.
    fn at(&self) -> Timestamp;

    /// Whether an entry may be the reason for it.
    fn is_for(&self, entry: &AccessProvider) -> bool;
}

impl ConsumerCall for MemberCall {
    fn all<'e>(run: &ConsumerRun<'e>) -> Vec<&'e Self> {
        run.member_calls().filter(|call| is_connection(call)).collect()
    }

    fn at(&self) -> Timestamp {
        self.at
    }

    fn is_for(&self, entry: &AccessProvider) -> bool {
        self.url == server(entry)
    }
}

impl ConsumerCall for PluginCall {
    fn all<'e>(run: &ConsumerRun<'e>) -> Vec<&'e Self> {
        run.plugin_runs().collect()
    }

    fn at(&self) -> Timestamp {
        self.at
    }

    fn is_for(&self, entry: &AccessProvider) -> bool {
        let is_its_server = self
            .cluster
            .as_ref()
            .is_some_and(|cluster| cluster.server == server(entry));
        *entry.name == *self.provider && is_its_server
    }
}

/// A rule on each call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallRule<C> {
    check: fn(&C, &AccessEntry) -> Answer,
    nothing_happened: &'static str,
    skipped: fn(&ConsumerSpec) -> Option<Reason>,
}

/// A rule on each connection to a member.
pub(crate) fn connections(
    check: fn(&MemberCall, &AccessEntry) -> Answer,
    nothing_happened: &'static str,
) -> CallRule<MemberCall> {
    CallRule {
        check,
        nothing_happened,
        skipped: |_| None,
    }
}

/// A rule on each run of the credential plugin.
pub(crate) fn plugin_runs(
    check: fn(&PluginCall, &AccessEntry) -> Answer,
    nothing_happened: &'static str,
) -> CallRule<PluginCall> {
    CallRule {
        check,
        nothing_happened,
        skipped: |_| None,
    }
}

impl<C> CallRule<C> {
    /// Skipped for the reason that this gives.
    pub(crate) fn unless(self, skipped: fn(&ConsumerSpec) -> Option<Reason>) -> Self {
        Self { skipped, ..self }
    }
}

impl<C: ConsumerCall + std::fmt::Debug> Evaluate for CallRule<C> {
    fn judges_around_gaps(&self) -> bool {
        false
    }

    fn evaluate(&self, hub: &Hub, findings: &mut Findings) {
        findings.nothing_happened(self.nothing_happened);
        let Some(run) = judged_run(hub, self.skipped, findings) else {
            return;
        };
        let mut reported = BTreeSet::new();
        for call in C::all(run) {
            let answer = least_severe(run, call, self.check);
            let is_new = answer.findings().first().is_none_or(|finding| {
                reported.insert((
                    finding.object.to_string(),
                    finding.message.clone(),
                    finding.expected.clone(),
                ))
            });
            if is_new {
                findings.count(answer);
            }
        }
    }
}

/// The least severe answer of all entries that may be the reason for a call.
fn least_severe<C: ConsumerCall>(
    run: &ConsumerRun,
    call: &C,
    check: fn(&C, &AccessEntry) -> Answer,
) -> Answer {
    let entries = run
        .entries_at(micros(call.at()))
        .filter(|(_, entry)| call.is_for(entry));
    let answers = entries.map(|(profile, provider)| {
        let answer = check(call, &AccessEntry { run, provider });
        answer.on(|| profile.into())
    });
    answers.min_by_key(severity).unwrap_or(Answer::NotApplicable)
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
