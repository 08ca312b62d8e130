//! Where a consumer's access to a member ends.

use evidence::{Evidence, Kind, api::ClusterProfile};

use crate::{
    shared::consumer::{Play, Subject, call_in_words, known, server},
    subjects::{Finding, Findings},
    time::While,
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
    if let Some(claims) = evidence.stage.as_ref().map(|stage| &stage.consumer)
        && claims.fallback.is_some()
    {
        findings.not_asked("the consumer has a way of its own to members without a known provider");
        return;
    }
    judge(evidence, findings, &what, |play, subject| {
        let claims = &play.stage.consumer;
        let has_none =
            |profile: &ClusterProfile| known(profile, claims).all(|entry| server(entry).is_empty());
        subject.timeline.while_(has_none)
    });
}

/// `consumer-change/profile-gone`
///
/// When a profile is deleted, the consumer makes no new call of its member.
pub(in crate::rules) fn profile_gone(evidence: &Evidence, findings: &mut Findings) {
    let what = What {
        never: "no profile was deleted whose member had been called",
        message: "the consumer calls the member of a profile that is gone",
        path: "metadata.name",
        expected: "no call once the profile is gone",
    };
    judge(evidence, findings, &what, |_, subject| subject.timeline.absent());
}

/// How one of the two is said.
struct What {
    never: &'static str,
    message: &'static str,
    path: &'static str,
    expected: &'static str,
}

fn judge(
    evidence: &Evidence,
    findings: &mut Findings,
    what: &What,
    ended: impl Fn(&Play<'_>, &Subject<'_>) -> While,
) {
    let Some(play) = Play::of(evidence, findings) else {
        return;
    };
    findings.nothing_happened(what.never);
    for subject in play.subjects() {
        let urls = play.own_servers(subject);
        let held = ended(&play, subject);
        let Some((chance, _)) = play.chance(&held).filter(|_| !urls.is_empty()) else {
            continue;
        };
        if let Some(call) = play.call_during(&urls, &held) {
            findings.examine();
            findings.report(
                Finding::on(subject.last, what.message)
                    .at(what.path)
                    .expected(what.expected)
                    .observed(call_in_words(call)),
            );
            continue;
        }
        let mut calls = urls.iter().flat_map(|url| play.calls_to(url));
        if !calls.any(|call| call.at.as_microsecond() < chance) {
            findings
                .cannot_tell_unless_found("the consumer never called the member to which its access ended");
        } else if let Some(why) = play.why_missed(Kind::MemberCalls) {
            findings.cannot_tell(why);
        } else {
            findings.examine();
        }
    }
}
