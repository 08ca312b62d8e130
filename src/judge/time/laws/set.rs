//! The laws of several objects together.

use std::cell::Cell;

use evidence::{Evidence, ProfileHistory, api::ClusterProfile};
use proptest::{collection::vec, prelude::*};

use super::{
    GRACE, assert_law,
    course::{Course, Is, courses, evidence_of},
    generation,
};
use crate::time::{Known, Micros, Set, Together, While, Why};

/// How many of them are bad when something is wrong with all together: neither fewer nor more.
const BAD: usize = 2;

/// Three objects that one watch tells of.
fn sets(gaps: usize) -> impl Strategy<Value = Vec<Course>> {
    (courses(gaps), vec(courses(0), 2)).prop_map(|(first, others)| {
        let others = others.into_iter().map(|other| other.watched_as(&first));
        let others: Vec<Course> = others.collect();
        [first].into_iter().chain(others).collect()
    })
}

/// When so many of them were bad.
fn wrong(courses: &[Course]) -> Set {
    let changes = courses.iter().enumerate().flat_map(|(object, course)| {
        course
            .changes
            .iter()
            .map(move |change| (change.at, object, change.is))
    });
    let mut changes: Vec<(Micros, usize, Is)> = changes.collect();
    changes.sort_unstable_by_key(|(at, object, _)| (*at, *object));
    let ends = changes.iter().skip(1).map(|(at, ..)| *at).chain([Micros::MAX]);
    let mut are = vec![Is::Absent; courses.len()];
    let spans = changes.iter().zip(ends).filter_map(|((at, object, is), end)| {
        are[*object] = *is;
        let count = are.iter().filter(|is| **is == Is::Bad).count();
        (count == BAD).then_some((*at, end))
    });
    Set::of(spans)
}

/// The same, as the evidence tells, and the time that nobody saw.
fn told(evidence: &Evidence) -> (Option<While>, Set) {
    let histories: Vec<&ProfileHistory> = evidence.profiles.iter().collect();
    let together = Together::of(evidence, &histories);
    let mut found = together.whiles(|present, _| {
        let bad = |profile: &&&ClusterProfile| generation(profile) == 1;
        let count = present.values().filter(bad).count();
        Some((count == BAD).then_some(((), ())).into_iter().collect())
    });
    let hidden = together.at_rest(0).hidden;
    (found.pop().map(|(_, lasting)| lasting.when), hidden)
}

#[test]
fn what_is_said_of_a_set_is_true() {
    let holds = |courses: Vec<Course>| {
        // Nobody can know of a life within a gap, and what it is for the others.
        if courses.iter().any(Course::has_a_hidden_life) {
            return Ok(());
        }
        let Some(evidence) = evidence_of(&courses) else {
            return Ok(());
        };
        let (truth, (told, hidden)) = (wrong(&courses), told(&evidence));
        let seen = truth.and(&hidden.not()).until(courses[0].ends());
        let Some(told) = told else {
            prop_assert!(seen.is_empty(), "{seen:?}");
            return Ok(());
        };
        let untrue = told.sure.and(&truth.not());
        prop_assert!(untrue.is_empty(), "{untrue:?}");
        let missed = seen.and(&told.possible.not());
        prop_assert!(missed.is_empty(), "{missed:?}");
        match told.lasting(GRACE) {
            Known::Yes => prop_assert!(truth.lasts(GRACE)),
            Known::No => prop_assert!(!seen.lasts(GRACE)),
            Known::Unknown(_) => {}
        }
        Ok(())
    };
    assert_law(sets(2), holds);
}

#[test]
fn complete_evidence_of_a_set_gives_an_answer() {
    let (asked, open) = (Cell::new(0), Cell::new(0));
    let holds = |courses: Vec<Course>| {
        let complete: Vec<Course> = courses.into_iter().map(Course::complete).collect();
        let told = evidence_of(&complete).and_then(|evidence| told(&evidence).0);
        if let Some(told) = told {
            asked.set(asked.get() + 1);
            let answer = told.lasting(GRACE);
            if matches!(answer, Known::Unknown(_)) && !answer.is_unknown_for(Why::Ended) {
                open.set(open.get() + 1);
            }
        }
        Ok(())
    };
    assert_law(sets(0), holds);
    let (asked, open) = (asked.get(), open.get());
    assert!(open * 20 < asked, "{open} of {asked} sets are not decided");
}
