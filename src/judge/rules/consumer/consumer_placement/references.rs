//! What a decision refers to.

use evidence::{Evidence, ObjectRef, ScenarioRun};

use super::{NO_CALL, examine_silence, expect_named_call, judge_stray, play_of_placements, well};
use crate::{
    rules::consumer::support::testbed::{Decisions, Play, Slice, held_throughout},
    subjects::{Finding, Findings},
};

/// `consumer-placement/references`
///
/// A reference without a namespace is to a profile of the decision's own. One to a profile that is missing keeps the consumer
/// from no other, and leads on once that profile comes.
pub(in crate::rules) fn references(evidence: &Evidence, findings: &mut Findings) {
    let Some((play, decisions)) = play_of_placements(evidence, findings) else {
        return;
    };
    findings.nothing_happened("no decision named a profile without its namespace, or one that was missing");
    for subject in play.subjects() {
        let urls = play.own_servers(subject);
        if urls.is_empty() {
            continue;
        }
        if decisions.is_namesake(subject) {
            let before = judge_stray(&play, &decisions, (subject, &urls), findings, |call| {
                let message =
                    "the consumer takes a profile of another namespace for the one that a decision names";
                Finding::on(subject.last, message)
                    .at("metadata.namespace")
                    .expected("calls for the profile of the decision's own namespace")
                    .observed(call)
            });
            let held = before.map(|before| before.and(&well(&play, subject)));
            if held.is_some_and(|held| play.chance(&held).is_some()) {
                examine_silence(&play, findings);
            }
        }
        let naming = decisions.first_naming(&play, subject);
        let Some(naming) = naming.filter(|naming| naming.is_difficult(&play)) else {
            continue;
        };
        let held = naming.slice.named(&play, subject);
        let Some((_, until)) = play.chance(&held.and(&well(&play, subject))) else {
            continue;
        };
        expect_named_call(
            &play,
            play.set_out_for_profile(subject, &urls, until),
            findings,
            || {
                let message = "the consumer does not act on a profile that a decision names";
                let expected = if subject.is_to_come(naming.edge.latest) {
                    "calls for a profile that came after the decision which names it"
                } else {
                    "calls for all profiles that the decision names and that are there"
                };
                Finding::on(subject.last, message)
                    .at("metadata.name")
                    .expected(expected)
                    .observed(NO_CALL)
            },
        );
    }
    halts(&play, &decisions, findings);
}

/// A hint: while a decision named a profile that was missing, the consumer called not even the control, and before and after it
/// did so. It may say that it halts, and others may have kept it from calling.
fn halts(play: &Play<'_>, decisions: &Decisions<'_>, findings: &mut Findings) {
    let scenes = &play.testbed.scenarios;
    for (place, scene) in scenes.iter().enumerate() {
        let (before, after) = (&scenes[..place], &scenes[place + 1..]);
        let is_called = |scenes: &[ScenarioRun]| scenes.iter().any(|scene| scene.called_at.is_some());
        if scene.called_at.is_some() || scene.may_delay || !is_called(before) || !is_called(after) {
            continue;
        }
        let (from, until) = (scene.from.as_microsecond(), scene.until.as_microsecond());
        let is_missing = |slice: &&Slice<'_>| {
            let missing = slice.names_missing(play);
            missing.is_some_and(|missing| held_throughout(&missing, from, until))
        };
        if until.saturating_sub(from) < play.settle {
            continue;
        }
        if let Some(slice) = decisions.read().find(is_missing) {
            let message = "the consumer acts on nothing while a decision names a profile that is missing";
            findings.examine();
            findings.report(
                Finding::on(ObjectRef::from(slice.last), message)
                    .at("decisions")
                    .expected("calls for those that are there")
                    .observed(NO_CALL)
                    .advisory(),
            );
        }
    }
}
