//! Evaluates a function on each version of an object.
//!
//! A violation counts if it was observed for longer than the grace period, once or repeatedly. Violations at one path are
//! one violation, whatever else the finding says.

use std::{ops::Range, ptr, rc::Rc, sync::Arc};

use evidence::{
    Evidence, Tracked, Version,
    api::{ClusterProfile, PlacementDecision},
    parse_time,
};
use jiff::Timestamp;

use super::{
    Answer, Evaluate, EvaluateObjects, Hub, Judged,
    judged::{JudgedObject, profiles_of_other_managers},
    violation::Violations,
};
use crate::{
    subjects::Findings,
    time::{Micros, SECOND, known_skew, new_stamp},
};

/// The usual grace period of a violation: 2 min.
pub(crate) const GRACE: Micros = 120 * SECOND;

/// Judges a version of an object.
type CheckVersion<T> = Box<dyn Fn(&Version<T>, &Hub) -> Answer + Send + Sync>;

pub(crate) struct State<T> {
    check: CheckVersion<T>,
    grace: Micros,
    /// Whether two versions get the same answer.
    same: fn(&T, &T) -> bool,
    /// Whether implementations fill the field some time after the creation.
    is_filled_later: bool,
    /// Whether a violation counts that another client's change began.
    counts_any_author: bool,
    /// The objects of other implementations, if they are judged instead.
    other_objects: Option<ObjectsOnHub<T>>,
}

/// Some objects on a hub.
type ObjectsOnHub<T> = for<'e> fn(&Hub<'e>) -> Vec<JudgedObject<'e, T>>;

/// A rule on each version of a profile, with a grace period of 2 min.
pub(crate) fn state(check: fn(&ClusterProfile, &Hub) -> Answer) -> State<ClusterProfile> {
    State::of(GRACE, move |version, hub| check(&version.object, hub))
}

/// A rule on each version of a profile whose function compares times with the time of arrival. A dump has none.
pub(crate) fn timed_state(check: fn(&ClusterProfile, ArrivalTime, &Hub) -> Answer) -> State<ClusterProfile> {
    State::of(GRACE, move |version, hub| {
        let time = version.at.map(|arrival| ArrivalTime::at(hub.evidence, arrival));
        time.map_or(Answer::NotApplicable, |time| check(&version.object, time, hub))
    })
}

/// A rule on each version of a slice, without a grace period: a slice is complete when it is written.
pub(crate) fn slice(check: fn(&PlacementDecision, &Hub) -> Answer) -> State<PlacementDecision> {
    State::of(0, move |version, hub| check(&version.object, hub))
}

impl State<ClusterProfile> {
    pub(crate) fn of_other_managers(mut self) -> Self {
        self.other_objects = Some(profiles_of_other_managers);
        self
    }
}

impl<T> State<T> {
    fn of(grace: Micros, check: impl Fn(&Version<T>, &Hub) -> Answer + Send + Sync + 'static) -> Self {
        Self {
            check: Box::new(check),
            grace,
            same: |one, other| ptr::eq(one, other),
            is_filled_later: false,
            counts_any_author: false,
            other_objects: None,
        }
    }

    /// With another grace period; 0 for none: a single version is enough.
    pub(crate) fn grace(self, grace: Micros) -> Self {
        Self { grace, ..self }
    }

    /// The parts that the function reads: `same` says whether two versions have the same ones.
    pub(crate) fn reads(self, same: fn(&T, &T) -> bool) -> Self {
        Self { same, ..self }
    }

    /// Implementations fill the field some time after the creation: a single list waits longer for it.
    pub(crate) fn filled_later(mut self) -> Self {
        self.is_filled_later = true;
        self
    }

    /// Counts a violation that another client's change began, where the implementation has to follow that change.
    pub(crate) fn any_author(mut self) -> Self {
        self.counts_any_author = true;
        self
    }
}

/// The answers of a rule about the versions of one object after the other.
struct Answers<'s, 'h, 'e, T> {
    state: &'s State<T>,
    hub: &'h Hub<'e>,
    /// The last version that was asked about, with its answer.
    last: Option<(&'e T, Rc<Answer>)>,
    /// Nearly all answers are one of these.
    kept: Rc<Answer>,
    not_applicable: Rc<Answer>,
}

impl<'e, T: Judged> Answers<'_, '_, 'e, T> {
    /// Judges one object.
    fn judge(&mut self, object: &JudgedObject<'e, T>, findings: &mut Findings) {
        let mut is_any_wrong = false;
        let mut applies = 0;
        for history in &object.histories {
            self.last = None;
            let mut is_examined = false;
            for version in object.judged_versions(history) {
                let answer = self.of(version);
                is_examined |= *answer != Answer::NotApplicable;
                is_any_wrong |= answer.is_wrong();
            }
            applies += usize::from(is_examined);
        }
        is_any_wrong |= self.is_wrong_later(object);
        // Nearly all objects have no violation of nearly any rule.
        if is_any_wrong && !self.judge_violations(object, findings) {
            return;
        }
        findings.examined += applies;
    }

    /// Whether it was wrong after the window, where a change of the window may be reported.
    fn is_wrong_later(&mut self, object: &JudgedObject<'e, T>) -> bool {
        let evidence = self.hub.evidence;
        if T::later(&evidence.later).is_empty() {
            return false;
        }
        let (namespace, name) = object.name();
        let later = evidence.later_of::<T>(namespace, name);
        let mut versions = later.iter().flat_map(|history| object.judged_versions(history));
        versions.any(|version| self.of(version).is_wrong())
    }

    /// Judges what is wrong in any version. Returns false if it is too early.
    fn judge_violations(&mut self, object: &JudgedObject<'e, T>, findings: &mut Findings) -> bool {
        let (state, hub) = (self.state, self.hub);
        let timeline = object.timeline(hub);
        if !timeline.is_watched() {
            let newest = object.histories.iter().map(|history| history.last());
            let grace = if state.is_filled_later {
                FILLED_LATER
            } else {
                state.grace
            };
            if !is_settled(hub.evidence, newest, grace) {
                findings.cannot_tell_unless_examined(UNSETTLED);
                return false;
            }
        }
        self.last = None;
        let answer_at = |place| match timeline.version(place) {
            Some(version) => self.of(version),
            None => Rc::clone(&self.not_applicable),
        };
        let answers: Vec<Rc<Answer>> = (0..timeline.moments().len()).map(answer_at).collect();
        let violations = Violations {
            hub,
            timeline: &timeline,
            histories: &object.histories,
            answers: &answers,
            is_member: &|_| true,
            grace: state.grace,
            sure_after: 0,
            is_filled_later: state.is_filled_later,
            counts_any_author: state.counts_any_author,
        };
        violations.judge(findings);
        true
    }

    /// The answer about a version. An object that waits for its finalizers is not judged.
    fn of(&mut self, version: &'e Version<T>) -> Rc<Answer> {
        let object = &version.object;
        if object.is_terminating() {
            return Rc::clone(&self.not_applicable);
        }
        if let Some((last, answer)) = &self.last
            && (self.state.same)(last, object)
        {
            return Rc::clone(answer);
        }
        let answer = match (self.state.check)(version, self.hub) {
            Answer::Kept => Rc::clone(&self.kept),
            Answer::NotApplicable => Rc::clone(&self.not_applicable),
            wrong => Rc::new(wrong.shortened()),
        };
        self.last = Some((object, Rc::clone(&answer)));
        answer
    }
}

impl<T: Judged> State<T> {
    fn judge<'e>(&self, hub: &Hub<'e>, objects: &[JudgedObject<'e, T>], findings: &mut Findings) {
        let mut answers = Answers {
            state: self,
            hub,
            last: None,
            kept: Rc::new(Answer::Kept),
            not_applicable: Rc::new(Answer::NotApplicable),
        };
        for object in objects {
            answers.judge(object, findings);
        }
    }
}

impl<T: Judged> Evaluate for State<T> {
    fn evaluate(&self, hub: &Hub, findings: &mut Findings) {
        match self.other_objects {
            Some(objects) => self.judge(hub, &objects(hub), findings),
            None => self.judge(hub, T::judged(hub), findings),
        }
    }

    fn on_objects(&self) -> Option<&dyn EvaluateObjects> {
        self.other_objects.is_none().then_some(self)
    }

    fn judges_published_objects(&self) -> bool {
        self.other_objects.is_none()
    }
}

impl<T: Judged> EvaluateObjects for State<T> {
    fn count_objects(&self, hub: &Hub) -> usize {
        T::judged(hub).len()
    }

    fn evaluate_objects(&self, hub: &Hub, places: Range<usize>, findings: &mut Findings) {
        self.judge(hub, &T::judged(hub)[places], findings);
    }
}

/// When a version of an object arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArrivalTime {
    /// The hub's time; the runner's if the hub's clock is unknown.
    pub(crate) hub_time: Micros,
    pub(crate) is_clock_known: bool,
    /// The later of the hub's time and the runner's.
    latest: Micros,
}

impl ArrivalTime {
    pub(super) fn at(evidence: &Evidence, arrival: Timestamp) -> Self {
        let (arrival, skew) = (arrival.as_microsecond(), known_skew(evidence));
        let hub_time = arrival.saturating_add(skew.unwrap_or_default());
        Self {
            hub_time,
            is_clock_known: skew.is_some(),
            latest: hub_time.max(arrival),
        }
    }

    /// Whether a time was more than `margin` ahead, by the hub's clock and by the runner's.
    pub(crate) fn is_ahead(&self, time: Timestamp, margin: Micros) -> bool {
        time.as_microsecond() > self.latest.saturating_add(margin)
    }
}

/// Whether two versions have the same labels and spec.
pub(crate) fn same_labels(one: &ClusterProfile, other: &ClusterProfile) -> bool {
    Arc::ptr_eq(&one.metadata.labels, &other.metadata.labels) && Arc::ptr_eq(&one.spec, &other.spec)
}

/// Whether two versions have the same labels, annotations, and spec.
pub(crate) fn same_metadata(one: &ClusterProfile, other: &ClusterProfile) -> bool {
    same_labels(one, other) && Arc::ptr_eq(&one.metadata.annotations, &other.metadata.annotations)
}

/// Whether two versions have the same properties.
pub(crate) fn same_properties(one: &ClusterProfile, other: &ClusterProfile) -> bool {
    Arc::ptr_eq(&one.status.properties, &other.status.properties)
}

/// Whether two versions have the same conditions, generation, and version of Kubernetes.
pub(crate) fn same_conditions(one: &ClusterProfile, other: &ClusterProfile) -> bool {
    Arc::ptr_eq(&one.status.conditions, &other.status.conditions)
        && one.metadata.generation == other.metadata.generation
        && one.status.version == other.status.version
}

/// Whether two versions have the same access providers.
pub(crate) fn same_access(one: &ClusterProfile, other: &ClusterProfile) -> bool {
    Arc::ptr_eq(&one.status.access_providers, &other.status.access_providers)
        && Arc::ptr_eq(
            &one.status.credential_providers,
            &other.status.credential_providers,
        )
}

/// Whether two versions have the same labels, annotations, spec, and status apart from access providers.
pub(crate) fn same_outside_access(one: &ClusterProfile, other: &ClusterProfile) -> bool {
    same_metadata(one, other) && same_properties(one, other) && same_conditions(one, other)
}

/// Whether two versions have the same managedFields.
pub(crate) fn same_writers(one: &ClusterProfile, other: &ClusterProfile) -> bool {
    one.metadata.writers == other.metadata.writers
}

/// Whether two versions of a slice have the same labels, scheduler, owners, finalizers, and decisions.
pub(crate) fn same_slice(one: &PlacementDecision, other: &PlacementDecision) -> bool {
    let same_decisions = match (&one.decisions, &other.decisions) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        (one, other) => one.is_none() && other.is_none(),
    };
    same_decisions
        && Arc::ptr_eq(&one.metadata.labels, &other.metadata.labels)
        && Arc::ptr_eq(&one.metadata.annotations, &other.metadata.annotations)
        && one.scheduler_name == other.scheduler_name
        && one.metadata.owner_references == other.metadata.owner_references
        && one.metadata.finalizers == other.metadata.finalizers
}

/// How old an object must be in a single list if implementations fill the field some time after the creation: 10 min.
pub(super) const FILLED_LATER: Micros = 600 * SECOND;

/// The reason for no verdict if nothing is old enough.
pub(super) const UNSETTLED: &str = "too early to tell: no object has been unchanged for longer than the grace period; watch it for some minutes";

/// Whether all objects were unchanged for the grace period when they were read, by their newest server timestamp. True as
/// well if the evidence does not say when they were read.
pub(super) fn is_settled<'e, T: Tracked>(
    evidence: &Evidence,
    objects: impl Iterator<Item = &'e T>,
    grace: Micros,
) -> bool {
    let Some(read_time) = read_at(evidence) else {
        return true;
    };
    let newest = objects.filter_map(newest_timestamp).max();
    newest.is_none_or(|newest| read_time.saturating_sub(newest) >= grace)
}

/// When the objects were read, by the hub's clock, at the latest.
fn read_at(evidence: &Evidence) -> Option<Micros> {
    let header = &evidence.header;
    let end = header.window.map(|window| window.until).or(header.read_at)?;
    let ahead = known_skew(evidence).unwrap_or_default();
    Some(end.as_microsecond().saturating_add(ahead))
}

/// The newest timestamp that the hub wrote into an object's metadata.
pub(crate) fn newest_timestamp<T: Tracked>(object: &T) -> Option<Micros> {
    let creation = object.metadata().creation_timestamp.as_deref();
    let times = [new_stamp(None, object), creation].into_iter().flatten();
    let newest = times.filter_map(parse_time).max();
    newest.map(|time| time.as_microsecond())
}
