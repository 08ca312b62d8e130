//! What changed while the consumer could not learn of it.

use std::collections::BTreeSet;

use evidence::{Kind, MemberCall, Reason, api::ClusterProfile};

use super::{Play, Subject, call_in_words, comes_back_within, expect_call, held_throughout, known, server};
use crate::{
    rules::consumer::support::time::{Edge, Known, Micros, Set, While},
    subjects::{Finding, Findings},
    text::redacted,
};

/// A time in which the consumer could not learn what profiles say, and from when on it can again.
pub(crate) struct Away {
    /// From when on it may not have learnt it.
    pub(crate) begins: Micros,
    /// From when on it surely did not.
    pub(crate) from: Micros,
    /// Until when it surely did not.
    pub(crate) until: Micros,
    /// Since when it can have learnt of it: when it called a control again, or later.
    pub(crate) back: Micros,
    /// What to call that time: `while it was stopped`.
    pub(crate) when: &'static str,
    /// What to call the time after it: `once it was started again`.
    pub(crate) again: &'static str,
}

/// Judges what the consumer makes of each server that went or came while it was away: it calls no server that went, once it has
/// settled, and calls those that came. What it makes of profiles tells the same, where the run reads that.
pub(crate) fn follows_what_changed(play: &Play<'_>, away: &Away, findings: &mut Findings) {
    let from_back = Set::of([(away.back, Micros::MAX)]);
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
            match (at(away.from), at(away.until)) {
                (Known::Yes, Known::No) => {
                    let gone = named.not().without(&from_back.not());
                    went(play, (subject, url), (away, &gone), findings);
                }
                (Known::No, Known::Yes) => {
                    let inviting = names(play, subject, url, |profile| play.invites(profile));
                    let came = inviting.without(&from_back.not());
                    came_up(play, (subject, url), (away, &came), findings);
                }
                (Known::Unknown(_), Known::Yes | Known::No) | (_, Known::Unknown(_)) => findings
                    .cannot_tell_unless_examined(format!(
                        "the watch did not show whether a profile changed {}",
                        away.when
                    )),
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
        let mut entries = known(profile, &play.testbed.consumer);
        entries.any(|entry| server(entry) == url) && holds(profile)
    })
}

/// A server went while the consumer was stopped, and was gone in that time since.
fn went<'e>(
    play: &Play<'e>,
    (subject, url): (&Subject<'e>, &'e str),
    (away, gone): (&Away, &While),
    findings: &mut Findings,
) {
    let urls = BTreeSet::from([url]);
    let when = away.when;
    let finding = |message: String| {
        Finding::on(subject.last, message)
            .at("status.accessProviders[].cluster.server")
            .expected("what a consumer does that reads all profiles anew")
    };
    let call = play.call_during(subject, &urls, gone);
    let left = play.outputs_naming(url).find(|(snapshot, _)| {
        let at = snapshot.at.as_microsecond();
        held_throughout(gone, at.saturating_sub(play.settle), at)
    });
    let found = match (call, left) {
        (Some(call), _) => Some(
            finding(format!("the consumer calls a server that went {when}")).observed(call_in_words(call)),
        ),
        (None, Some((snapshot, output))) => {
            Some(
                finding(format!("what the consumer makes names a server that went {when}"))
                    .observed(format!("{} at {}", redacted(&output.object), snapshot.at)),
            )
        }
        (None, None) => None,
    };
    if let Some(finding) = found {
        findings.examine();
        findings.report(finding);
        return;
    }
    let is_before = |at: jiff::Timestamp| at.as_microsecond() <= away.begins;
    let was_known = play.calls_to(url).iter().any(|call| is_before(call.at))
        || play
            .outputs_naming(url)
            .any(|(snapshot, _)| is_before(snapshot.at));
    if !was_known {
        findings.cannot_tell_unless_found(format!("the consumer never called the server that went {when}"));
    } else if let Some(why) = why_unread(play) {
        findings.cannot_tell(why);
    } else if play.chance_since(away.back, gone).is_none() {
        findings.cannot_tell_unless_found(format!("the consumer had no time to settle {}", away.again));
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
    (away, came): (&Away, &While),
    findings: &mut Findings,
) {
    let Some((_, until)) = play.chance_since(away.back, came) else {
        return;
    };
    let urls = BTreeSet::from([url]);
    // Who learns of it sooner may have done its work by then.
    let is_since = |at: jiff::Timestamp| at.as_microsecond() > away.from;
    if play
        .outputs_naming(url)
        .any(|(snapshot, _)| is_since(snapshot.at))
    {
        findings.examine();
        return;
    }
    let called = match (play.set_out_for(&urls, (away.from, until)), why_unread(play)) {
        (Ok(false), Some(why)) => Err(why),
        // A control is new: it does not tell how soon the consumer comes back to a member that it knows.
        (Ok(false), None) if was_there(subject, away) && !comes_back(play, away, until) => {
            Err("the consumer calls members that it knows less often than the run waited".into())
        }
        (called, _) => called,
    };
    expect_call(called, findings, || {
        let message = format!("the consumer does not take up what came {}", away.when);
        Finding::on(subject.last, message)
            .at("status.accessProviders[].cluster.server")
            .expected(format!("a call of {}", redacted(url)))
            .observed("no call")
    });
}

/// Whether a profile was there when that time began.
fn was_there(subject: &Subject<'_>, away: &Away) -> bool {
    !subject.is_to_come(away.begins)
}

/// Whether the consumer, before that time, came back to any member in less time than it had since.
fn comes_back(play: &Play<'_>, away: &Away, until: Micros) -> bool {
    play.subjects().iter().any(|subject| {
        let urls = play.own_servers(subject);
        let calls = play.calls_to_any(&urls);
        let before = calls.filter(|call| call.at.as_microsecond() <= away.begins);
        let before: Vec<&MemberCall> = before.collect();
        comes_back_within(until.saturating_sub(away.until), play, &before)
    })
}

/// Why the run may not have all that the consumer makes, if it makes something.
fn why_unread(play: &Play<'_>) -> Option<Reason> {
    let makes_something = !play.testbed.consumer.outputs.is_empty();
    makes_something.then(|| play.why_missed(Kind::Outputs)).flatten()
}
