//! What a consumer does for a member: it calls the member, runs the credential plugin, or writes an output.

use std::{fmt, ops::RangeInclusive};

use evidence::{CallEvent, MemberCall, Output, PluginAnswer, PluginCall, Testbed};

use super::{ConsumerRun, micros};
use crate::engine::prelude::*;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Act<'e> {
    Call(&'e MemberCall),
    PluginRun(&'e PluginCall),
    Output(Timestamp, &'e Output),
}

/// All that the consumer did, in order of time.
pub(super) fn all<'e>(evidence: &'e Evidence, testbed: &'e Testbed) -> Vec<Act<'e>> {
    let calls = evidence.member_calls.iter().flat_map(|log| &log.events);
    let calls = calls.filter(|call| is_call(call)).map(Act::Call);
    let runs = evidence.plugin_calls.iter().flat_map(|log| &log.events);
    let outputs = testbed.outputs.iter().flat_map(|snapshot| {
        let outputs = snapshot.outputs.iter();
        outputs.map(|output| Act::Output(snapshot.at, output))
    });
    let mut acts: Vec<Act> = calls.chain(runs.map(Act::PluginRun)).chain(outputs).collect();
    acts.sort_by_key(Act::at);
    acts
}

/// Whether the consumer called a member. A connection without a TLS hello may be a port scan.
fn is_call(call: &MemberCall) -> bool {
    match call.what {
        CallEvent::Request { .. } => true,
        CallEvent::Connected {} | CallEvent::Failed { .. } => call.hello,
        CallEvent::Proxied { .. } | CallEvent::Closed {} => false,
    }
}

impl<'e> ConsumerRun<'e> {
    /// All calls and plugin runs of the consumer.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &Act<'e>> {
        self.acts.iter().filter(|act| !act.is_output())
    }

    /// The connections that sent a TLS hello.
    pub(super) fn connections(&self) -> impl Iterator<Item = &'e MemberCall> {
        self.acts.iter().filter_map(Act::connection)
    }

    /// What the consumer did for a URL in a period.
    pub(super) fn acts_for(
        &self,
        url: &str,
        period: RangeInclusive<Micros>,
    ) -> impl Iterator<Item = Act<'e>> {
        let acts = self
            .acts
            .iter()
            .copied()
            .filter(move |act| !url.is_empty() && act.is_for(url));
        acts.filter(move |act| period.contains(&micros(act.at())))
    }
}

impl<'e> Act<'e> {
    /// The call, if a connection began that sent a TLS hello.
    pub(super) fn connection(&self) -> Option<&'e MemberCall> {
        match self {
            Self::Call(call) if !matches!(call.what, CallEvent::Request { .. }) => Some(call),
            _ => None,
        }
    }

    /// When it happened.
    pub(crate) fn at(&self) -> Timestamp {
        match self {
            Self::Call(call) => call.at,
            Self::PluginRun(run) => run.at,
            Self::Output(at, _) => *at,
        }
    }

    pub(super) fn is_for(&self, url: &str) -> bool {
        match self {
            Self::Call(call) => call.url == url,
            Self::PluginRun(run) => is_run_for(run, url),
            Self::Output(_, output) => output.servers.contains(url),
        }
    }

    pub(super) fn is_output(&self) -> bool {
        matches!(self, Self::Output(..))
    }

    /// Whether it is a run of the plugin that gave a credential. A call follows it.
    pub(super) fn gives_credential(&self) -> bool {
        matches!(self, Self::PluginRun(run) if gives_credential(run))
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

pub(super) fn is_run_for(run: &PluginCall, url: &str) -> bool {
    run.cluster.as_ref().is_some_and(|cluster| cluster.server == url)
}

pub(super) fn gives_credential(run: &PluginCall) -> bool {
    matches!(run.answer, PluginAnswer::Credential { .. })
}
