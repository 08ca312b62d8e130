//! Writes that change nothing for a consumer.

use std::collections::BTreeSet;

use evidence::{Called, Evidence, Kind, api::AccessProvider};

use crate::{
    shared::consumer::{Play, Subject, known, server},
    subjects::{Finding, Findings},
    text::counted,
    time::Micros,
};

/// So many writes tell a reconnection at each from others.
const ENOUGH: usize = 10;
/// A connection may end and be made again by chance.
const BY_CHANCE: usize = 1;

/// `consumer-change/heartbeats-harmless`
///
/// Writes that change no access do not make the consumer reconnect: while a profile was written again and again, it opened no
/// more connections to its member than to that of a profile that nobody wrote.
pub(in crate::rules) fn heartbeats_harmless(evidence: &Evidence, findings: &mut Findings) {
    let Some(play) = Play::of(evidence, findings) else {
        return;
    };
    findings.nothing_happened("no profile was written ten times without a change of its access");
    let claims = &play.stage.consumer;
    if claims.one_shot {
        findings
            .not_asked("the consumer keeps no connection: each piece of its work is a process of its own");
        return;
    }
    let access =
        |subject: &Subject<'_>| -> Vec<AccessProvider> { known(subject.last, claims).cloned().collect() };
    for subject in play.subjects() {
        let last = access(subject);
        let steps: Vec<_> = subject
            .timeline
            .steps()
            .filter(|(before, after, _)| {
                let same = |profile| known(profile, claims).eq(last.iter());
                same(&before.object) && same(&after.object)
            })
            .collect();
        let (Some(first), Some(end)) = (steps.first(), steps.last()) else {
            continue;
        };
        if steps.len() < ENOUGH {
            continue;
        }
        let span = (first.2.earliest, end.2.latest.saturating_add(play.settle));
        let urls = last.iter().map(server).collect::<BTreeSet<_>>();
        let own = connections(&play, &urls, span);
        if play.was_called(urls.iter().copied(), span) != Some(true) {
            findings.cannot_tell("the consumer never called the member whose profile was written");
            continue;
        }
        let controls = play.stage.scenes.iter().map(|scene| &*scene.control);
        let controls: BTreeSet<&str> = controls
            .filter(|control| *control != &*subject.last.metadata.name)
            .collect();
        let addresses = play
            .stage
            .addresses
            .iter()
            .filter(|address| controls.contains(&*address.member));
        let counts = addresses.map(|address| connections(&play, &BTreeSet::from([&*address.url]), span));
        let usual = counts.max().unwrap_or(0);
        let excess = own.saturating_sub(usual);
        if excess <= BY_CHANCE && !evidence.is_whole(Kind::MemberCalls) {
            findings.cannot_tell(play.why_missed(Kind::MemberCalls));
            continue;
        }
        findings.examine();
        if excess > BY_CHANCE {
            let finding = Finding::on(
                subject.last,
                "the consumer reconnects when a profile is written without a change of access",
            )
            .at("status.accessProviders")
            .expected(format!(
                "{} for {}",
                counted(usual, "connection"),
                counted(steps.len(), "write")
            ))
            .observed(counted(own, "connection"));
            let is_sure = excess.saturating_mul(2) >= steps.len();
            findings.report(if is_sure { finding } else { finding.advisory() });
        }
    }
}

/// How many connections to these addresses began in a span.
fn connections(play: &Play<'_>, urls: &BTreeSet<&str>, (from, until): (Micros, Micros)) -> usize {
    let calls = urls.iter().flat_map(|url| play.calls_to(url));
    let begun = calls.filter(|call| {
        let at = call.at.as_microsecond();
        matches!(call.what, Called::Connected {}) && from <= at && at <= until
    });
    begun.map(|call| call.connection).collect::<BTreeSet<_>>().len()
}
