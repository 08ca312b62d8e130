//! Evaluates a function on each version of an object.
//!
//! A violation counts if it was observed for longer than the grace period, once or repeatedly. Violations at one path are
//! one violation, whatever else the finding says.

use std::{ops::Range, ptr, rc::Rc};

use evidence::{
    Evidence, Version,
    api::{ClusterProfile, PlacementDecision},
};

use super::{
    Answer, Evaluate, EvaluatePart, Hub, Judged, Seen,
    judged::{JudgedObject, is_any},
    others::profiles_of_others,
    snapshot,
    violation::Violations,
};
use crate::{
    rules::Facts,
    subjects::Findings,
    time::{Micros, SECOND},
};

/// The usual grace period of a violation: 2 min.
pub(crate) const GRACE: Micros = 120 * SECOND;

/// A rule's function on one version.
#[derive(Debug)]
enum Check<T> {
    /// It depends on the version alone.
    OfVersion(fn(&T, &Hub) -> Answer),
    /// It also depends on when the version was seen.
    OfSeen(fn(&T, Seen, &Hub) -> Answer),
}

/// A rule on each version of an object.
#[derive(Debug)]
pub(crate) struct State<T> {
    check: Check<T>,
    /// How long a violation may last.
    grace: Micros,
    /// Whether two versions get the same answer.
    same: fn(&T, &T) -> bool,
    /// Whether implementations fill the field some time after the creation.
    is_filled_later: bool,
    /// Whether a violation counts that another client's change began.
    is_anyone: bool,
    /// Whether the objects of other implementations are judged instead.
    is_of_others: bool,
    /// Without a version for which this holds, the rule does not apply to the run.
    applies_if_any: Option<fn(&T) -> bool>,
}

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

impl<T> State<T> {
    fn of(check: Check<T>, grace: Micros) -> Self {
        Self {
            check,
            grace,
            same: |one, other| ptr::eq(one, other),
            is_filled_later: false,
            is_anyone: false,
            is_of_others: false,
            applies_if_any: None,
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
    pub(crate) fn filled_later(self) -> Self {
        Self {
            is_filled_later: true,
            ..self
        }
    }

    /// Counts a violation that another client's change began, where the implementation has to follow that change.
    pub(crate) fn anyone(self) -> Self {
        Self {
            is_anyone: true,
            ..self
        }
    }

    /// Judges the objects of other implementations.
    pub(crate) fn of_others(self) -> Self {
        Self {
            is_of_others: true,
            ..self
        }
    }
}

impl<T: Judged> State<T> {
    fn judge_all<'e>(&self, hub: &Hub<'e>, objects: &[JudgedObject<'e, T>], findings: &mut Findings) {
        if self.applies_if_any.is_some_and(|has| !is_any(hub.evidence, has)) {
            return;
        }
        for object in objects {
            self.judge(hub, object, findings);
        }
    }

    fn judge<'e>(&self, hub: &Hub<'e>, object: &JudgedObject<'e, T>, findings: &mut Findings) {
        let mut is_wrong = false;
        let mut applies = 0;
        for life in &object.lives {
            let judged = life
                .versions
                .iter()
                .filter(|version| object.judges(version.received()));
            let mut answers = Answers::new(self, hub);
            let mut is_examined = false;
            for version in judged {
                let answer = answers.of(version);
                is_examined |= *answer != Answer::NotApplicable;
                is_wrong |= !matches!(*answer, Answer::NotApplicable | Answer::Kept);
            }
            applies += usize::from(is_examined);
        }
        // Nearly all objects have no violation of nearly any rule.
        let examined = if is_wrong {
            self.judge_violations(hub, object, applies, findings)
        } else {
            applies
        };
        findings.examined += examined;
    }

    /// Judges what is wrong in any version. Returns how many lives count as examined.
    fn judge_violations<'e>(
        &self,
        hub: &Hub<'e>,
        object: &JudgedObject<'e, T>,
        applies: usize,
        findings: &mut Findings,
    ) -> usize {
        let timeline = object.timeline(hub);
        let mut answers = Answers::new(self, hub);
        let of_moments: Vec<Rc<Answer>> = (0..timeline.moments().len())
            .map(|place| match timeline.object(place) {
                Some(version) => answers.of(version),
                None => Rc::new(Answer::NotApplicable),
            })
            .collect();
        if !timeline.is_watched() {
            let newest = object.lives.iter().map(|life| life.last());
            let grace = if self.is_filled_later {
                snapshot::FILLED_LATER
            } else {
                self.grace
            };
            if !snapshot::is_settled(hub.evidence, newest, grace) {
                findings.cannot_tell_unless_examined(snapshot::TOO_EARLY);
                return 0;
            }
        }
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
        applies
    }
}

/// The answers about successive versions.
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

impl Evaluate for State<ClusterProfile> {
    fn evaluate(&self, hub: &Hub, findings: &mut Findings) {
        if self.is_of_others {
            self.judge_all(hub, &profiles_of_others(hub), findings);
        } else {
            self.judge_all(hub, hub.profiles(), findings);
        }
    }

    fn per_profile(&self, _facts: &Facts, _evidence: &Evidence) -> Option<&dyn EvaluatePart> {
        (!self.is_of_others).then_some(self)
    }

    fn judges_published_objects(&self) -> bool {
        !self.is_of_others
    }
}

impl EvaluatePart for State<ClusterProfile> {
    fn evaluate_part(&self, hub: &Hub, places: Range<usize>, findings: &mut Findings) {
        self.judge_all(hub, &hub.profiles()[places], findings);
    }
}

impl Evaluate for State<PlacementDecision> {
    fn evaluate(&self, hub: &Hub, findings: &mut Findings) {
        self.judge_all(hub, hub.slices(), findings);
    }

    fn judges_published_objects(&self) -> bool {
        true
    }
}
