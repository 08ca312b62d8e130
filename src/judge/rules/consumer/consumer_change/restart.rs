//! What changed while the consumer was stopped.

use std::collections::BTreeSet;

use evidence::{Called, DriverAction, Evidence, Kind, Reason, api::ClusterProfile};

use crate::{
    shared::consumer::{Pause, Play, Subject, call_in_words, expect_call, held_throughout, known, server},
    subjects::{Finding, Findings},
    text::redacted,
    time::{Edge, Known, Micros, Set, While},
};

/// `consumer-change/restart-no-orphans`
///
/// What changed while the consumer was stopped, it finds out when it starts again: it calls no server that went meanwhile, once it
/// has settled, and calls those that came. So it does what a consumer does that starts anew. What it makes of profiles tells the same,
/// where the run reads that.
pub(in crate::rules) fn restart_no_orphans(evidence: &Evidence, findings: &mut Findings) {
    let Some(play) = Play::of(evidence, findings) else {
        return;
    };
    let needed = [DriverAction::Stop, DriverAction::Start];
    if !needed.iter().all(|action| play.stage.hooks.contains(action)) {
        findings.not_asked("the run has no hooks to stop the consumer and to start it again");
        return;
    }
    findings.nothing_happened("no profile changed while the consumer was stopped");
    for pause in play.pauses() {
        match back(&play, &pause) {
            Ok(back) => judge(&play, &pause, back, findings),
            Err(why) => findings.cannot_tell(why),
        }
    }
}

/// When the consumer called a control again, if it was surely stopped before.
fn back(play: &Play<'_>, pause: &Pause<'_>) -> Result<Micros, String> {
    if let Some((action, failure)) = pause.failure() {
        return Err(format!("the hook `{action}` failed: {}", redacted(failure)));
    }
    let is_in = |at: jiff::Timestamp| {
        let at = at.as_microsecond();
        pause.stopped() < at && at < pause.started()
    };
    // Bytes of a connection that ended may be on their way.
    let mut calls = play
        .member_calls()
        .filter(|call| !matches!(call.what, Called::Broken { .. }));
    if calls.any(|call| is_in(call.at)) || play.plugin_calls().any(|call| is_in(call.at)) {
        return Err("the consumer called members while it was stopped: its hook returns too early".into());
    }
    let called = play.stage.scenes.iter().filter_map(|scene| scene.called);
    let called = called.map(jiff::Timestamp::as_microsecond);
    let back = called.filter(|called| *called >= pause.ends()).min();
    back.ok_or_else(|| "the consumer called no control once it was started again".into())
}

fn judge(play: &Play<'_>, pause: &Pause<'_>, back: Micros, findings: &mut Findings) {
    let from_back = Set::of([(back, Micros::MAX)]);
    for subject in play.subjects() {
        for url in play.own_servers(subject) {
            let named = names(play, subject, url, |_| true);
            let at = |moment: Micros| {
                if subject.is_to_come(moment) {
                    Known::No
                } else {
                    named.at(Edge::at(moment))
                }
            };
            match (at(pause.stopped()), at(pause.started())) {
                (Known::Yes, Known::No) => {
                    let gone = named.not().without(&from_back.not());
                    went(play, (subject, url), (pause, &gone), findings);
                }
                (Known::No, Known::Yes) => {
                    let inviting = names(play, subject, url, |profile| play.invites(profile));
                    let came = inviting.without(&from_back.not());
                    came_up(play, (subject, url), (pause, &came), findings);
                }
                (Known::Unknown(_), Known::Yes | Known::No) | (_, Known::Unknown(_)) => findings
                    .cannot_tell_unless_examined(
                        "the watch did not show whether a profile changed while the consumer was stopped",
                    ),
                (Known::Yes, Known::Yes) | (Known::No, Known::No) => {}
            }
        }
    }
}

/// While a profile named a server for a provider that the consumer has a plugin for, and something held. One that waits for its
/// finalizers still names it: the consumer may clean up there.
fn names<'e>(
    play: &Play<'e>,
    subject: &Subject<'e>,
    url: &str,
    holds: impl Fn(&ClusterProfile) -> bool,
) -> While {
    subject.timeline.while_(|profile: &ClusterProfile| {
        let mut entries = known(profile, &play.stage.consumer);
        entries.any(|entry| server(entry) == url) && holds(profile)
    })
}

/// A server went while the consumer was stopped, and was gone in that time since.
fn went<'e>(
    play: &Play<'e>,
    (subject, url): (&Subject<'e>, &'e str),
    (pause, gone): (&Pause<'_>, &While),
    findings: &mut Findings,
) {
    let urls = BTreeSet::from([url]);
    let finding = |message: &str| {
        Finding::on(subject.last, message)
            .at("status.accessProviders[].cluster.server")
            .expected("what a consumer does that starts anew")
    };
    let call = play.call_during(subject, &urls, gone);
    let left = play.outputs_naming(url).find(|(snapshot, _)| {
        let at = snapshot.at.as_microsecond();
        held_throughout(gone, at.saturating_sub(play.settle), at)
    });
    let found = match (call, left) {
        (Some(call), _) => Some(
            finding("the consumer calls a server that went while it was stopped")
                .observed(call_in_words(call)),
        ),
        (None, Some((snapshot, output))) => Some(
            finding("what the consumer makes names a server that went while it was stopped")
                .observed(format!("{} at {}", redacted(&output.object), snapshot.at)),
        ),
        (None, None) => None,
    };
    if let Some(finding) = found {
        findings.examine();
        findings.report(finding);
        return;
    }
    let is_before = |at: jiff::Timestamp| at.as_microsecond() <= pause.begins();
    let was_known = play.calls_to(url).iter().any(|call| is_before(call.at))
        || play
            .outputs_naming(url)
            .any(|(snapshot, _)| is_before(snapshot.at));
    if !was_known {
        findings
            .cannot_tell_unless_found("the consumer never called the server that went while it was stopped");
    } else if let Some(why) = why_unread(play) {
        findings.cannot_tell(why);
    } else if play.chance(gone).is_none() {
        findings.cannot_tell_unless_found("the consumer had no time to settle once it was started again");
    } else if let Some(why) = play.why_missed(Kind::MemberCalls) {
        findings.cannot_tell(why);
    } else {
        findings.examine();
    }
}

/// A server came while the consumer was stopped, and invited it in that time since.
fn came_up<'e>(
    play: &Play<'e>,
    (subject, url): (&Subject<'e>, &'e str),
    (pause, came): (&Pause<'_>, &While),
    findings: &mut Findings,
) {
    let Some((_, until)) = play.chance(came) else {
        return;
    };
    let urls = BTreeSet::from([url]);
    let is_since = |at: jiff::Timestamp| at.as_microsecond() > pause.started();
    if play
        .outputs_naming(url)
        .any(|(snapshot, _)| is_since(snapshot.at))
    {
        findings.examine();
        return;
    }
    let called = match (
        play.set_out_for(&urls, (pause.started(), until)),
        why_unread(play),
    ) {
        (Ok(false), Some(why)) => Err(why),
        (called, _) => called,
    };
    expect_call(called, findings, || {
        let message = "the consumer does not take up what came while it was stopped";
        Finding::on(subject.last, message)
            .at("status.accessProviders[].cluster.server")
            .expected(format!("a call of {}", redacted(url)))
            .observed("no call")
    });
}

/// Why the run may not have all that the consumer makes, if it makes something.
fn why_unread(play: &Play<'_>) -> Option<Reason> {
    let makes_something = !play.stage.consumer.outputs.is_empty();
    makes_something.then(|| play.why_missed(Kind::Outputs)).flatten()
}
