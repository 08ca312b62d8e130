//! The laws of events: the writes of each life of a course, against buckets and rates.

use evidence::{Evidence, ProfileHistory, api::ClusterProfile};
use proptest::{prelude::*, strategy::ValueTree as _};

use super::{
    assert_law,
    course::{Course, courses},
    runner,
};
use crate::time::{AtMost, Bucket, Edge, Events, Known, Micros, SECOND, Write, events::Limit, writes};

/// Small enough to be overdrawn by few changes.
const BUCKET: Bucket = Bucket {
    burst: 2,
    refill: 60 * SECOND,
    at_least: 0,
};

/// The same over a long time.
const LASTING: Bucket = Bucket {
    burst: 1,
    at_least: 200 * SECOND,
    ..BUCKET
};

const RATE: AtMost = AtMost {
    count: 2,
    within: 90 * SECOND,
};

fn writes_of<'e>(evidence: &'e Evidence, life: &'e ProfileHistory) -> Vec<Write<'e, ClusterProfile>> {
    writes(evidence, life, |_, _| true, |_| true)
}

fn events(writes: &[Write<'_, ClusterProfile>]) -> Events {
    writes.iter().map(|write| write.moment).collect()
}

fn place(profile: &ClusterProfile) -> usize {
    profile.metadata.resource_version.parse().expect("a place")
}

/// When the writes took place. Of several that a gap delivers as one, it is the last one that the hub stamped.
fn truth(course: &Course, writes: &[Write<'_, ClusterProfile>]) -> Vec<Micros> {
    let at = |write: &Write<'_, ClusterProfile>| {
        let places = place(&write.before.object) + 1..=place(&write.after.object);
        let changes = &course.changes[places];
        let stamped = changes.iter().rfind(|change| change.is_stamped);
        stamped.or(changes.last()).map(|change| change.at)
    };
    writes.iter().filter_map(at).collect()
}

/// When all writes of a life took place that came between what was first and last seen of it.
fn whole_truth(course: &Course, life: &ProfileHistory) -> Vec<Micros> {
    let seen = place(life.first()) + 1..=place(life.last());
    seen.map(|place| course.changes[place].at).collect()
}

fn exceed(limit: &impl Limit, moments: &[Micros]) -> bool {
    let edges: Vec<Edge> = moments.iter().copied().map(Edge::at).collect();
    limit.excess(&edges).is_some()
}

fn is_sound(
    limit: &impl Limit,
    told: &Events,
    seen: &[Micros],
    whole: &[Micros],
) -> Result<(), TestCaseError> {
    match told.exceed(limit) {
        Known::Yes => prop_assert!(exceed(limit, seen) && exceed(limit, whole), "{told:?} {seen:?}"),
        Known::No => prop_assert!(!exceed(limit, seen), "{told:?} {seen:?}"),
        Known::Unknown(_) => {}
    }
    Ok(())
}

#[test]
fn each_write_lies_within_its_edge() {
    let holds = |course: Course| {
        let evidence = course.evidence().unwrap_or_default();
        for life in &evidence.profiles {
            let writes = writes_of(&evidence, life);
            let seen = truth(&course, &writes);
            for (write, at) in writes.iter().zip(&seen) {
                let Write { moment, .. } = write;
                prop_assert!((moment.earliest..=moment.latest).contains(at), "{at}: {moment:?}");
            }
            // By the hub's clock, one skew explains them all.
            if !course.may_set_its_clock_unseen()
                && let Some(edges) = events(&writes).by_hub()
            {
                let ahead = edges.iter().zip(&seen);
                let least = ahead
                    .clone()
                    .map(|(edge, at)| edge.earliest.saturating_sub(*at))
                    .max();
                let most = ahead.map(|(edge, at)| edge.latest.saturating_sub(*at)).min();
                prop_assert!(least <= most, "{edges:?} {seen:?}");
            }
        }
        Ok(())
    };
    assert_law(courses(2), holds);
}

#[test]
fn what_is_said_of_events_is_true() {
    let holds = |course: Course| {
        prop_assume!(!course.may_set_its_clock_unseen());
        let evidence = course.evidence().unwrap_or_default();
        for life in &evidence.profiles {
            let writes = writes_of(&evidence, life);
            let (told, seen, whole) = (
                events(&writes),
                truth(&course, &writes),
                whole_truth(&course, life),
            );
            is_sound(&BUCKET, &told, &seen, &whole)?;
            is_sound(&LASTING, &told, &seen, &whole)?;
            is_sound(&RATE, &told, &seen, &whole)?;
        }
        Ok(())
    };
    assert_law(courses(2), holds);
}

#[test]
fn less_evidence_turns_no_answer_about_events_around() {
    let holds = |course: Course| {
        prop_assume!(!course.may_set_its_clock_unseen());
        let (less, whole) = (course.evidence(), course.watched_without_gaps().evidence());
        let (Some(less), Some(whole)) = (less, whole) else {
            return Ok(());
        };
        for life in &less.profiles {
            let of_whole = whole
                .profiles
                .iter()
                .find(|known| known.last().metadata.uid == life.last().metadata.uid);
            let Some(of_whole) = of_whole else { continue };
            let (told, known) = (
                events(&writes_of(&less, life)),
                events(&writes_of(&whole, of_whole)),
            );
            // A gap hides events, but adds none.
            prop_assert!(!(known.exceed(&BUCKET) == Known::No && told.exceed(&BUCKET) == Known::Yes));
            prop_assert!(!(known.exceed(&RATE) == Known::No && told.exceed(&RATE) == Known::Yes));
        }
        Ok(())
    };
    assert_law(courses(2), holds);
}

#[test]
fn complete_evidence_gives_an_answer_about_events() {
    let (mut asked, mut open) = (0, 0);
    let mut runner = runner();
    for _ in 0..runner.config().cases {
        let course = courses(0).new_tree(&mut runner).expect("a course").current();
        let evidence = course.complete().evidence().unwrap_or_default();
        for life in &evidence.profiles {
            asked += 1;
            let answer = events(&writes_of(&evidence, life)).exceed(&BUCKET);
            open += usize::from(matches!(answer, Known::Unknown(_)));
        }
    }
    assert!(open * 20 < asked, "{open} of {asked} lives are not decided");
}
