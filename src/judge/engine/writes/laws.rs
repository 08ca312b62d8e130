//! The laws of writes, on random histories.
//!
//! 1. A violation is one for every history that matches the evidence. 2. Removing evidence never turns a violation into
//!    "kept". "Kept" has one exception to the first law: writes that were in budget when they arrived may have been closer
//!    together.

use std::collections::BTreeMap;

use evidence::{Evidence, api::ClusterProfile};
use proptest::{prelude::*, strategy::ValueTree as _};

use super::{CountedWrites, by_name::writes_by_name};
use crate::{
    engine::{Answer, Hub},
    time::{Bucket, Edge, SECOND},
    timeline::laws::{
        assert_law,
        course::{Course, Is, courses},
        runner, without_writers,
    },
};

/// Small enough to be overdrawn by few changes.
const BUCKET: Bucket = Bucket {
    burst: 2,
    refill: 60 * SECOND,
    at_least: 0,
};

/// Allows bursts, but no lasting excess.
const LASTING: Bucket = Bucket {
    burst: 1,
    at_least: 200 * SECOND,
    ..BUCKET
};

/// Histories in which the timestamps of the first list are right.
fn histories(gaps: usize) -> impl Strategy<Value = Course> {
    courses(gaps).prop_map(Course::rightly_dated)
}

/// The evidence of a history, with the name of the only writer.
fn evidence_of(course: &Course) -> Evidence {
    let mut evidence = course.evidence().unwrap_or_default();
    evidence.header.claim.cluster_manager.field_managers = vec!["m".to_owned()];
    evidence
}

/// The answer about each object, by its uid.
fn answers(evidence: &Evidence, bucket: Bucket) -> BTreeMap<String, Answer> {
    let hub = Hub::of(evidence);
    let mut answers = BTreeMap::new();
    for of_name in writes_by_name::<ClusterProfile>(&hub, CountedWrites::Observed) {
        for writes in of_name.of_each_object(CountedWrites::Observed) {
            let answer = writes.within(bucket, "writes", "status");
            let uid = writes
                .history
                .map(|history| history.last().metadata.uid.to_string());
            answers.insert(uid.unwrap_or_default(), answer);
        }
    }
    answers
}

/// Whether the writes to an object overdraw a bucket.
fn is_overdrawn(course: &Course, uid: &str, bucket: Bucket) -> bool {
    let first: usize = uid[1..].parse().expect("the place of the creation");
    let writes = course.changes[first + 1..].iter();
    let writes = writes.take_while(|change| change.is != Is::Absent);
    let edges: Vec<Edge> = writes.map(|change| Edge::at(change.at)).collect();
    bucket.draws(&edges).any(|draw| draw.is_too_much())
}

#[test]
fn a_violation_is_true() {
    let holds = |course: Course| {
        prop_assume!(!course.may_set_its_clock_unseen());
        let evidence = evidence_of(&course);
        for bucket in [BUCKET, LASTING] {
            for (uid, answer) in answers(&evidence, bucket) {
                let is_broken = matches!(answer, Answer::Broken(_));
                prop_assert!(!is_broken || is_overdrawn(&course, &uid, bucket), "{answer:?}");
            }
        }
        Ok(())
    };
    assert_law(histories(2), holds);
}

#[test]
fn removing_evidence_never_turns_a_violation_into_kept() {
    let holds = |course: Course| {
        prop_assume!(!course.may_set_its_clock_unseen());
        let whole = evidence_of(&course.clone().watched_without_gaps());
        let with_gaps = evidence_of(&course);
        let mut less = vec![with_gaps.clone()];
        for evidence in [&whole, &with_gaps] {
            let mut without_clock = evidence.clone();
            without_clock.header.clock_skew_ms = None;
            less.extend([without_clock, without_writers(evidence)]);
        }
        for bucket in [BUCKET, LASTING] {
            let truth = answers(&whole, bucket);
            for (uid, answer) in less.iter().flat_map(|evidence| answers(evidence, bucket)) {
                let was_broken = matches!(truth.get(&uid), Some(Answer::Broken(_)));
                prop_assert!(!(was_broken && answer == Answer::Kept), "{:?}", truth[&uid]);
            }
        }
        Ok(())
    };
    assert_law(histories(2), holds);
}

#[test]
fn complete_evidence_decides() {
    let (mut total, mut open, mut broken) = (0, 0, 0);
    let mut runner = runner();
    for _ in 0..runner.config().cases {
        let course = courses(0).new_tree(&mut runner).expect("a course").current();
        for answer in answers(&evidence_of(&course.complete()), BUCKET).values() {
            total += 1;
            open += usize::from(matches!(answer, Answer::Unknown(_)));
            broken += usize::from(matches!(answer, Answer::Broken(_)));
        }
    }
    assert!(open * 10 < total, "{open} of {total} objects are not decided");
    assert!(
        broken * 40 > total,
        "{broken} of {total} objects have a violation"
    );
}
