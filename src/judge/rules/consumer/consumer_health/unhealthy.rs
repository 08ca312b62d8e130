//! Members that are not well.

use std::collections::BTreeSet;

use evidence::{
    CallEvent, Evidence, Kind, MemberCall,
    api::{ClusterProfile, names},
};

use crate::{
    rules::consumer::support::{
        testbed::{Play, Subject, inviting, known, server},
        time::{Micros, Run, Set, timestamp},
    },
    subjects::{Finding, Findings},
    text::redacted,
};

/// Where health is told.
const PATH: &str = "status.conditions[ControlPlaneHealthy]";

/// `consumer-health/unhealthy-not-dispatched`
///
/// A consumer that claims to leave members alone that are not healthy makes no connection to one whose profile says so, once it
/// had time to follow. Connections from before may stay; and where there were some, what runs over them may make new ones, so
/// that these are a hint only. Once the member is healthy again, the consumer calls it. Unknown is not false.
pub(in crate::rules) fn unhealthy_not_dispatched(evidence: &Evidence, findings: &mut Findings) {
    let Some(play) = Play::of(evidence, findings) else {
        return;
    };
    let claims = &play.testbed.consumer;
    if !claims.gates_on_health {
        findings.not_asked("the consumer does not claim to leave members alone that are not healthy");
        return;
    }
    findings.nothing_happened("no profile was staged whose member is not healthy");
    for subject in play.subjects() {
        let is_ill =
            |profile: &ClusterProfile| is_unhealthy(profile) && known(profile, claims).next().is_some();
        let held = subject.timeline.while_(is_ill);
        let ill = play.versions_of(subject).filter(|profile| is_ill(profile));
        let urls: BTreeSet<&str> = ill
            .flat_map(|profile| known(profile, claims).map(server))
            .filter(|url| !url.is_empty())
            .collect();
        let is_against = |call: &&MemberCall| {
            let at = call.at.as_microsecond();
            let names_it =
                |profile: &ClusterProfile| known(profile, claims).any(|entry| server(entry) == call.url);
            let permits = |profile: &ClusterProfile| names_it(profile) && !is_unhealthy(profile);
            let mut subjects = play.subjects().iter();
            play.may_have_said(subject, at, |profile| names_it(profile) && is_unhealthy(profile))
                && !subjects.any(|subject| play.may_have_said(subject, at, permits))
        };
        let connections = urls.iter().flat_map(|url| play.connections_to(url));
        if let Some(call) = connections.filter(is_against).min_by_key(|call| call.at) {
            findings.examine();
            let observed = format!("a connection to {} at {}", redacted(&call.url), call.at);
            let finding = Finding::on(subject.last, "the consumer calls a member that is not healthy")
                .at(PATH)
                .expected("no new connection while the status is False")
                .observed(observed);
            let mut all = play.connections_to(&call.url);
            let may_run = all.any(|one| one.at < call.at)
                || play.why_missed(Kind::MemberCalls).is_some()
                || !subject.is_seen_from_its_creation();
            findings.report(if may_run { finding.advisory() } else { finding });
            continue;
        }
        if play.chance(&held).is_some() {
            findings.examine();
        }
        judge_again(&play, subject, findings);
    }
}

/// Judges whether the consumer calls a member that is healthy again.
fn judge_again(play: &Play<'_>, subject: &Subject<'_>, findings: &mut Findings) {
    let claims = &play.testbed.consumer;
    let well = subject.timeline.while_(|profile| play.invites(profile));
    let entries = play
        .versions_of(subject)
        .flat_map(|profile| inviting(profile, claims));
    let urls: BTreeSet<&str> = entries.map(server).collect();
    let runs = subject.timeline.runs();
    let is_ill = |run: &Run<'_, ClusterProfile>| run.version().is_some_and(is_unhealthy);
    for (place, pair) in runs.windows(2).enumerate() {
        let [last, next] = pair else { continue };
        if !is_ill(last) || is_ill(next) {
            continue;
        }
        let end = next.from;
        let mut before = runs[..place].iter().rposition(|run| !is_ill(run)).into_iter();
        let begin = before
            .next()
            .map_or(Micros::MIN, |before| runs[before + 1].from.earliest);
        let mut later = runs[place + 1..].iter().filter(|run| is_ill(run));
        let again = later.next().map_or(Micros::MAX, |run| run.from.earliest);
        let after = Set::of([(end.latest, again)]);
        let Some((_, until)) = play.chance(&well.without(&after.not())) else {
            continue;
        };
        if urls.iter().any(|url| play.is_shared(subject, url)) {
            findings.cannot_tell("another profile has the server of the member that is healthy again");
            continue;
        }
        let calls = play.calls_to_any(&urls);
        let calls: Vec<&MemberCall> = calls
            .filter(|call| call.at.as_microsecond() < end.earliest)
            .collect();
        // It keeps no connection from before.
        let is_new = calls.is_empty() && subject.is_seen_from_its_creation();
        match play.set_out_for(&urls, (end.earliest, until)) {
            Ok(true) => findings.examine(),
            Ok(false) if is_new || polls(&calls, begin, play.settle) => {
                findings.examine();
                findings.report(
                    Finding::on(
                        subject.last,
                        "the consumer leaves a member alone that is healthy again",
                    )
                    .at(PATH)
                    .expected("a call of the member")
                    .observed(format!(
                        "no call from {} to {}",
                        timestamp(end.latest),
                        timestamp(until)
                    )),
                );
            }
            Ok(false) => findings.cannot_tell(
                "the consumer may go on with connections from before the member was not healthy",
            ),
            Err(why) => findings.cannot_tell(why),
        }
    }
}

fn is_unhealthy(profile: &ClusterProfile) -> bool {
    let conditions = profile.status.conditions.iter();
    let mut of_health = conditions
        .filter(|condition| *condition.kind == *names::CONDITION_HEALTHY)
        .peekable();
    of_health.peek().is_some() && of_health.all(|condition| &*condition.status == "False")
}

/// Whether the consumer called a member again and again up to a moment, and kept no watch: it would call it after that, too.
fn polls(calls: &[&MemberCall], until: Micros, settle: Micros) -> bool {
    let is_watch = |call: &&MemberCall| matches!(call.what, CallEvent::Request { watch: true, .. });
    let times = calls.iter().map(|call| call.at.as_microsecond());
    let mut times: Vec<Micros> = times.filter(|at| *at < until).collect();
    times.sort_unstable();
    let Some((first, last)) = times.first().zip(times.last()) else {
        return false;
    };
    let is_long = last.saturating_sub(*first) > settle && until.saturating_sub(*last) <= settle;
    let is_steady = times
        .windows(2)
        .all(|pair| pair[1].saturating_sub(pair[0]) <= settle);
    is_long && is_steady && !calls.iter().any(is_watch)
}
