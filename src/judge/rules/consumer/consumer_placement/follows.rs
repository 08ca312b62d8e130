//! Decisions that change.

use std::collections::BTreeSet;

use evidence::{Evidence, Kind};

use super::{NO_CALL, examine_silence, expect_named_call, play_of_placements, unnamed, well};
use crate::{
    rules::consumer::support::{
        testbed::{Decisions, Play, Subject, call_in_words, held_throughout},
        time::Micros,
    },
    subjects::{Finding, Findings},
};

/// `consumer-placement/follows`
///
/// The consumer calls a member that is added to a decision, and none any more that has left it, or whose decision was deleted. One
/// that moves to another slice may be named by none for a moment.
pub(in crate::rules) fn follows(evidence: &Evidence, findings: &mut Findings) {
    let Some((play, decisions)) = play_of_placements(evidence, findings) else {
        return;
    };
    findings.nothing_happened("no decision that the consumer reads changed");
    for subject in play.subjects() {
        let urls = play.own_servers(subject);
        if urls.is_empty() {
            continue;
        }
        judge_added(&play, &decisions, subject, &urls, findings);
        judge_removed(&play, &decisions, subject, &urls, findings);
    }
    if let Some(why) = play.why_missed(Kind::PlacementTimeline) {
        findings.cannot_tell_unless_examined(why);
    }
}

/// Blames that there was no call for a member that was added to a slice. It had been there for as long as the consumer may take
/// before, so that the consumer would not have come to know it with the slice.
fn judge_added<'e>(
    play: &Play<'e>,
    decisions: &Decisions<'e>,
    subject: &Subject<'e>,
    urls: &BTreeSet<&str>,
    findings: &mut Findings,
) {
    let naming = decisions.first_naming(play, subject);
    let Some(naming) = naming.filter(|naming| !naming.is_from_the_beginning && !naming.is_difficult(play))
    else {
        return;
    };
    let named = naming.edge.earliest;
    let before = unnamed(play, decisions, subject, (named, Micros::MAX));
    if !held_throughout(&before, named.saturating_sub(play.settle), named) {
        return;
    }
    let held = naming.slice.named(play, subject);
    let Some((_, until)) = play.chance(&held.and(&well(play, subject))) else {
        return;
    };
    expect_named_call(
        play,
        play.set_out_for_profile(subject, urls, until),
        findings,
        || {
            let message = "the consumer does not act on a profile that was added to its decision";
            Finding::on(subject.last, message)
                .at("metadata.name")
                .expected("calls for the members that are added")
                .observed(NO_CALL)
        },
    );
}

/// Blames a call of a member that had surely left all decisions.
fn judge_removed<'e>(
    play: &Play<'e>,
    decisions: &Decisions<'e>,
    subject: &Subject<'e>,
    urls: &BTreeSet<&str>,
    findings: &mut Findings,
) {
    let Some(naming) = decisions.first_naming(play, subject) else {
        return;
    };
    let after = unnamed(play, decisions, subject, (Micros::MIN, naming.edge.latest));
    if let Some(call) = play.call_during(subject, urls, &after) {
        findings.examine();
        let message = "the consumer calls a member that no decision names any more";
        findings.report(
            Finding::on(subject.last, message)
                .at("metadata.name")
                .expected("no call once the member has left the decision")
                .observed(call_in_words(call)),
        );
        return;
    }
    let Some((chance, _)) = play.chance(&after) else {
        return;
    };
    let mut calls = play.calls_to_any(urls);
    if calls.any(|call| call.at.as_microsecond() < chance) {
        examine_silence(play, findings);
    } else {
        // That a member was not called at all is the subject of other rules.
        findings.cannot_tell_unless_examined("the consumer never called the member that left its decision");
    }
}
