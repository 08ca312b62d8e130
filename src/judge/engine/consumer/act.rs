//! What a consumer does for a member: it calls the member, runs the credential plugin, or writes an output.

use std::fmt;

use evidence::{CallEvent, MemberCall, Output, PluginAnswer, PluginCall, api::address::Address};
use jiff::Timestamp;

use super::{ConsumerRun, micros};
use crate::{text::redacted, time::Micros};

/// Something that the consumer did for a member.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Act<'e> {
    /// When it happened.
    pub(crate) at: Timestamp,
    kind: ActKind<'e>,
}

#[derive(Clone, Copy, Debug)]
enum ActKind<'e> {
    Call(&'e MemberCall),
    PluginRun(&'e PluginCall),
    Output(&'e Output),
}

impl<'e> ConsumerRun<'e> {
    /// What the consumer did for a URL in a period, in order of time.
    pub(crate) fn acts(&self, url: &str, (from, until): (Micros, Micros)) -> Vec<Act<'e>> {
        if url.is_empty() {
            return Vec::new();
        }
        let calls = self.calls_to(url).iter().copied().filter(|call| is_act(call));
        let calls = calls.chain(self.ways_to(url)).map(Act::call);
        let runs = self
            .plugin_runs()
            .filter(|run| is_for(run, url) && !gives_credential(run))
            .map(Act::plugin_run);
        let acts = calls.chain(runs).chain(self.outputs_of(url));
        let mut acts: Vec<Act> = acts
            .filter(|act| (from..=until).contains(&micros(act.at)))
            .collect();
        acts.sort_by_key(|act| act.at);
        acts
    }

    /// All calls and plugin runs of the consumer.
    pub(crate) fn all_acts(&self) -> Vec<Act<'e>> {
        let calls = self.member_calls().filter(|call| is_act(call)).map(Act::call);
        calls.chain(self.plugin_runs().map(Act::plugin_run)).collect()
    }

    /// The requests to a proxy for a way to a URL.
    fn ways_to<'u>(&self, url: &'u str) -> impl Iterator<Item = &'e MemberCall> + use<'e, 'u> {
        let calls = self.member_calls();
        calls.filter(move |call| matches!(&call.what, CallEvent::Proxied { host } if is_way_to(url, host)))
    }

    /// The outputs that name a URL.
    fn outputs_of(&self, url: &str) -> impl Iterator<Item = Act<'e>> {
        let snapshots = self.testbed.outputs.iter();
        snapshots.flat_map(move |snapshot| {
            let outputs = snapshot
                .outputs
                .iter()
                .filter(move |output| output.servers.contains(url));
            outputs.map(|output| Act {
                at: snapshot.at,
                kind: ActKind::Output(output),
            })
        })
    }
}

impl<'e> Act<'e> {
    fn call(call: &'e MemberCall) -> Self {
        Self {
            at: call.at,
            kind: ActKind::Call(call),
        }
    }

    pub(super) fn plugin_run(run: &'e PluginCall) -> Self {
        Self {
            at: run.at,
            kind: ActKind::PluginRun(run),
        }
    }

    pub(super) fn is_output(&self) -> bool {
        matches!(self.kind, ActKind::Output(_))
    }

    /// Whether it goes on by itself: a watch, or an output.
    pub(super) fn goes_on(&self) -> bool {
        match self.kind {
            ActKind::Call(call) => matches!(call.what, CallEvent::Request { watch: true, .. }),
            ActKind::PluginRun(_) => false,
            ActKind::Output(_) => true,
        }
    }
}

impl fmt::Display for Act<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            ActKind::Call(call) => write!(f, "a call of {} at {}", redacted(&call.url), self.at),
            ActKind::PluginRun(run) => {
                let server = run.cluster.as_ref().map_or("", |cluster| &*cluster.server);
                let provider = redacted(&run.provider);
                match server {
                    "" => write!(
                        f,
                        "a call of the plugin of {provider} without a server at {}",
                        self.at
                    ),
                    _ => write!(
                        f,
                        "a call of the plugin of {provider} for {} at {}",
                        redacted(server),
                        self.at
                    ),
                }
            }
            ActKind::Output(output) => write!(f, "{} at {}", redacted(&output.object), self.at),
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
