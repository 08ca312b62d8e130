//! Whether an object was as it should be by a moment.

use evidence::{Evidence, api::ClusterProfile};
use proptest::prelude::*;

use super::{
    assert_law,
    course::{BEGINS, Course, Is, courses},
    generation, timeline,
};
use crate::time::{Known, LATE, Micros, SECOND, Set};

/// What is asked of a moment: whether the object was bad, or absent.
fn asked(course: &Course, evidence: &Evidence, moment: Micros, is: Is) -> (Set, Known) {
    let told = timeline(evidence).last_by(moment, |object: Option<&ClusterProfile>| match is {
        Is::Absent => object.is_none(),
        _ => object.is_some_and(|object| generation(object) == 1),
    });
    (course.when(is), told)
}

/// A moment of a course, by the seconds before its end.
fn moment(course: &Course, before: i64) -> Micros {
    (course.ends() - before * SECOND / 2).max(BEGINS)
}

fn cases(gaps: usize) -> impl Strategy<Value = (Course, i64, Is)> {
    (
        courses(gaps),
        0..1300_i64,
        prop_oneof![Just(Is::Bad), Just(Is::Absent)],
    )
}

fn held(truth: &Set, from: Micros, until: Micros) -> bool {
    !truth.and(&Set::of([(from, until + 1)])).is_empty()
}

#[test]
fn what_is_said_of_an_answer_is_true() {
    let holds = |(course, before, is): (Course, i64, Is)| {
        let Some(evidence) = course.evidence() else {
            return Ok(());
        };
        let moment = moment(&course, before);
        let (truth, told) = asked(&course, &evidence, moment, is);
        match told {
            Known::Yes => prop_assert!(held(&truth, moment - LATE, moment)),
            Known::No => prop_assert!(!held(&truth, moment, moment)),
            Known::Unknown(_) => {}
        }
        Ok(())
    };
    assert_law(cases(2), holds);
}

/// But for what changes so short before the moment that the list at the end of a gap tells it, and a watch does not yet.
#[test]
fn a_gap_turns_no_answer_around() {
    let holds = |(course, before, is): (Course, i64, Is)| {
        let whole = course.clone().watched_without_gaps();
        let (Some(less), Some(more)) = (course.evidence(), whole.evidence()) else {
            return Ok(());
        };
        let moment = moment(&course, before);
        let (truth, more) = asked(&course, &more, moment, is);
        let (_, less) = asked(&course, &less, moment, is);
        let is_open = matches!((&more, &less), (Known::Unknown(_), _) | (_, Known::Unknown(_)));
        let is_told_sooner = (&more, &less) == (&Known::Yes, &Known::No)
            && held(&truth, moment - LATE, moment)
            && !held(&truth, moment, moment);
        prop_assert!(more == less || is_open || is_told_sooner);
        Ok(())
    };
    assert_law(cases(2), holds);
}

/// But for what changes within the lateness of a watch around the moment.
#[test]
fn complete_evidence_tells_an_answer() {
    let holds = |(course, before, is): (Course, i64, Is)| {
        let course = course.complete();
        let Some(evidence) = course.evidence() else {
            return Ok(());
        };
        let moment = moment(&course, before);
        let (truth, told) = asked(&course, &evidence, moment, is);
        let around = Set::of([(moment - LATE, moment + LATE + 1)]);
        let held = truth.and(&around);
        let is_at_rest = held.is_empty() || held == around;
        let is_listed = timeline(&evidence).runs()[1].seen_at <= moment;
        prop_assert!(
            !is_at_rest || !is_listed || !matches!(told, Known::Unknown(_)),
            "{told:?}"
        );
        Ok(())
    };
    assert_law(cases(0), holds);
}
