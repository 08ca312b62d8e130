//! Where a consumer's access to a member ends.

use evidence::{Evidence, Kind, MemberCall, api::ClusterProfile};

use crate::{
    rules::consumer::support::{
        testbed::{Play, Subject, call_in_words, goes_on, known, server},
        time::{Micros, Run, Seen, Set, While},
    },
    subjects::{Finding, Findings},
};

/// `consumer-change/access-revoked`
///
/// When a profile names no provider any more that the consumer has a plugin for, the consumer makes no new call of the member.
/// What it began before may go on.
pub(in crate::rules) fn access_revoked(evidence: &Evidence, findings: &mut Findings) {
    let what = What {
        never: "no profile was staged whose known provider is taken back",
        message: "the consumer calls a member that the profile gives it no access to any more",
        path: "status.accessProviders",
        expected: "no call once the known provider is gone",
    };
    if let Some(claims) = evidence.testbed.as_ref().map(|testbed| &testbed.consumer)
        && claims.fallback.is_some()
    {
        findings.not_asked("the consumer has a way of its own to members without a known provider");
        return;
    }
    judge(evidence, findings, &what, |play, subject| {
        let claims = &play.testbed.consumer;
        let has_one =
            |profile: &ClusterProfile| known(profile, claims).any(|entry| !server(entry).is_empty());
        Ending {
            permitted: subject.timeline.while_(has_one),
            ended: subject.timeline.while_(|profile| !has_one(profile)),
        }
    });
}

/// `consumer-change/profile-gone`
///
/// When a profile is deleted, the consumer makes no new call of its member. What was deleted while the consumer was stopped or
/// did not reach the hub is the subject of other rules.
pub(in crate::rules) fn profile_gone(evidence: &Evidence, findings: &mut Findings) {
    let what = What {
        never: "no profile was deleted whose member had been called",
        message: "the consumer calls the member of a profile that is gone",
        path: "metadata.name",
        expected: "no call once the profile is gone",
    };
    judge(evidence, findings, &what, |play, subject| {
        let runs = subject.timeline.runs();
        let ends = runs
            .iter()
            .skip(1)
            .map(|next| next.from.latest)
            .chain([Micros::MAX]);
        let is_it = |run: &Run<'_, ClusterProfile>| {
            matches!(run.seen, Seen::Absence) && play.may_have_missed(run.from)
        };
        let unseen = runs.iter().zip(ends).filter(|(run, _)| is_it(run));
        let unseen = Set::of(unseen.map(|(run, end)| (run.from.earliest, end)));
        Ending {
            permitted: subject.timeline.while_(|_| true),
            ended: subject.timeline.absent().without(&unseen),
        }
    });
}

/// How one of the two is said.
struct What {
    never: &'static str,
    message: &'static str,
    path: &'static str,
    expected: &'static str,
}

/// When a profile permitted calls, and when it no longer did.
struct Ending {
    permitted: While,
    ended: While,
}

fn judge(
    evidence: &Evidence,
    findings: &mut Findings,
    what: &What,
    ending: impl Fn(&Play<'_>, &Subject<'_>) -> Ending,
) {
    let Some(play) = Play::of(evidence, findings) else {
        return;
    };
    if play.testbed.consumer.one_shot {
        findings.not_asked("nothing of the consumer goes on: each piece of its work is a process of its own");
        return;
    }
    findings.nothing_happened(what.never);
    let (mut is_any_told, mut unclear) = (false, None);
    for subject in play.subjects() {
        let urls = play.own_servers(subject);
        let Ending { permitted, ended } = ending(&play, subject);
        let Some((chance, _)) = play.chance(&ended).filter(|_| !urls.is_empty()) else {
            continue;
        };
        if let Some(call) = play.call_against(subject, &urls, &ended, &permitted) {
            is_any_told = true;
            findings.examine();
            findings.report(
                Finding::on(subject.last, what.message)
                    .at(what.path)
                    .expected(what.expected)
                    .observed(call_in_words(call)),
            );
            continue;
        }
        let calls = play.calls_to_any(&urls);
        let earlier: Vec<&MemberCall> = calls.filter(|call| call.at.as_microsecond() < chance).collect();
        if earlier.is_empty() {
            unclear = Some("the consumer never called the member to which its access ended");
        } else if !goes_on(&play, &earlier) {
            unclear = Some("the consumer called the member to which its access ended at first only");
        } else if let Some(why) = play.why_missed(Kind::MemberCalls) {
            findings.cannot_tell(why);
        } else {
            is_any_told = true;
            findings.examine();
        }
    }
    // What it had no work on tells nothing, and takes nothing away.
    if let Some(unclear) = unclear.filter(|_| !is_any_told) {
        findings.cannot_tell(unclear);
    }
}
