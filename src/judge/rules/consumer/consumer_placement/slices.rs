//! A decision of several slices.

use evidence::Evidence;

use super::{NO_CALL, examine_silence, expect_named_call, judge_stray, play_of_placements, well};
use crate::subjects::{Finding, Findings};

/// `consumer-placement/all-slices`
///
/// A decision is what all of its slices name, and nothing else: the consumer calls the members of each slice, and none of other
/// decisions. A slice that changes, or asks for more than to look up a name, is the subject of other rules.
pub(in crate::rules) fn all_slices(evidence: &Evidence, findings: &mut Findings) {
    let Some((play, decisions)) = play_of_placements(evidence, findings) else {
        return;
    };
    findings.nothing_happened("no decision that the consumer reads had several slices");
    for subject in play.subjects() {
        let urls = play.own_servers(subject);
        if urls.is_empty() {
            continue;
        }
        if !decisions.is_namesake(subject) {
            let before = judge_stray(&play, &decisions, (subject, &urls), findings, |call| {
                let message = "the consumer acts on a profile that no slice of its decision names";
                Finding::on(subject.last, message)
                    .at("metadata.name")
                    .expected("calls for the members of its decision alone")
                    .observed(call)
            });
            let Some(before) = before else { continue };
            let is_trap = decisions.is_named_elsewhere(subject);
            if is_trap && play.chance(&before.and(&well(&play, subject))).is_some() {
                examine_silence(&play, findings);
            }
        }
        let Some(naming) = decisions.first_naming(&play, subject) else {
            continue;
        };
        if !naming.is_from_the_beginning || naming.is_difficult(&play) {
            continue;
        }
        let Some(has_others) = decisions.has_others(naming.slice) else {
            continue;
        };
        let held = naming.slice.named(&play, subject).and(&has_others);
        let Some((_, until)) = play.chance(&held.and(&well(&play, subject))) else {
            continue;
        };
        let called = play.set_out_for_profile(subject, &urls, until);
        let called = match called {
            Ok(false) if !naming.slice.is_seen_from_its_creation => {
                Err("the profile may have been added to the slice before the run looked".into())
            }
            called => called,
        };
        expect_named_call(&play, called, findings, || {
            let message = "the consumer does not act on a profile that one slice of its decision names";
            Finding::on(subject.last, message)
                .at("metadata.name")
                .expected("calls for the members of all slices of the decision")
                .observed(NO_CALL)
        });
    }
}
