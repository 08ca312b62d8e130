//! Objects that share a key.

use evidence::{Evidence, ProfileHistory};
use proptest::{collection::vec, prelude::*};

use super::{
    GRACE, assert_decided, assert_law, bad_intervals, contradict,
    course::{Course, Is, courses, evidence_of},
    histories, is_bad, not_settled, settled, timeline, watched, without_writers,
};
use crate::{
    time::{LATE, Micros, SECOND, Set},
    timeline::{Certainty, Intervals, Timeline},
};

/// The group is wrong while so many of its objects are bad: neither fewer nor more.
const BAD: usize = 2;

/// Three objects in one watch.
fn groups(gaps: usize) -> impl Strategy<Value = Vec<Course>> {
    (histories(gaps), vec(courses(0), 2)).prop_map(|(first, others)| {
        let others = others.into_iter().map(|other| other.watched_as(&first));
        let others: Vec<Course> = others.collect();
        let mut all: Vec<Course> = [first].into_iter().chain(others).collect();
        // One watch reports them in order, so the delay of one change delays those of other objects.
        if all.iter().any(Course::is_stamped_ahead) {
            all.iter_mut().for_each(Course::report_in_time);
        }
        all
    })
}

/// When so many of the objects were bad.
fn wrong(courses: &[Course]) -> Set {
    let all = courses.iter().enumerate();
    let changes = all.flat_map(|(object, course)| course.changes.iter().map(move |change| (object, change)));
    let mut changes: Vec<(Micros, usize, Is)> = changes
        .map(|(object, change)| (change.at, object, change.is))
        .collect();
    changes.sort_unstable_by_key(|(at, object, _)| (*at, *object));
    let ends = changes.iter().skip(1).map(|(at, ..)| *at).chain([Micros::MAX]);
    let mut states = vec![Is::Absent; courses.len()];
    let spans = changes.iter().zip(ends).filter_map(|((at, object, is), end)| {
        states[*object] = *is;
        let count = states.iter().filter(|is| **is == Is::Bad).count();
        (count == BAD).then_some((*at, end))
    });
    Set::of(spans)
}

fn wrong_intervals(evidence: &Evidence) -> Intervals {
    let histories: Vec<&ProfileHistory> = evidence.profiles.iter().chain(&evidence.later.profiles).collect();
    let timeline = Timeline::of_group(evidence, &histories, |_, _| false);
    timeline.intervals(|place| {
        let objects = timeline.objects(place).expect("an observed moment");
        objects.iter().filter(|version| is_bad(&version.object)).count() == BAD
    })
}

#[test]
fn yes_and_no_hold_for_every_group() {
    let holds = |courses: Vec<Course>| {
        // An object that came and went within one gap leaves no trace.
        if courses.iter().any(Course::has_hidden_object) {
            return Ok(());
        }
        let Some(evidence) = evidence_of(&courses) else {
            return Ok(());
        };
        let (truth, intervals) = (wrong(&courses), wrong_intervals(&evidence));
        prop_assert!(intervals.observed.and(&truth.not()).is_empty(), "{intervals:?}");
        let missed = truth.and(&intervals.possible.not()).until(courses[0].ends());
        prop_assert!(missed.is_empty(), "{missed:?}");
        if intervals.longer_than(GRACE) == Certainty::Yes {
            prop_assert!(truth.lasts(GRACE));
        }
        if intervals.longer_than(GRACE) == Certainty::No {
            let judged = Set::of([(intervals.counts_from, courses[0].ends())]);
            prop_assert!(!truth.and(&judged).lasts(GRACE));
        }
        Ok(())
    };
    assert_law(groups(2), holds);
}

#[test]
fn complete_evidence_decides_a_group() {
    assert_decided(groups(0), 20, |courses| {
        let complete: Vec<Course> = courses.into_iter().map(Course::complete).collect();
        let intervals = wrong_intervals(&evidence_of(&complete)?);
        // No watch shows how long a violation in the first list had lasted.
        let is_asked = !intervals.is_open() && intervals.counts_from >= super::BEGINS;
        let answer = is_asked.then(|| intervals.longer_than(GRACE))?;
        Some(!matches!(answer, Certainty::Unknown(_)))
    });
}

/// Whether an object changed so shortly before a moment that the watch may report it afterwards.
fn change_shortly_before(courses: &[Course], moment: Micros) -> bool {
    let mut changes = courses.iter().flat_map(|course| &course.changes);
    changes.any(|change| (moment - LATE..=moment).contains(&change.at))
}

/// The evidence of a run that watched one of the profiles on after its window, and not the others.
fn settled_for_one(settled: &Evidence) -> Evidence {
    let mut evidence = settled.clone();
    evidence.later.profiles.truncate(1);
    evidence
}

/// The only exception: what was fixed and broken again shortly before the end of the window may be reported afterwards, and
/// then counts as fixed.
#[test]
fn removing_evidence_never_turns_a_group_around() {
    let cases = (groups(2), prop::option::of(1_i64..300));
    let holds = |(courses, seconds): (Vec<Course>, Option<i64>)| {
        if courses.iter().any(Course::has_hidden_object) {
            return Ok(());
        }
        if seconds
            .is_some_and(|seconds| change_shortly_before(&courses, courses[0].ends() - seconds * SECOND))
        {
            return Ok(());
        }
        let cut = |evidence: Evidence| match seconds {
            Some(seconds) => settled(&evidence, seconds).map(|(settled, _)| settled),
            None => Some(evidence),
        };
        let with_gaps = evidence_of(&courses).and_then(cut);
        let whole: Vec<Course> = courses.into_iter().map(Course::watched_without_gaps).collect();
        let Some(whole) = evidence_of(&whole).and_then(cut) else {
            return Ok(());
        };
        let known = wrong_intervals(&whole).longer_than(GRACE);
        for evidence in with_gaps.iter().chain([&whole]) {
            for less in [
                evidence,
                &without_writers(evidence),
                &not_settled(evidence),
                &settled_for_one(evidence),
            ] {
                let answer = wrong_intervals(less).longer_than(GRACE);
                prop_assert!(!contradict(&known, &answer), "{known:?} {answer:?}");
            }
        }
        Ok(())
    };
    assert_law(cases, holds);
}

#[test]
fn only_an_open_violation_of_a_group_counts_after_the_window() {
    let cases = (groups(2), 1_i64..300);
    let holds = |(courses, seconds): (Vec<Course>, i64)| {
        if courses.iter().any(Course::has_hidden_object) {
            return Ok(());
        }
        let evidence = evidence_of(&courses);
        let Some((settled, end)) = evidence.as_ref().and_then(|whole| settled(whole, seconds)) else {
            return Ok(());
        };
        let (truth, intervals) = (wrong(&courses), wrong_intervals(&settled));
        prop_assert!(intervals.observed.and(&truth.not()).is_empty(), "{intervals:?}");
        let missed = truth.and(&intervals.possible.not()).until(end - LATE);
        prop_assert!(missed.is_empty(), "{missed:?}");
        let later = intervals.observed.and(&Set::of([(end, Micros::MAX)]));
        prop_assert!(later.spans().iter().all(|(from, _)| *from == end), "{later:?}");
        Ok(())
    };
    assert_law(cases, holds);
}

/// But for the date of the first list: an object that was deleted before it may have belonged to the group.
#[test]
fn a_group_of_one_is_like_a_name() {
    let holds = |(_, evidence): (Course, Evidence)| {
        let histories: Vec<&ProfileHistory> = evidence.profiles.iter().collect();
        let (group, name) = (
            Timeline::of_group(&evidence, &histories, |_, _| false),
            timeline(&evidence),
        );
        prop_assert_eq!(group.moments().len(), name.moments().len());
        for (place, (one, other)) in group.moments().iter().zip(name.moments()).enumerate() {
            let (mut one, other) = (one.clone(), other.clone());
            if place <= 1 {
                one.since.latest = other.since.latest;
            }
            prop_assert_eq!(one, other);
        }
        let mut without_clock = evidence.clone();
        without_clock.header.clock_skew_ms = None;
        let histories: Vec<&ProfileHistory> = without_clock.profiles.iter().collect();
        let group = Timeline::of_group(&without_clock, &histories, |_, _| false);
        let (one, other) = (bad_intervals(&group), bad_intervals(&timeline(&without_clock)));
        prop_assert_eq!(format!("{one:?}"), format!("{other:?}"));
        Ok(())
    };
    assert_law(watched(2), holds);
}
