//! A profile that cannot be used, beside others that can.

use evidence::{Evidence, ScenarioRun, api::ClusterProfile};

use super::isolated::Hindrance;
use crate::{
    rules::consumer::support::{
        testbed::{Play, held_throughout, is_malformed},
        time::Micros,
    },
    subjects::Findings,
};

/// `consumer-exec/malformed-isolated`
///
/// While a profile has an access provider that cannot be used, the consumer goes on to reach the members of others.
pub(in crate::rules) fn malformed_isolated(evidence: &Evidence, findings: &mut Findings) {
    let Some(play) = Play::of(evidence, findings) else {
        return;
    };
    findings.nothing_happened("no profile was staged that is malformed");
    let has_malformed = |profile: &ClusterProfile| profile.access().any(is_malformed);
    for subject in play.subjects() {
        let held = subject.timeline.while_(has_malformed);
        let not_held = held.not();
        let is_beside = |_, scene: &ScenarioRun| {
            held_throughout(&held, scene.from.as_microsecond(), scene.until.as_microsecond())
        };
        let goes_on_without = |_, scene: &ScenarioRun, called: Micros| {
            subject.is_to_come(called) || held_throughout(&not_held, scene.from.as_microsecond(), called)
        };
        let hindrance = Hindrance {
            what: "malformed profile",
            profile: subject.last,
            is_beside: &is_beside,
            goes_on_without: &goes_on_without,
        };
        hindrance.judge(&play, findings);
    }
}
