//! The laws that hold for every history of an object, and for all evidence of it.
//!
//! 0. Each edge contains the moment of its change. 1. Yes and No hold for every history that matches the evidence.
//! 2. Removing evidence never turns Yes into No, or No into Yes. 3. Complete evidence decides.

pub(crate) mod course;
mod group;
mod query;

use std::{cell::Cell, env};

use evidence::{Evidence, ProfileHistory, api::ClusterProfile};
use jiff::SignedDuration;
use proptest::{
    prelude::*,
    test_runner::{Config, TestCaseResult, TestRunner},
};

use self::course::{BEGINS, Course, Is, courses};
use super::{Certainty, Intervals, Timeline};
use crate::time::{LATE, Micros, SECOND, Set};

const GRACE: Micros = 120 * SECOND;

/// Tries 1,000 histories; `TIME_COURSES` sets another number.
pub(crate) fn runner() -> TestRunner {
    let count = env::var("TIME_COURSES").ok();
    let cases = count.map_or(1_000, |text| text.parse().expect("TIME_COURSES is a number"));
    TestRunner::new(Config {
        cases,
        failure_persistence: None,
        max_local_rejects: u32::MAX,
        max_global_rejects: u32::MAX,
        ..Config::default()
    })
}

pub(crate) fn assert_law<S: Strategy>(cases: S, holds: impl Fn(S::Value) -> TestCaseResult) {
    runner()
        .run(&cases, holds)
        .unwrap_or_else(|error| panic!("{error}"));
}

/// Asserts that nearly all cases are decided: at least all but one of `every`. A case may not count.
fn assert_decided<S: Strategy>(cases: S, every: usize, is_decided: impl Fn(S::Value) -> Option<bool>) {
    let (asked, undecided) = (Cell::new(0), Cell::new(0));
    assert_law(cases, |case| {
        if let Some(is_decided) = is_decided(case) {
            asked.set(asked.get() + 1);
            undecided.set(undecided.get() + usize::from(!is_decided));
        }
        Ok(())
    });
    let (asked, undecided) = (asked.get(), undecided.get());
    assert!(undecided * every < asked, "{undecided} of {asked}");
}

/// Histories in which the timestamps of the first list are right.
fn histories(gaps: usize) -> impl Strategy<Value = Course> {
    courses(gaps).prop_map(Course::rightly_dated)
}

/// Histories that a run saw, with their evidence.
fn watched(gaps: usize) -> impl Strategy<Value = (Course, Evidence)> {
    histories(gaps).prop_filter_map("never seen", |course| {
        let evidence = course.evidence()?;
        Some((course, evidence))
    })
}

fn timeline(evidence: &Evidence) -> Timeline<'_, ClusterProfile> {
    let histories: Vec<&ProfileHistory> = evidence.profiles.iter().collect();
    Timeline::of_key(evidence, ("n", "p"), &histories)
}

fn is_bad(profile: &ClusterProfile) -> bool {
    profile.metadata.generation == Some(1)
}

fn bad_intervals(timeline: &Timeline<'_, ClusterProfile>) -> Intervals {
    timeline.intervals(|place| {
        timeline
            .version(place)
            .is_some_and(|version| is_bad(&version.object))
    })
}

fn bad_for_long(evidence: &Evidence) -> Certainty {
    bad_intervals(&timeline(evidence)).longer_than(GRACE)
}

/// The part of a violation that counts if the run sees it: not what was over at the first list, and not what began after
/// `window_end`.
fn counted(course: &Course, window_end: Micros) -> Set {
    let truth = course.bad();
    let listed = course
        .listed()
        .filter(|place| course.changes[*place].is == Is::Bad);
    let from = listed.map_or(BEGINS, |place| course.created(place));
    let late = window_end - LATE;
    let mut spans = truth.spans().iter();
    let open = spans.find(|span| span.0 <= late && span.1 >= window_end);
    truth.and(&Set::of([(from, open.map_or(late, |span| span.1))]))
}

fn contradict(one: &Certainty, other: &Certainty) -> bool {
    matches!(
        (one, other),
        (Certainty::Yes, Certainty::No) | (Certainty::No, Certainty::Yes)
    )
}

/// The evidence of a run with a window that ends so many seconds earlier, and that then watched on.
fn settled(evidence: &Evidence, seconds: i64) -> Option<(Evidence, Micros)> {
    let window = evidence.header.window?;
    let end = window.until - SignedDuration::from_secs(seconds);
    let mut settled = evidence.clone();
    settled.settled_after(end);
    let is_seen = end > window.from && !settled.profiles.is_empty();
    is_seen.then_some((settled, end.as_microsecond()))
}

/// The evidence of a run that did not watch on.
fn not_settled(settled: &Evidence) -> Evidence {
    let mut evidence = settled.clone();
    evidence.header.settled = None;
    evidence.later = Default::default();
    evidence
}

/// The evidence without managedFields.
pub(crate) fn without_writers(evidence: &Evidence) -> Evidence {
    let mut evidence = evidence.clone();
    let later = evidence.later.profiles.iter_mut();
    for version in evidence
        .profiles
        .iter_mut()
        .chain(later)
        .flat_map(|history| &mut history.versions)
    {
        version.object.metadata.writers = None;
    }
    evidence
}

#[test]
fn each_edge_contains_its_change() {
    let holds = |(course, evidence): (Course, Evidence)| {
        let timeline = timeline(&evidence);
        let mut last: Option<usize> = None;
        for (place, moment) in timeline.moments().iter().enumerate() {
            let change = match (moment.is_observed(), timeline.version(place)) {
                (false, _) => continue,
                (true, Some(version)) => version.object.metadata.resource_version.parse().expect("a place"),
                (true, None) => {
                    let gone = |change: usize| course.changes[change].is == Is::Absent;
                    let Some(gone) =
                        last.and_then(|last| (last..course.changes.len()).find(|place| gone(*place)))
                    else {
                        continue;
                    };
                    last = None;
                    let at = course.changes[gone].at;
                    prop_assert!(moment.since.holds(at), "deletion at {at}, {:?}", moment.since);
                    continue;
                }
            };
            last = Some(change);
            let at = course.changes[change].at;
            prop_assert!(
                moment.since.holds(at),
                "change {change} at {at}, {:?}",
                moment.since
            );
        }
        Ok(())
    };
    assert_law(watched(2), holds);
}

#[test]
fn yes_and_no_hold_for_every_history() {
    let holds = |(course, evidence): (Course, Evidence)| {
        let intervals = bad_intervals(&timeline(&evidence));
        let (truth, end) = (course.bad(), course.ends());
        prop_assert!(intervals.observed.and(&truth.not()).is_empty(), "{intervals:?}");
        let missed = truth.and(&intervals.possible.not()).until(end);
        prop_assert!(missed.is_empty(), "{missed:?}");
        // A change at the end of the window is reported.
        let around_end = Set::of([(end - 1, end + 1)]);
        let is_open = truth.and(&around_end) == around_end;
        match intervals.longer_than(GRACE) {
            Certainty::Yes => prop_assert!(truth.lasts(GRACE)),
            Certainty::No => prop_assert!(!is_open && !counted(&course, end).lasts(GRACE), "{intervals:?}"),
            Certainty::Unknown(_) => {}
        }
        let last = Set::of([(end - GRACE, end)]);
        match intervals.throughout_the_last(GRACE) {
            Certainty::Yes => prop_assert!(truth.and(&last) == last),
            Certainty::No => prop_assert!(truth.and(&last) != last),
            Certainty::Unknown(_) => {}
        }
        Ok(())
    };
    assert_law(watched(2), holds);
}

#[test]
fn a_part_of_the_time_is_judged_alone() {
    let cases = (watched(2), -100_i64..1300, 1_i64..600);
    let holds = |((course, evidence), second, length): ((Course, Evidence), i64, i64)| {
        let from = BEGINS + second * SECOND;
        let until = from + length * SECOND;
        let timeline = timeline(&evidence);
        let intervals = bad_intervals(&timeline);
        let part = intervals.within(from, until);
        let truth = course.bad().and(&Set::of([(from, until)]));
        match part.longer_than(GRACE) {
            Certainty::Yes => prop_assert!(truth.lasts(GRACE)),
            Certainty::No => prop_assert!(!truth.lasts(GRACE), "{part:?}"),
            Certainty::Unknown(_) => {}
        }
        // An object is never both there and absent.
        let absent = timeline.intervals(|place| timeline.object(place).is_none());
        let both = intervals.and(&absent).within(from, until);
        prop_assert!(both.observed.is_empty() && both.longer_than(GRACE) != Certainty::Yes);
        Ok(())
    };
    assert_law(cases, holds);
}

#[test]
fn absence_is_observed_rightly() {
    let holds = |(course, evidence): (Course, Evidence)| {
        let timeline = timeline(&evidence);
        let absent = timeline.intervals(|place| timeline.object(place).is_none());
        let truth = course.when(Is::Absent);
        // Before its first creation, the object was absent, too.
        let truth = truth.or(&Set::of([(Micros::MIN, course.changes[0].at)]));
        prop_assert!(absent.observed.and(&truth.not()).is_empty(), "{absent:?}");
        let missed = truth.and(&absent.possible.not()).until(course.ends());
        prop_assert!(missed.is_empty(), "{missed:?}");
        Ok(())
    };
    assert_law(watched(2), holds);
}

#[test]
fn only_what_was_open_counts_after_the_window() {
    let cases = (watched(2), 1_i64..300);
    let holds = |((course, evidence), seconds): ((Course, Evidence), i64)| {
        let Some((settled, end)) = settled(&evidence, seconds) else {
            return Ok(());
        };
        let intervals = bad_intervals(&timeline(&settled));
        let truth = course.bad();
        prop_assert!(intervals.observed.and(&truth.not()).is_empty(), "{intervals:?}");
        let later = intervals.observed.and(&Set::of([(end, Micros::MAX)]));
        prop_assert!(later.spans().iter().all(|(from, _)| *from == end), "{later:?}");
        for evidence in [&settled, &not_settled(&settled)] {
            match bad_for_long(evidence) {
                Certainty::Yes => prop_assert!(truth.lasts(GRACE)),
                Certainty::No => prop_assert!(!counted(&course, end).lasts(GRACE), "{intervals:?}"),
                Certainty::Unknown(_) => {}
            }
        }
        Ok(())
    };
    assert_law(cases, holds);
}

#[test]
fn nothing_counts_after_the_first_touch() {
    let cases = (watched(2), 1_i64..1200);
    let holds = |((course, evidence), seconds): ((Course, Evidence), i64)| {
        let touch = BEGINS + seconds * SECOND;
        let intervals = bad_intervals(&timeline(&evidence).until(touch));
        let truth = course.bad().until(touch);
        match intervals.longer_than(GRACE) {
            Certainty::Yes => prop_assert!(truth.lasts(GRACE)),
            Certainty::No => {
                let late = Set::of([(Micros::MIN, touch - LATE)]);
                prop_assert!(
                    !counted(&course, course.ends()).and(&late).lasts(GRACE),
                    "{intervals:?}"
                );
            }
            Certainty::Unknown(_) => {}
        }
        prop_assert!(touch >= course.ends() || !intervals.is_open());
        Ok(())
    };
    assert_law(cases, holds);
}

#[test]
fn removing_evidence_never_turns_an_answer_around() {
    let cases = (histories(3), prop::option::of(1_i64..300));
    let holds = |(course, seconds): (Course, Option<i64>)| {
        let cut = |evidence: Evidence| match seconds {
            Some(seconds) => settled(&evidence, seconds).map(|(settled, _)| settled),
            None => Some(evidence),
        };
        let with_gaps = course.evidence().and_then(cut);
        let whole = course.watched_without_gaps().evidence().and_then(cut);
        let Some(whole) = whole else {
            return Ok(());
        };
        let known = bad_for_long(&whole);
        let mut less: Vec<Evidence> = with_gaps.into_iter().collect();
        less.push(whole);
        for evidence in less.clone() {
            let mut without_clock = evidence.clone();
            without_clock.header.clock_skew_ms = None;
            less.extend([without_clock, without_writers(&evidence), not_settled(&evidence)]);
            less.push(not_settled(&without_writers(&evidence)));
        }
        for evidence in &less {
            let answer = bad_for_long(evidence);
            prop_assert!(!contradict(&known, &answer), "{known:?} {answer:?}");
        }
        Ok(())
    };
    assert_law(cases, holds);
}

#[test]
fn complete_evidence_decides() {
    assert_decided(courses(0), 30, |course| {
        let intervals = bad_intervals(&timeline(&complete_evidence(course)?));
        let answer = intervals.longer_than(GRACE);
        Some(!matches!(answer, Certainty::Unknown(_)) || intervals.is_open())
    });
}

/// All evidence of a history. None if a violation is in the first list: no watch shows how long it had lasted.
fn complete_evidence(course: Course) -> Option<Evidence> {
    let course = course.complete();
    let listed = course.listed();
    let is_listed_bad = listed.is_some_and(|place| course.changes[place].is == Is::Bad);
    course.evidence().filter(|_| !is_listed_bad)
}

/// A run that watches on for longer than the grace, and than a watch may be late, decides what was open.
#[test]
fn watching_on_decides_what_was_open() {
    let holds = |course: Course| {
        let evidence = complete_evidence(course);
        let Some((settled, _)) = evidence.as_ref().and_then(|whole| settled(whole, 131)) else {
            return Ok(());
        };
        let intervals = bad_intervals(&timeline(&settled));
        prop_assert!(!intervals.is_open() || intervals.longer_than(GRACE) == Certainty::Yes);
        Ok(())
    };
    assert_law(histories(0), holds);
}
