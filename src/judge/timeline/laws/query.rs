//! What an object was at a moment, during a time, by a deadline, and since when.

use evidence::{Evidence, Version, api::ClusterProfile};
use proptest::prelude::*;

use super::{
    assert_law,
    course::{BEGINS, Course, Is},
    histories, is_bad, timeline, watched,
};
use crate::{
    time::{LATE, Micros, SECOND, Set},
    timeline::Certainty,
};

/// What the object is at a moment.
fn state(course: &Course, moment: Micros) -> Is {
    let count = course.changes.partition_point(|change| change.at <= moment);
    count
        .checked_sub(1)
        .map_or(Is::Absent, |last| course.changes[last].is)
}

fn seen_as(version: Option<&Version<ClusterProfile>>) -> Is {
    match version {
        Some(version) if is_bad(&version.object) => Is::Bad,
        Some(_) => Is::Good,
        None => Is::Absent,
    }
}

fn held(truth: &Set, from: Micros, until: Micros) -> bool {
    !truth.and(&Set::of([(from, until + 1)])).is_empty()
}

#[test]
fn the_object_at_a_moment_is_the_true_one() {
    let cases = (watched(2), -100_i64..1300, 0_i64..200);
    let holds = |((course, evidence), second, length): ((Course, Evidence), i64, i64)| {
        let timeline = timeline(&evidence);
        let from = BEGINS + second * SECOND;
        let until = from + length * SECOND;
        if let Ok(versions) = timeline.during(from, until) {
            let states: Vec<Is> = versions.into_iter().map(seen_as).collect();
            let moments = course.changes.iter().map(|change| change.at).chain([from, until]);
            for moment in moments.filter(|at| (from..=until).contains(at)) {
                prop_assert!(states.contains(&state(&course, moment)), "{states:?}");
            }
        }
        Ok(())
    };
    assert_law(cases, holds);
}

fn deadlines(gaps: usize) -> impl Strategy<Value = (Course, i64, Is)> {
    let expected = prop_oneof![Just(Is::Bad), Just(Is::Absent)];
    (histories(gaps), 0..1300_i64, expected)
}

fn by(course: &Course, deadline: Micros, expected: Is) -> Option<Certainty> {
    let evidence = course.evidence()?;
    let is_expected = |object: Option<&ClusterProfile>| match expected {
        Is::Absent => object.is_none(),
        _ => object.is_some_and(is_bad),
    };
    Some(timeline(&evidence).by(deadline, is_expected))
}

#[test]
fn an_answer_by_a_deadline_is_true() {
    let holds = |(course, seconds, expected): (Course, i64, Is)| {
        let deadline = (course.ends() - seconds * SECOND / 2).max(BEGINS);
        let truth = course.when(expected);
        // Before its first creation, the object was absent, too.
        let before = Set::of([(Micros::MIN, course.changes[0].at)]);
        let truth = if expected == Is::Absent {
            truth.or(&before)
        } else {
            truth
        };
        let answer = by(&course, deadline, expected);
        match &answer {
            Some(Certainty::Yes) => prop_assert!(held(&truth, deadline - LATE, deadline)),
            Some(Certainty::No) => prop_assert!(!held(&truth, deadline, deadline)),
            _ => {}
        }
        // A list at the end of a gap may show a change earlier than the watch.
        let whole = by(&course.clone().watched_without_gaps(), deadline, expected);
        let is_earlier = held(&truth, deadline - LATE, deadline) && !held(&truth, deadline, deadline);
        match (whole, answer) {
            (Some(Certainty::Yes), Some(Certainty::No)) => prop_assert!(is_earlier),
            (Some(Certainty::No), Some(Certainty::Yes)) => prop_assert!(false),
            _ => {}
        }
        Ok(())
    };
    assert_law(deadlines(2), holds);
}

#[test]
fn complete_evidence_decides_a_deadline() {
    let holds = |(course, seconds, expected): (Course, i64, Is)| {
        let course = course.complete();
        let deadline = (course.ends() - seconds * SECOND / 2).max(BEGINS);
        let around = Set::of([(deadline - LATE, deadline + LATE + 1)]);
        let truth = course.when(expected).and(&around);
        let is_at_rest = truth.is_empty() || truth == around;
        if let Some(Certainty::Unknown(reason)) = by(&course, deadline, expected) {
            prop_assert!(!is_at_rest, "{reason}");
        }
        Ok(())
    };
    assert_law(deadlines(0), holds);
}

#[test]
fn a_value_has_held_since_its_edge() {
    let holds = |(course, evidence): (Course, Evidence)| {
        let timeline = timeline(&evidence);
        for place in 0..timeline.moments().len() {
            let Some(version) = timeline.version(place) else {
                continue;
            };
            let change: usize = version.object.metadata.resource_version.parse().expect("a place");
            let is = course.changes[change].is;
            let other = course.changes[..change]
                .iter()
                .rposition(|change| change.is != is);
            let since = course.changes[other.map_or(0, |other| other + 1)].at;
            let edge = timeline.value_since(place, is_bad);
            prop_assert!(edge.holds(since), "{since} {edge:?}");
        }
        Ok(())
    };
    assert_law(watched(2), holds);
}
