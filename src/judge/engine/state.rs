//! Evaluates a function on each version of an object.
//!
//! A violation counts if it was observed for longer than the grace period, once or repeatedly. Violations at one path are
//! one violation, whatever else the finding says.

use std::{ptr, rc::Rc};

use evidence::{
    Version,
    api::{ClusterProfile, PlacementDecision},
};

use super::{
    Answer, Evaluate, Hub, Judged, Seen, judged::JudgedObject, others::profiles_of_others, snapshot,
    violation::Violations,
};
use crate::{
    subjects::Findings,
    time::{Micros, SECOND},
};

/// The usual grace period of a violation: 2 min.
pub(crate) const GRACE: Micros = 120 * SECOND;

#[derive(Debug)]
enum Check<T> {
    OfVersion(fn(&T, &Hub) -> Answer),
    OfSeen(fn(&T, Seen, &Hub) -> Answer),
}

#[derive(Debug)]
pub(crate) struct State<T> {
    check: Check<T>,
    grace: Micros,
    /// Whether two versions get the same answer.
    same: fn(&T, &T) -> bool,
    /// Whether implementations fill the field some time after the creation.
    is_filled_later: bool,
    /// Whether a violation counts that another client's change began.
    is_anyone: bool,
    /// The objects of other implementations, if they are judged instead.
    others: Option<ObjectsOnHub<T>>,
}

/// Some objects on a hub.
type ObjectsOnHub<T> = for<'e> fn(&Hub<'e>) -> Vec<JudgedObject<'e, T>>;

/// A rule on each version of a profile, with a grace period of 2 min.
pub(crate) fn state(check: fn(&ClusterProfile, &Hub) -> Answer) -> State<ClusterProfile> {
    State::of(Check::OfVersion(check), GRACE)
}

/// A rule on each version of a profile whose function compares times with the time of arrival.
pub(crate) fn state_seen(check: fn(&ClusterProfile, Seen, &Hub) -> Answer) -> State<ClusterProfile> {
    State::of(Check::OfSeen(check), GRACE)
}

/// A rule on each version of a slice, without a grace period: a slice is written at once.
pub(crate) fn slice(check: fn(&PlacementDecision, &Hub) -> Answer) -> State<PlacementDecision> {
    State::of(Check::OfVersion(check), 0)
}

impl State<ClusterProfile> {
    pub(crate) fn of_others(mut self) -> Self {
        self.others = Some(profiles_of_others);
        self
    }
}

impl<T> State<T> {
    fn of(check: Check<T>, grace: Micros) -> Self {
        Self {
            check,
            grace,
            same: |one, other| ptr::eq(one, other),
            is_filled_later: false,
            is_anyone: false,
            others: None,
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
    pub(crate) fn anyone(mut self) -> Self {
        self.is_anyone = true;
        self
    }
}

impl<T: Judged> State<T> {
    fn judge<'e>(&self, hub: &Hub<'e>, object: &JudgedObject<'e, T>, findings: &mut Findings) {
        let mut is_any_wrong = false;
        let mut applies = 0;
        for life in &object.lives {
            let mut answers = Answers::new(self, hub);
            let mut is_examined = false;
            for version in object.judged_versions(life) {
                let answer = answers.of(version);
                is_examined |= *answer != Answer::NotApplicable;
                is_any_wrong |= answer.is_wrong();
            }
            applies += usize::from(is_examined);
        }
        // Nearly all objects have no violation of nearly any rule.
        if is_any_wrong && !self.judge_violations(hub, object, findings) {
            return;
        }
        findings.examined += applies;
    }

    /// Judges what is wrong in any version. Returns false if it is too early.
    fn judge_violations<'e>(
        &self,
        hub: &Hub<'e>,
        object: &JudgedObject<'e, T>,
        findings: &mut Findings,
    ) -> bool {
        let timeline = object.timeline(hub);
        if !timeline.is_watched() {
            let newest = object.lives.iter().map(|life| life.last());
            let grace = if self.is_filled_later {
                snapshot::FILLED_LATER
            } else {
                self.grace
            };
            if !snapshot::is_settled(hub.evidence, newest, grace) {
                findings.cannot_tell_unless_examined(snapshot::TOO_EARLY);
                return false;
            }
        }
        let mut answers = Answers::new(self, hub);
        let places = 0..timeline.moments().len();
        let of_moments: Vec<Rc<Answer>> = places
            .map(|place| match timeline.object(place) {
                Some(version) => answers.of(version),
                None => Rc::new(Answer::NotApplicable),
            })
            .collect();
        let violations = Violations {
            hub,
            timeline: &timeline,
            lives: &object.lives,
            answers: &of_moments,
            is_member: &|_| true,
            grace: self.grace,
            sure_after: 0,
            is_filled_later: self.is_filled_later,
            is_anyone: self.is_anyone,
        };
        violations.judge(findings);
        true
    }
}

struct Answers<'s, 'h, 'e, T> {
    state: &'s State<T>,
    hub: &'h Hub<'e>,
    /// The last version that was asked about, with its answer.
    last: Option<(&'e T, Rc<Answer>)>,
}

impl<'s, 'h, 'e, T: Judged> Answers<'s, 'h, 'e, T> {
    fn new(state: &'s State<T>, hub: &'h Hub<'e>) -> Self {
        Self {
            state,
            hub,
            last: None,
        }
    }

    /// The answer about a version. An object that waits for its finalizers is not judged.
    fn of(&mut self, version: &'e Version<T>) -> Rc<Answer> {
        let object = &version.object;
        if object.is_terminating() {
            return Rc::new(Answer::NotApplicable);
        }
        if let Some((last, answer)) = &self.last
            && (self.state.same)(last, object)
        {
            return Rc::clone(answer);
        }
        let answer = match &self.state.check {
            Check::OfVersion(check) => check(object, self.hub),
            Check::OfSeen(check) => check(object, Seen::at(self.hub.evidence, version.at), self.hub),
        };
        let answer = Rc::new(answer.shortened());
        self.last = Some((object, Rc::clone(&answer)));
        answer
    }
}

impl<T: Judged> Evaluate for State<T> {
    fn evaluate(&self, hub: &Hub, findings: &mut Findings) {
        let others = self.others.map(|others| others(hub));
        for object in others.as_deref().unwrap_or(T::judged(hub)) {
            self.judge(hub, object, findings);
        }
    }

    fn judges_published_objects(&self) -> bool {
        self.others.is_none()
    }
}
