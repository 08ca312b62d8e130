//! What a run staged for a consumer, and whom the consumer called, in the story of a staged object.

use std::collections::BTreeSet;

use evidence::{CallEvent, Evidence, Expect, History, MemberCall, PluginAnswer, PluginCall, Testbed};
use jiff::Timestamp;

use super::{
    draft::{Draft, Drafts, Source},
    object::StoryObject,
};

impl<'e, T: StoryObject> Drafts<'e, T> {
    /// Adds what the run staged while the object was there, and the calls of the servers that it named. A finding tells of
    /// a call by its time.
    pub(super) fn staged(&mut self, evidence: &'e Evidence, lives: &[&'e History<T>], told: &str) {
        let Some(testbed) = &evidence.testbed else { return };
        let versions = lives.iter().flat_map(|history| &history.versions);
        let servers: BTreeSet<&str> = versions.flat_map(|version| version.object.servers()).collect();
        let calls = evidence.member_calls.iter().flat_map(|log| &log.events);
        for call in calls.filter(|call| servers.contains(&*call.url)) {
            let source = match call.what {
                CallEvent::Closed {} => Source::Staged("the member ends its connections".to_owned()),
                _ => Source::Called(call),
            };
            self.add_call(call.at, source, told);
        }
        let runs = evidence.plugin_calls.iter().flat_map(|log| &log.events);
        for run in runs {
            if run
                .cluster
                .as_ref()
                .is_some_and(|cluster| servers.contains(&*cluster.server))
            {
                self.add_call(run.at, Source::Plugin(run), told);
            }
        }
        let objects: BTreeSet<(&str, &str)> = lives.iter().map(|life| name_of(life)).collect();
        for (from, until, what) in expected(testbed, &objects) {
            self.all.push(Draft {
                until: Some(until),
                ..Draft::new(Some(from), Source::Staged(what))
            });
        }
        let there = self.all.iter().filter_map(|draft| draft.at).min();
        for (from, until, what) in spans(testbed) {
            if there.is_none_or(|there| until >= there) {
                self.all.push(Draft {
                    until: (until > from).then_some(until),
                    ..Draft::new(Some(from), Source::Staged(what))
                });
            }
        }
    }

    fn add_call(&mut self, at: Timestamp, source: Source<'e, T>, told: &str) {
        // A request follows on its connection.
        let is_beginning =
            matches!(&source, Source::Called(call) if matches!(call.what, CallEvent::Connected {}));
        self.all.push(Draft {
            count: usize::from(!is_beginning),
            is_finding_s: told.contains(&at.to_string()),
            ..Draft::new(Some(at), source)
        });
    }
}

/// The expectations on an object, each with its period.
fn expected<'t>(
    testbed: &'t Testbed,
    objects: &'t BTreeSet<(&str, &str)>,
) -> impl Iterator<Item = (Timestamp, Timestamp, String)> + 't {
    let own = testbed.expectations.iter().filter(|expectation| {
        let profile = &expectation.profile;
        objects.contains(&(&*profile.namespace, &*profile.name))
    });
    own.map(|expectation| {
        let behavior = behavior(&expectation.expect);
        (
            expectation.from,
            expectation.until,
            format!("expected for {}: {behavior}", expectation.rule),
        )
    })
}

fn name_of<T: StoryObject>(life: &History<T>) -> (&str, &str) {
    let metadata = life.last().metadata();
    (&metadata.namespace, &metadata.name)
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

/// What the run staged that took time.
fn spans(testbed: &Testbed) -> impl Iterator<Item = (Timestamp, Timestamp, String)> {
    let scenarios = testbed
        .scenarios
        .iter()
        .map(|scene| (scene.from, scene.until, format!("scenario {}", scene.name)));
    let hooks = testbed.hook_calls.iter().map(|call| {
        let outcome = call
            .failure
            .as_ref()
            .map_or(String::new(), |reason| format!(" failed: {reason}"));
        (
            call.from,
            call.until,
            format!("hook {}{outcome}", call.action.name()),
        )
    });
    scenarios.chain(hooks)
}

/// Whether one call is told with another one: it reached the same address with the same success.
pub(super) fn is_alike(one: &MemberCall, other: &MemberCall) -> bool {
    one.url == other.url && succeeded(one) == succeeded(other)
}

/// The same of a run of the plugin.
pub(super) fn is_run_alike(one: &PluginCall, other: &PluginCall) -> bool {
    one.provider == other.provider && answer(one) == answer(other)
}

fn succeeded(call: &MemberCall) -> bool {
    match call.what {
        CallEvent::Failed { .. } => false,
        CallEvent::Request { code, .. } => code < 400,
        CallEvent::Connected {} | CallEvent::Proxied { .. } | CallEvent::Closed {} => true,
    }
}

/// What a call was.
pub(super) fn call_in_words(call: &MemberCall) -> String {
    let url = &call.url;
    match &call.what {
        CallEvent::Failed { reason } => format!("{url}: {reason}"),
        CallEvent::Connected {} | CallEvent::Closed {} => url.clone(),
        CallEvent::Request {
            method, path, code, ..
        } => format!("{url}: {method} {path}, {code}"),
        CallEvent::Proxied { host } => format!("{url}: to {host}"),
    }
}

/// What a run of the plugin was.
pub(super) fn run_in_words(run: &PluginCall) -> String {
    let server = run.cluster.as_ref().map_or("", |cluster| &*cluster.server);
    format!("{} for {server}: {}", run.provider, answer(run))
}

fn answer(run: &PluginCall) -> &'static str {
    match run.answer {
        PluginAnswer::Credential { .. } => "a credential",
        PluginAnswer::Failed {} => "failed, as staged",
        PluginAnswer::Hung {} => "hung, as staged",
        PluginAnswer::Garbage {} => "no credential, as staged",
        PluginAnswer::NoMember {} => "no member of that server",
    }
}
