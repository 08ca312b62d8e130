//! The laws that hold of every course of events and of every evidence of it.
//!
//! 0. Each change lies within its edge. 1. What is said is true of what happened. 2. Less evidence turns no answer around.
//! 3. Complete evidence gives an answer.

mod answered;
mod set;

use std::env;

use evidence::{Evidence, ProfileHistory, api::ClusterProfile};
use jiff::SignedDuration;
use proptest::{
    prelude::*,
    strategy::ValueTree as _,
    test_runner::{Config, TestCaseResult, TestRunner},
};

use super::{Edge, Known, LATE, Micros, SECOND, Seen, Set, Timeline, While, Why, absent};
use crate::timeline::laws::course::{self, BEGINS, Course, Is, courses};

const GRACE: Micros = 120 * SECOND;

/// Tries 1,000 courses; `TIME_COURSES` sets another number.
fn runner() -> TestRunner {
    let given = env::var("TIME_COURSES").ok();
    let cases = given.map_or(1_000, |text| text.parse().expect("TIME_COURSES is a number"));
    TestRunner::new(Config {
        cases,
        failure_persistence: None,
        max_global_rejects: u32::MAX,
        ..Config::default()
    })
}

/// Holds a law to random cases.
fn assert_law<S: Strategy>(cases: S, holds: impl Fn(S::Value) -> TestCaseResult) {
    runner()
        .run(&cases, holds)
        .unwrap_or_else(|error| panic!("{error}"));
}

fn timeline(evidence: &Evidence) -> Timeline<'_, ClusterProfile> {
    let lives: Vec<&ProfileHistory> = evidence.profiles.iter().collect();
    Timeline::of(evidence, &lives)
}

fn generation(profile: &ClusterProfile) -> i64 {
    profile.metadata.generation.unwrap_or_default()
}

fn bad(evidence: &Evidence) -> While {
    timeline(evidence).while_(|profile| generation(profile) == 1)
}

#[test]
fn each_change_lies_within_its_edge() {
    let holds = |course: Course| {
        let Some(evidence) = course.evidence() else {
            return Ok(());
        };
        let timeline = timeline(&evidence);
        let mut lived = None;
        for run in timeline.runs() {
            // When what was seen began: the change that made the version, or the deletion of the version before.
            let place = match &run.seen {
                Seen::Version(version) => version.object.metadata.resource_version.parse().expect("a place"),
                Seen::Absence => {
                    let rest = course.changes.iter().enumerate().skip(lived.unwrap_or(0));
                    rest.clone()
                        .find(|(_, change)| change.is == Is::Absent)
                        .expect("a deletion")
                        .0
                }
                Seen::Nothing => continue,
            };
            lived = Some(place);
            let at = course.changes[place].at;
            prop_assert!(run.from.holds(at), "change {place} at {at}, edge {:?}", run.from);
        }
        Ok(())
    };
    assert_law(courses(2), holds);
}

#[test]
fn what_is_said_is_true() {
    let cases = (courses(2), -100_i64..1300, -10_i64..140);
    let holds = |(course, asked, width): (Course, i64, i64)| {
        let Some(evidence) = course.evidence() else {
            return Ok(());
        };
        let (truth, told) = (course.bad(), bad(&evidence));
        match told.lasting(GRACE) {
            Known::Yes => prop_assert!(truth.lasts(GRACE)),
            Known::No => {
                let seen = truth.and(&told.hidden.not()).until(course.ends());
                prop_assert!(!seen.lasts(GRACE));
            }
            Known::Unknown(_) => {}
        }
        let healed = told.not();
        prop_assert!(healed.sure.and(&truth).is_empty());
        let missed = healed
            .possible
            .or(&truth)
            .not()
            .and(&told.hidden.not())
            .until(course.ends());
        prop_assert!(missed.is_empty(), "{missed:?}");
        // What is asked of one moment is asked of the whole edge.
        let from = course.ends() - 600 * SECOND + asked * SECOND;
        let edge = Edge::between(from, from + width.max(0) * SECOND / 10);
        let is_bad_at = |at: Micros| !truth.and(&Set::of([(at, at + 1)])).is_empty();
        match told.at(edge) {
            Known::Yes => prop_assert!(is_bad_at(edge.earliest) && is_bad_at(edge.latest)),
            Known::No => prop_assert!(!is_bad_at(edge.earliest) && !is_bad_at(edge.latest)),
            Known::Unknown(_) => {}
        }
        let bad_within = |from: Micros| !truth.and(&Set::of([(from, from + GRACE + 1)])).is_empty();
        match told.within(edge, GRACE) {
            Known::Yes => prop_assert!(bad_within(edge.earliest) && bad_within(edge.latest)),
            Known::No => prop_assert!(!bad_within(edge.earliest) && !bad_within(edge.latest)),
            Known::Unknown(_) => {}
        }
        Ok(())
    };
    assert_law(cases, holds);
}

#[test]
fn what_is_said_of_two_objects_is_true() {
    let both_bad = |one: &ClusterProfile, other: &ClusterProfile| [one, other].map(generation) == [1, 1];
    let holds = |(one, other): (Course, Course)| {
        // One watch has both.
        let other = other.watched_as(&one);
        let (Some(of_one), Some(of_other)) = (one.evidence(), other.evidence()) else {
            return Ok(());
        };
        let truth = one.bad().and(&other.bad());
        let told = timeline(&of_one).with(&timeline(&of_other), both_bad);
        prop_assert!(told.sure.and(&truth.not()).is_empty());
        let seen = truth.and(&told.hidden.not()).until(one.ends());
        prop_assert!(seen.and(&told.possible.not()).is_empty());
        // Of one object alone, it is the same.
        let twice = timeline(&of_one)
            .with(&timeline(&of_one), both_bad)
            .lasting(GRACE);
        let once = bad(&of_one).lasting(GRACE);
        prop_assert!(once == twice || matches!(twice, Known::Unknown(_)));
        Ok(())
    };
    let cases = (courses(2), courses(0));
    assert_law(cases, holds);
}

#[test]
fn what_is_said_of_absence_is_true() {
    let holds = |course: Course| {
        let Some(evidence) = course.evidence() else {
            return Ok(());
        };
        let lives: Vec<&ProfileHistory> = evidence.profiles.iter().collect();
        let (truth, told) = (
            course.when(Is::Absent),
            absent(&evidence, ("n", "p"), &lives, BEGINS),
        );
        let untrue = told.sure.and(&truth.not());
        prop_assert!(untrue.is_empty(), "{untrue:?}");
        let seen = truth.and(&told.hidden.not()).until(course.ends());
        let missed = seen.and(&told.possible.not());
        prop_assert!(missed.is_empty(), "{missed:?}");
        Ok(())
    };
    assert_law(courses(2), holds);
}

#[test]
fn less_evidence_turns_no_answer_around() {
    let holds = |course: Course| {
        let less = course.evidence();
        let whole = course.watched_without_gaps().evidence();
        let (Some(less), Some(whole)) = (less, whole) else {
            return Ok(());
        };
        if whole.header.clock_skew_ms.is_some() {
            let mut clockless = whole.clone();
            clockless.header.clock_skew_ms = None;
            let (known, unknown) = (bad(&whole).lasting(GRACE), bad(&clockless).lasting(GRACE));
            prop_assert!(known == unknown || matches!(unknown, Known::Unknown(_)));
        }
        // A gap may hide a fault, but shows none.
        let (known, told) = (bad(&whole).lasting(GRACE), bad(&less).lasting(GRACE));
        prop_assert!(!(known == Known::No && told == Known::Yes));
        Ok(())
    };
    assert_law(courses(2), holds);
}

#[test]
fn complete_evidence_gives_an_answer() {
    let (mut asked, mut open) = (0, 0);
    let mut runner = runner();
    for _ in 0..runner.config().cases {
        let course = courses(0).new_tree(&mut runner).expect("a course").current();
        let Some(evidence) = course.complete().evidence() else {
            continue;
        };
        asked += 1;
        let answer = bad(&evidence).lasting(GRACE);
        if matches!(answer, Known::Unknown(_)) && !answer.is_unknown_for(Why::Ended) {
            open += 1;
        }
    }
    assert!(open * 30 < asked, "{open} of {asked} courses are not decided");
}

/// The evidence of a run whose window ended so many seconds before the course does, and that looked on from then on.
fn settled(evidence: &Evidence, seconds: i64) -> Option<(Evidence, Micros)> {
    let window = evidence.header.window?;
    let end = window.until - SignedDuration::from_secs(seconds);
    let mut settled = evidence.clone();
    settled.settled_after(end);
    let is_seen = end > window.from && !settled.profiles.is_empty();
    is_seen.then_some((settled, end.as_microsecond()))
}

#[test]
fn what_came_after_the_window_counts_only_for_what_was_open() {
    let cases = (courses(2), 1_i64..200);
    let holds = |(course, seconds): (Course, i64)| {
        let evidence = course.evidence();
        let Some((settled, end)) = evidence.as_ref().and_then(|whole| settled(whole, seconds)) else {
            return Ok(());
        };
        let (truth, told) = (course.bad(), bad(&settled));
        prop_assert!(told.sure.and(&truth.not()).is_empty());
        if told.lasting(GRACE) == Known::Yes {
            prop_assert!(truth.lasts(GRACE));
        }
        let missed = truth.and(&told.hidden.not()).and(&told.possible.not());
        prop_assert!(missed.until(end - LATE).is_empty(), "{missed:?}");
        // Nothing begins after the end.
        let later = told.possible.and(&Set::of([(end, Micros::MAX)]));
        let begins: Vec<Micros> = later.spans().iter().map(|(from, _)| *from).collect();
        prop_assert!(begins.is_empty() || begins == [end], "{begins:?}");
        Ok(())
    };
    assert_law(cases, holds);
}

/// A run that has looked on for the grace and the lateness of a watch knows what became of all that was open.
#[test]
fn a_run_that_looks_on_decides_what_was_open() {
    let holds = |course: Course| {
        let evidence = course.complete().evidence();
        let Some((settled, _)) = evidence.as_ref().and_then(|whole| settled(whole, 131)) else {
            return Ok(());
        };
        let told = bad(&settled);
        let answer = told.lasting(GRACE);
        prop_assert!(!answer.is_unknown_for(Why::Ended), "{told:?}");
        prop_assert!(!told.is_open() || answer == Known::Yes, "{told:?}");
        // No more is found than in the whole course.
        let whole = bad(evidence.as_ref().expect("evidence")).lasting(GRACE);
        prop_assert!(answer != Known::Yes || whole == Known::Yes);
        Ok(())
    };
    assert_law(courses(0), holds);
}

#[test]
fn what_may_have_been_there_in_a_span_is_listed() {
    let cases = (courses(2), -100_i64..1300, 0_i64..200);
    let holds = |(course, asked, width): (Course, i64, i64)| {
        let Some(evidence) = course.evidence() else {
            return Ok(());
        };
        let (truth, timeline) = (course.bad(), timeline(&evidence));
        let hidden = bad(&evidence).hidden;
        let from = course.ends() - 600 * SECOND + asked * SECOND;
        let until = (from + width * SECOND).min(course.ends());
        let (mut is_hidden, mut may_be_bad) = (false, false);
        for (seen, (from, until)) in timeline.during(from, until) {
            let sure = Set::of([(from, until)]);
            let bad = truth.and(&sure);
            match seen {
                Seen::Nothing => is_hidden = true,
                Seen::Version(version) if generation(&version.object) == 1 => {
                    may_be_bad = true;
                    prop_assert!(bad == sure, "{bad:?} of {sure:?}");
                }
                Seen::Version(_) => prop_assert!(bad.is_empty(), "{bad:?} of {sure:?}"),
                Seen::Absence => {
                    let seen = bad.and(&hidden.not());
                    prop_assert!(seen.is_empty(), "{seen:?} of {sure:?}");
                    is_hidden |= !sure.and(&hidden).is_empty();
                }
            }
        }
        // Before the first life was seen, nothing is listed.
        let first = timeline.runs()[1].from.latest;
        let asked = Set::of([(from.max(first), until)]);
        let is_bad = !truth.and(&asked).is_empty();
        prop_assert!(is_hidden || may_be_bad || !is_bad);
        Ok(())
    };
    assert_law(cases, holds);
}
