//! What a consumer does for a member: it calls the member, runs the credential plugin, or writes an output.

use std::{fmt, ops::RangeInclusive};

use evidence::{CallEvent, MemberCall, Output, PluginAnswer, PluginCall, api::address::Address};
use jiff::Timestamp;

use super::{ConsumerRun, micros};
use crate::{text::redacted, time::Micros};

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
        let runs = self
            .plugin_runs()
            .filter(|run| is_for(run, url) && !gives_credential(run));
        let outputs = self.testbed.outputs.iter().flat_map(|snapshot| {
            let outputs = snapshot.outputs.iter();
            let outputs = outputs.filter(|output| output.servers.contains(url));
            outputs.map(|output| Act::Output(snapshot.at, output))
        });
        let acts = calls
            .map(Act::Call)
            .chain(runs.map(Act::PluginRun))
            .chain(outputs);
        let mut acts: Vec<Act> = acts.filter(|act| period.contains(&micros(act.at()))).collect();
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
            Self::Call(call) => write!(f, "a call of {} at {at}", redacted(&call.url)),
            Self::PluginRun(run) => {
                write!(f, "a call of the plugin of {} ", redacted(&run.provider))?;
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

/// Whether the plugin was run for a URL.
pub(super) fn is_for(run: &PluginCall, url: &str) -> bool {
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
