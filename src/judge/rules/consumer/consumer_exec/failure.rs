//! A plugin that fails for one member, beside others for which it does not.

use std::collections::BTreeSet;

use evidence::{Evidence, Kind, PluginAnswer, PluginCall, ScenarioRun, api::ClusterProfile};

use super::isolated::Hindrance;
use crate::{
    rules::consumer::support::{
        testbed::{Play, held_throughout, known, server},
        time::Micros,
    },
    subjects::Findings,
};

/// `consumer-exec/failure-isolated`
///
/// While the plugin fails, hangs or prints no answer for one member, the consumer goes on to reach others.
pub(in crate::rules) fn failure_isolated(evidence: &Evidence, findings: &mut Findings) {
    let Some(play) = Play::of(evidence, findings) else {
        return;
    };
    findings.nothing_happened("the consumer ran no plugin that was told to fail");
    let claims = &play.testbed.consumer;
    for subject in play.subjects() {
        let own_entries = || {
            play.versions_of(subject)
                .flat_map(|profile| known(profile, claims))
        };
        let own: BTreeSet<(&str, &str)> = own_entries().map(|entry| (&*entry.name, server(entry))).collect();
        let runs = Runs::of(play.plugin_calls().filter(|call| {
            let url = call.cluster.as_ref().map(|cluster| &*cluster.server);
            url.is_some_and(|url| own.contains(&(&*call.provider, url)))
        }));
        let Some(call) = runs.first_failed else { continue };
        findings
            .cannot_tell_unless_examined("the consumer reached no other member after the plugin had failed");
        let is_its =
            |profile: &ClusterProfile| known(profile, claims).any(|entry| play.is_call_of(call, entry));
        let held = subject.timeline.while_(is_its);
        // Between two scenes, the second is set up.
        let begins = |place: usize| {
            let before = place.checked_sub(1).map(|before| &play.testbed.scenarios[before]);
            before.map_or(Micros::MIN, |before| before.until.as_microsecond())
        };
        let is_beside = |place: usize, scene: &ScenarioRun| {
            let (from, until) = (scene.from.as_microsecond(), scene.until.as_microsecond());
            if scene.called_at.is_some() {
                let first = runs.first(begins(place), until);
                return first.is_some_and(|first| {
                    let reached = reached(&play, scene, first);
                    reached.is_some_and(|reached| !runs.recover(first, reached))
                });
            }
            // If the consumer comes to it late, or has met with it before, there may be another reason.
            let first = runs.begin(begins(place), from.saturating_add(play.settle));
            first.is_some_and(|first| {
                held_throughout(&held, first.max(from), until) && !runs.recover(first, until)
            })
        };
        let goes_on_without = |place: usize, _: &ScenarioRun, called: Micros| {
            play.why_missed(Kind::PluginCalls).is_none() && runs.first(begins(place), called).is_none()
        };
        let hindrance = Hindrance {
            what: "failing plugin",
            profile: subject.last,
            is_beside: &is_beside,
            goes_on_without: &goes_on_without,
        };
        hindrance.judge(&play, findings);
    }
}

/// The runs of the plugin for one profile, in order of time.
#[derive(Default)]
struct Runs<'e> {
    first_failed: Option<&'e PluginCall>,
    /// When they failed, each with whether it is the first of several.
    failed: Vec<(Micros, bool)>,
    /// When others gave a credential.
    gave: Vec<Micros>,
}

impl<'e> Runs<'e> {
    fn of(calls: impl Iterator<Item = &'e PluginCall>) -> Self {
        let mut runs = Self::default();
        let mut is_first = true;
        for call in calls {
            let at = call.at.as_microsecond();
            match call.answer {
                PluginAnswer::Failed {} | PluginAnswer::Hung {} | PluginAnswer::Garbage {} => {
                    runs.first_failed.get_or_insert(call);
                    runs.failed.push((at, is_first));
                    is_first = false;
                }
                PluginAnswer::Credential { .. } => {
                    runs.gave.push(at);
                    is_first = true;
                }
                PluginAnswer::NoMember {} => {}
            }
        }
        runs
    }

    /// When one failed first, after one moment and not after another.
    fn first(&self, after: Micros, until: Micros) -> Option<Micros> {
        let mut failed = self.failed.iter().map(|(at, _)| *at);
        failed.find(|at| after < *at && *at <= until)
    }

    /// The same for the first of several that failed.
    fn begin(&self, after: Micros, until: Micros) -> Option<Micros> {
        let mut begun = self.failed.iter().filter(|(_, is_first)| *is_first);
        let begun = begun.find(|(at, _)| after < *at && *at <= until);
        begun.map(|(at, _)| *at)
    }

    /// Whether one gave a credential after one moment and not after another.
    fn recover(&self, after: Micros, until: Micros) -> bool {
        self.gave.iter().any(|at| after < *at && *at <= until)
    }
}

/// When the consumer reached the member of a scene's control first from a moment on.
fn reached(play: &Play<'_>, scene: &ScenarioRun, from: Micros) -> Option<Micros> {
    let until = scene.until.as_microsecond();
    let calls = play
        .member_calls()
        .filter(|call| call.member == scene.control && call.was_trusted());
    let calls = calls.map(|call| call.at.as_microsecond());
    let called = scene.called_at.map(|called| called.as_microsecond());
    called
        .into_iter()
        .chain(calls)
        .filter(|at| (from..=until).contains(at))
        .min()
}
