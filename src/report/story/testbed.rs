//! What a run's testbed did for a consumer, and what the consumer called, in the story of a published profile.

use std::collections::BTreeSet;

use evidence::{CallEvent, Evidence, Expect, MemberCall, ObjectRef, PluginAnswer, Testbed, api::names};
use jiff::Timestamp;
use judge::rules::Finding;

use super::{
    Event, What, clean,
    gather::{Draft, Gathered, named},
};

impl Gathered {
    /// Adds what the testbed did while the object existed, and the calls of the servers that it named. A finding quotes
    /// the time of a call in `observed`.
    pub(super) fn add_testbed(&mut self, evidence: &Evidence, finding: &Finding) {
        let Some(testbed) = &evidence.testbed else { return };
        let (object, observed) = (&finding.object, &*finding.observed);
        let is_profile = object.kind == names::KIND;
        let servers = if is_profile {
            servers(evidence, object)
        } else {
            BTreeSet::new()
        };
        let calls = evidence.member_calls.iter().flat_map(|log| &log.events);
        for call in calls.filter(|call| servers.contains(&*call.url)) {
            self.drafts.push(call_draft(call, observed));
        }
        for run in evidence.plugin_calls.iter().flat_map(|log| &log.events) {
            let cluster = run.cluster.as_ref();
            let Some(cluster) = cluster.filter(|cluster| servers.contains(&*cluster.server)) else {
                continue;
            };
            let answer = match run.answer {
                PluginAnswer::Credential { .. } => "a credential",
                PluginAnswer::Failed {} => "failed, as the testbed intended",
                PluginAnswer::Hung {} => "hung, as the testbed intended",
                PluginAnswer::Garbage {} => "no credential, as the testbed intended",
                PluginAnswer::NoMember {} => "no member of that server",
            };
            self.drafts.push(Draft {
                fold_key: Some(format!("plugin {} {answer}", run.provider)),
                is_finding: observed.contains(&run.at.to_string()),
                ..Draft::from(Event {
                    at: Some(run.at),
                    detail: clean(&format!("{} for {}: {answer}", run.provider, cluster.server)),
                    ..Event::of(What::Plugin)
                })
            });
        }
        for expectation in &testbed.expectations {
            let profile = &expectation.profile;
            if is_profile && (&profile.namespace, &profile.name) == (&object.namespace, &object.name) {
                let behavior = behavior(&expectation.expect);
                let what = format!("expected for {}: {behavior}", expectation.rule);
                let draft = testbed_event(expectation.from, Some(expectation.until), &what);
                self.drafts.push(draft);
            }
        }
        let first = self.drafts.iter().filter_map(|draft| draft.event.at).min();
        for (from, until, what) in spans(testbed) {
            if first.is_none_or(|first| until >= first) {
                self.drafts
                    .push(testbed_event(from, (until > from).then_some(until), &what));
            }
        }
    }
}

/// The servers and proxies that a consumer may call for a profile.
fn servers<'e>(evidence: &'e Evidence, profile: &ObjectRef) -> BTreeSet<&'e str> {
    let histories = named(&evidence.profiles, profile).into_iter();
    let versions = histories.flat_map(|history| &history.versions);
    let entries = versions.flat_map(|version| version.object.access());
    let addresses = entries.flat_map(|entry| [&entry.cluster.server, &entry.cluster.proxy_url]);
    addresses.filter_map(|address| address.as_deref()).collect()
}

fn testbed_event(at: Timestamp, until: Option<Timestamp>, what: &str) -> Draft {
    Draft::from(Event {
        at: Some(at),
        until,
        detail: clean(what),
        ..Event::of(What::Staged)
    })
}

/// A call of a member. Successive calls of one address with the same success are alike.
fn call_draft(call: &MemberCall, observed: &str) -> Draft {
    let url = &call.url;
    let (words, has_succeeded) = match &call.what {
        CallEvent::Closed {} => return testbed_event(call.at, None, "the member ends its connections"),
        CallEvent::Failed { reason } => (format!("{url}: {reason}"), false),
        CallEvent::Connected {} => (url.clone(), true),
        CallEvent::Request {
            method, path, code, ..
        } => (format!("{url}: {method} {path}, {code}"), *code < 400),
        CallEvent::Proxied { host } => (format!("{url}: to {host}"), true),
    };
    Draft {
        fold_key: Some(format!("call {url} {has_succeeded}")),
        is_finding: observed.contains(&call.at.to_string()),
        ..Draft::from(Event {
            at: Some(call.at),
            detail: clean(&words),
            // A request follows on its connection.
            count: usize::from(!matches!(call.what, CallEvent::Connected {})),
            ..Event::of(What::Called)
        })
    }
}

fn behavior(expect: &Expect) -> &'static str {
    match expect {
        Expect::Called {} => "it calls the member",
        Expect::CalledAs { .. } => "it calls the member again, as the other one",
        Expect::NotCalled {} => "it does not call the member",
        Expect::StopsCalling {} => "it stops calling the member",
        Expect::Moves { .. } => "it calls the new server and stops calling the old one",
        Expect::RefusesCertificate {} => "it does not trust the certificate",
        Expect::UsesProxy { .. } => "it uses the proxy",
        Expect::RenewsCredential {} => "it renews its credential",
        Expect::KeepsConnections { .. } => "it keeps its connections",
        Expect::NoPluginRun {} => "it does not run the plugin",
        Expect::LetsGo {} => "the deleted profile disappears",
        Expect::Reports { .. } => "it reports that it does not act on the profile",
    }
}

/// The scenarios and hooks of the testbed, with their beginnings and ends.
fn spans(testbed: &Testbed) -> Vec<(Timestamp, Timestamp, String)> {
    let scenarios = testbed.scenarios.iter();
    let scenarios = scenarios.map(|one| (one.from, one.until, format!("scenario {}", one.name)));
    let hooks = testbed.hook_calls.iter().map(|call| {
        let what = match &call.failure {
            None => format!("hook {}", call.action.name()),
            Some(reason) => format!("hook {} failed: {reason}", call.action.name()),
        };
        (call.from, call.until, what)
    });
    scenarios.chain(hooks).collect()
}
