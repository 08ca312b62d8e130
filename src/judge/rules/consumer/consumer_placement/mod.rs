//! The suite `consumer-placement`: a consumer that acts on the profiles that decisions name (KEP-5313).
//!
//! What it does to a profile tells by which decision it acts only if it acts on no profile that none names.

mod follows;
mod references;
mod slices;
mod writes;

use std::collections::BTreeSet;

use evidence::{Asked, Evidence, Kind, MemberCall, Reason, api::ClusterProfile};
pub(in crate::rules) use follows::follows;
pub(in crate::rules) use references::references;
pub(in crate::rules) use slices::all_slices;
pub(in crate::rules) use writes::read_only_and_feedback_elsewhere;

use crate::{
    rules::consumer::support::{
        testbed::{Decisions, Play, Subject, call_in_words, expect_call, held_throughout, inviting},
        time::{Edge, Known, Micros, Set, While, Why},
    },
    subjects::{Finding, Findings},
};

/// The consumer does not read decisions.
const READS_NONE: &str = "the consumer does not claim to read PlacementDecisions";
/// Why it is unknown whether a call was for no decision.
const UNNAMED_UNSEEN: &str =
    "a decision may have named the profile before the run looked, or in a gap of the watch";
/// Why it is unknown whether the consumer left a member out.
const ROLLS_OUT: &str = "the consumer rolls out, and may not have come to all members of its decision yet";
/// What a consumer does not do.
const NO_CALL: &str = "no call";

/// Reads what was played for a consumer that says that it acts on what decisions name, and on nothing else. Others are not asked.
fn play_of_placements<'e>(
    evidence: &'e Evidence,
    findings: &mut Findings,
) -> Option<(Play<'e>, Decisions<'e>)> {
    let play = Play::of(evidence, findings)?;
    let claims = &play.testbed.consumer;
    if !claims.reads_placements() {
        findings.not_asked(READS_NONE);
        return None;
    }
    if !claims.acts_on_placements_alone() {
        findings.not_asked(
            "the consumer acts on profiles that no decision names, too: its calls do not tell which decisions it read",
        );
        return None;
    }
    if !matches!(evidence.asked(Kind::PlacementTimeline), Asked::Yes) {
        findings.cannot_tell("the decisions were not watched, so that nobody knows what they named when");
        return None;
    }
    let decisions = Decisions::of(&play);
    Some((play, decisions))
}

/// While a profile was there, and selected, and no decision that the consumer reads named it; without some time.
fn unnamed<'e>(
    play: &Play<'e>,
    decisions: &Decisions<'e>,
    subject: &Subject<'e>,
    except: (Micros, Micros),
) -> While {
    let is_there = subject.timeline.while_(|profile| play.is_selected(profile));
    let unnamed = is_there.and(&decisions.unnamed(play, subject));
    unnamed.without(&Set::of([except]))
}

/// Judges whether the consumer called the member of a profile that no decision had ever named, and gives the time in which none
/// did, if it did not.
fn judge_stray<'e>(
    play: &Play<'e>,
    decisions: &Decisions<'e>,
    (subject, urls): (&Subject<'e>, &BTreeSet<&str>),
    findings: &mut Findings,
    finding: impl FnOnce(&str) -> Finding,
) -> Option<While> {
    let named = decisions.earliest_naming(subject).unwrap_or(Micros::MAX);
    let before = unnamed(play, decisions, subject, (named, Micros::MAX));
    let Some(call) = play.call_during(subject, urls, &before) else {
        let is_unseen = |call: &MemberCall| {
            let at = call.at.as_microsecond();
            let since = at.saturating_sub(play.settle);
            matches!(before.at(Edge::between(since, at)), Known::Unknown(whys) if whys.contains(&Why::Gap))
        };
        if named == Micros::MAX && play.calls_to_any(urls).any(is_unseen) {
            findings.cannot_tell(UNNAMED_UNSEEN);
        }
        return Some(before);
    };
    // One that has left a decision is the subject of another rule.
    let runs = subject.timeline.runs().iter();
    let there = runs
        .filter(|run| run.version().is_some())
        .map(|run| run.from.latest);
    let is_never_named = subject.is_seen_from_its_creation()
        && there
            .min()
            .is_some_and(|there| held_throughout(&before, there, call.at.as_microsecond()));
    if is_never_named {
        findings.examine();
        findings.report(finding(&call_in_words(call)));
    } else {
        findings.cannot_tell(UNNAMED_UNSEEN);
    }
    None
}

/// While a consumer has no reason to leave a profile alone, but that no decision names it.
fn well(play: &Play<'_>, subject: &Subject<'_>) -> While {
    let claims = &play.testbed.consumer;
    let is_well = |profile: &ClusterProfile| inviting(profile, claims).next().is_some();
    subject.timeline.while_(is_well)
}

/// Judges whether the consumer called a member that a decision names. One that rolls out may not have come to it yet.
fn expect_named_call(
    play: &Play<'_>,
    called: Result<bool, Reason>,
    findings: &mut Findings,
    no_call: impl FnOnce() -> Finding,
) {
    let called = match called {
        Ok(false) if play.testbed.consumer.rolls_out => Err(ROLLS_OUT.into()),
        called => called,
    };
    expect_call(called, findings, no_call);
}

/// Judges that a member was not called where the consumer had a chance: if calls may be missing, nobody can tell.
fn examine_silence(play: &Play<'_>, findings: &mut Findings) {
    match play.why_missed(Kind::MemberCalls) {
        None => findings.examine(),
        Some(why) => findings.cannot_tell(why),
    }
}
