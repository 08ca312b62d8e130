//! Which of several profiles a consumer acts on.

use evidence::Evidence;

use super::{PATH, play_of_conflicts};
use crate::{
    rules::consumer::support::{
        testbed::{Play, Standing, Subject, UNSEEN, call_in_words, expect_call, standings},
        time::{Micros, While},
    },
    subjects::{Finding, Findings},
};

/// `consumer-identity/oldest-wins`
///
/// Of several profiles with one identity in a namespace, the consumer acts on the oldest alone.
pub(in crate::rules) fn oldest_wins(evidence: &Evidence, findings: &mut Findings) {
    let Some(play) = play_of_conflicts(evidence, findings) else {
        return;
    };
    findings.nothing_happened("no two profiles of different age had one identity");
    for standing in standings(&play) {
        let expected = "calls for the oldest profile of a member alone";
        judge_call(&play, &standing, &standing.is_second(), expected, findings);
        // That one takes over is the subject of another rule.
        let was_second = standing.is_second().surely_until().is_some();
        let is_first = standing.is_first().and(&standing.has_younger);
        if !was_second {
            judge_no_call(&play, standing.subject, &is_first, None, findings);
        }
    }
}

/// `consumer-identity/tie-acts-on-none`
///
/// Where two profiles with one identity in a namespace are the oldest, the consumer acts on none.
pub(in crate::rules) fn tie_acts_on_none(evidence: &Evidence, findings: &mut Findings) {
    let Some(play) = play_of_conflicts(evidence, findings) else {
        return;
    };
    findings.nothing_happened("no two profiles of one identity were created in the same second");
    for standing in standings(&play) {
        let expected = "no call while several profiles of a member are the oldest";
        judge_call(&play, &standing, &standing.is_tied(), expected, findings);
    }
}

/// `consumer-identity/next-takes-over`
///
/// When the oldest profile of a member is gone, the consumer acts on the next one.
pub(in crate::rules) fn next_takes_over(evidence: &Evidence, findings: &mut Findings) {
    let Some(play) = play_of_conflicts(evidence, findings) else {
        return;
    };
    findings.nothing_happened("no profile became the oldest of its member");
    for standing in standings(&play) {
        let is_second = standing.is_second();
        if let Some(until) = is_second.surely_until() {
            judge_no_call(
                &play,
                standing.subject,
                &standing.is_first(),
                Some(until),
                findings,
            );
        }
    }
}

/// Blames a call for a profile while it was surely not to be acted on.
fn judge_call(
    play: &Play<'_>,
    standing: &Standing<'_, '_>,
    held: &While,
    expected: &str,
    findings: &mut Findings,
) {
    let subject = standing.subject;
    let urls = play.own_servers(subject);
    if urls.is_empty() {
        return;
    }
    let call = play.call_against(subject, &urls, held, &standing.without(held));
    if call.is_none() {
        if play.may_be_against(subject, &urls, held) {
            findings.cannot_tell(UNSEEN);
            return;
        }
        let Some(span) = play.chance(held) else { return };
        // A consumer that would not call it anyway tells nothing.
        let is_open = subject.timeline.while_(|profile| play.invites(profile));
        if play.chance(&held.and(&is_open)).is_none() {
            return;
        }
        if let Err(why) = play.set_out_for(&urls, span) {
            findings.cannot_tell(why);
            return;
        }
    }
    findings.examine();
    if let Some(call) = call {
        let message = "the consumer acts on a profile of which another one stands for the member";
        findings.report(
            Finding::on(subject.last, message)
                .at(PATH)
                .expected(expected)
                .observed(call_in_words(call)),
        );
    }
}

/// Blames that there was no call for a profile while it surely was the one to act on, since a moment.
fn judge_no_call(
    play: &Play<'_>,
    subject: &Subject<'_>,
    held: &While,
    since: Option<Micros>,
    findings: &mut Findings,
) {
    let urls = play.own_servers(subject);
    let is_open = subject.timeline.while_(|profile| play.invites(profile));
    let chance = play.chance(&held.and(&is_open));
    let Some((_, until)) = chance.filter(|_| !urls.is_empty()) else {
        return;
    };
    let called = match since {
        Some(since) => play.set_out_for(&urls, (since, until)),
        None => play.set_out_for_profile(subject, &urls, until),
    };
    expect_call(called, findings, || {
        let message = "the consumer does not act on the profile that stands for the member";
        let finding = Finding::on(subject.last, message).at(PATH);
        finding
            .expected("calls for the oldest profile")
            .observed("no call")
    });
}
