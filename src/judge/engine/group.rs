//! Evaluates a function on objects that share a key at the same time.

use std::{cell::RefCell, ptr, rc::Rc};

use evidence::{
    History, Version,
    api::{ClusterProfile, DecisionId, PlacementDecision},
};

use super::{
    Answer, Evaluate, Hub, Judged,
    state::{GRACE, UNSETTLED, is_settled},
    violation::Violations,
};
use crate::{
    hash::{HashMap, HashSet},
    subjects::{Finding, Findings},
    time::{Micros, SECOND},
    timeline::Timeline,
};

/// How long the slices of a decision may contradict each other: 30 s.
pub(crate) const DECISION_GRACE: Micros = 30 * SECOND;

/// How long a scheduler that stops between two writes may take to restart: 5 min.
const RESTART: Micros = 300 * SECOND;

pub(crate) struct Group<T, K> {
    keys: fn(&T, &Hub) -> Vec<K>,
    /// The objects are never terminating. Those of the judged implementation come last.
    check: fn(&K, &[&T], &Hub) -> Answer,
    grace: Micros,
    /// Whether two versions have the same keys and get the same answer.
    same: fn(&T, &T) -> bool,
    /// The fewest objects that the rule applies to.
    fewest: usize,
    /// Up to this length, a violation that begins or ends during the watch is a warning only, as is one in a single list.
    sure_after: Micros,
    /// Whether a group is not judged while one of its objects waits for its finalizers.
    skips_terminating: bool,
}

/// The slices of one decision: by its key or, without one, a single slice.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DecisionKey {
    pub(crate) namespace: String,
    pub(crate) scheduler: String,
    pub(crate) key: Option<String>,
    slice: String,
}

/// A rule on profiles that share a key, those of other managers included, with a grace period of 2 min.
pub(crate) fn group<K: Ord>(
    keys: fn(&ClusterProfile, &Hub) -> Vec<K>,
    check: fn(&K, &[&ClusterProfile], &Hub) -> Answer,
) -> Group<ClusterProfile, K> {
    Group {
        keys,
        check,
        grace: GRACE,
        same: |one, other| ptr::eq(one, other),
        fewest: 2,
        sure_after: 0,
        skips_terminating: false,
    }
}

/// A rule on slices that share a key, with a grace period of 30 s.
pub(crate) fn slice_group<K: Ord>(
    keys: fn(&PlacementDecision, &Hub) -> Vec<K>,
    check: fn(&K, &[&PlacementDecision], &Hub) -> Answer,
) -> Group<PlacementDecision, K> {
    Group {
        keys,
        check,
        grace: DECISION_GRACE,
        same: super::same_slice,
        fewest: 1,
        sure_after: RESTART,
        skips_terminating: false,
    }
}

/// A rule on all slices of one decision, with a grace period of 30 s.
pub(crate) fn decision(
    check: fn(&DecisionKey, &[&PlacementDecision], &Hub) -> Answer,
) -> Group<PlacementDecision, DecisionKey> {
    slice_group(|slice, _| vec![DecisionKey::of(slice)], check)
}

impl DecisionKey {
    pub(crate) fn of(slice: &PlacementDecision) -> Self {
        let id = DecisionId::of(slice);
        Self {
            namespace: id.namespace.to_owned(),
            scheduler: id.scheduler.to_owned(),
            key: id.key.map(str::to_owned),
            slice: id.slice.to_owned(),
        }
    }
}

impl<T, K> Group<T, K> {
    /// The parts that the functions read: `same` says whether two versions have the same ones.
    pub(crate) fn reads(self, same: fn(&T, &T) -> bool) -> Self {
        Self { same, ..self }
    }

    /// Applies to groups of one object as well.
    pub(crate) fn of_one(self) -> Self {
        Self { fewest: 1, ..self }
    }

    /// Applies to groups of several objects only.
    pub(crate) fn of_several(self) -> Self {
        Self { fewest: 2, ..self }
    }

    /// Does not judge a group while one of its objects waits for its finalizers: clients still read that object.
    pub(crate) fn unless_terminating(mut self) -> Self {
        self.skips_terminating = true;
        self
    }
}

impl<T: Judged, K: Ord + Clone> Group<T, K> {
    /// The objects that got a group's key after the window: they may end a violation that was open then. `members` are
    /// sorted.
    fn later_members<'e>(
        &self,
        hub: &Hub<'e>,
        comparable: &[&'e History<T>],
        touches: &Touches<'e>,
        members: &[KeyedHistory<'e, T, K>],
    ) -> Vec<KeyedHistory<'e, T, K>> {
        let later = T::later(&hub.evidence.later);
        if later.is_empty() {
            return Vec::new();
        }
        let in_window: HashMap<&str, &'e History<T>> = comparable
            .iter()
            .map(|history| (&*history.last().metadata().uid, *history))
            .collect();
        let is_group = |key: &K| members.binary_search_by(|(other, _)| other.cmp(key)).is_ok();
        let mut additions = Vec::new();
        for history in later {
            let earlier = in_window.get(&*history.first().metadata().uid).copied();
            let earlier_keys = earlier.map_or_else(Vec::new, |earlier| self.keys_of(earlier, touches, hub));
            let mut keys = self.keys_of(history, touches, hub);
            keys.retain(|key| is_group(key) && !earlier_keys.contains(key));
            additions.extend(keys.into_iter().map(|key| (key, earlier.unwrap_or(history))));
        }
        additions
    }

    /// The keys that an object had in any version before the run wrote to it, each of them once.
    fn keys_of(&self, history: &History<T>, touches: &Touches, hub: &Hub) -> Vec<K> {
        let mut keys = Vec::new();
        let mut last: Option<&T> = None;
        let versions = history
            .versions
            .iter()
            .filter(|version| compares(touches, version));
        for version in versions {
            if last.is_none_or(|last| !(self.same)(last, &version.object)) {
                keys.extend((self.keys)(&version.object, hub));
            }
            last = Some(&version.object);
        }
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// Judges the objects that have a key: those of other implementations in `context`, and the `judged` ones.
    fn judge<'e>(
        &self,
        hub: &Hub<'e>,
        key: &K,
        (context, judged): (&[&'e History<T>], &[&'e History<T>]),
        touches: &Touches,
        findings: &mut Findings,
    ) {
        let histories = &[context, judged].concat()[..];
        let timeline = Timeline::of_group(hub.evidence, histories, self.same);
        // A version is in many moments.
        let memberships: RefCell<HashMap<*const Version<T>, bool>> = RefCell::default();
        let is_member = |version: &Version<T>| {
            let has_key = || compares(touches, version) && self.has_key(key, version, hub);
            *memberships
                .borrow_mut()
                .entry(ptr::from_ref(version))
                .or_insert_with(has_key)
        };
        let mut answers = self.answers(hub, key, &timeline, (histories, context), &is_member);
        // Groups of several objects were examined where no other object had the key, too.
        if self.fewest == 1 && answers.iter().any(|answer| **answer != Answer::NotApplicable) {
            judged.iter().for_each(|_| findings.examine());
        }
        if !answers.iter().any(|answer| answer.is_wrong()) {
            return;
        }
        if !timeline.is_watched() && self.is_too_early(hub, histories) {
            findings.cannot_tell_unless_found(UNSETTLED);
            return;
        }
        if !timeline.is_watched() && self.sure_after > 0 {
            let warnings = answers.iter().map(|answer| Rc::new(answer.as_warning()));
            answers = warnings.collect();
        }
        let violations = Violations {
            hub,
            timeline: &timeline,
            histories,
            answers: &answers,
            is_member: &is_member,
            grace: self.grace,
            sure_after: self.sure_after,
            is_filled_later: false,
            counts_any_author: false,
        };
        violations.judge(findings);
    }

    fn answers<'e>(
        &self,
        hub: &Hub<'e>,
        key: &K,
        timeline: &Timeline<'e, T>,
        (histories, context): (&[&'e History<T>], &[&'e History<T>]),
        is_member: &dyn Fn(&Version<T>) -> bool,
    ) -> Vec<Rc<Answer>> {
        let mut answers: Vec<Rc<Answer>> = Vec::with_capacity(timeline.moments().len());
        let mut previous: Vec<&T> = Vec::new();
        let places: HashMap<&str, usize> = histories
            .iter()
            .enumerate()
            .map(|(place, history)| (&*history.last().metadata().uid, place))
            .collect();
        for place in 0..timeline.moments().len() {
            let objects = timeline.objects(place).unwrap_or_default();
            let members = objects.iter().filter(|version| is_member(version));
            let mut members: Vec<&T> = members.map(|version| &version.object).collect();
            put_in_order(&mut members, &places);
            if self.skips_terminating && self.has_terminating(key, objects, hub) {
                members.clear();
            }
            let is_same = |(one, other): (&&T, &&T)| {
                one.metadata().uid == other.metadata().uid && (self.same)(one, other)
            };
            let is_unchanged = members.len() == previous.len() && members.iter().zip(&previous).all(is_same);
            let answer = match answers.last().filter(|_| is_unchanged) {
                Some(answer) => Rc::clone(answer),
                None if members.len() < self.fewest.max(1) => Rc::new(Answer::NotApplicable),
                None => Rc::new(without_findings_on((self.check)(key, &members, hub), context)),
            };
            previous = members;
            answers.push(answer);
        }
        answers
    }

    /// Whether an object has the key and is not terminating.
    fn has_key(&self, key: &K, version: &Version<T>, hub: &Hub) -> bool {
        !version.object.is_terminating() && (self.keys)(&version.object, hub).contains(key)
    }

    fn has_terminating(&self, key: &K, objects: &[&Version<T>], hub: &Hub) -> bool {
        let mut objects = objects.iter().map(|version| &version.object);
        objects.any(|object| object.is_terminating() && (self.keys)(object, hub).contains(key))
    }

    fn is_too_early(&self, hub: &Hub, histories: &[&History<T>]) -> bool {
        let objects = histories.iter().map(|history| history.last());
        !is_settled(hub.evidence, objects, self.grace)
    }
}

/// An object and a key that it had.
type KeyedHistory<'e, T, K> = (K, &'e History<T>);

/// When the run first wrote to each object that it touched. The object is not compared from then on.
type Touches<'e> = HashMap<(&'e str, &'e str), Micros>;

fn compares<T: Judged>(touches: &Touches, version: &Version<T>) -> bool {
    let metadata = version.object.metadata();
    let touch = touches.get(&(&*metadata.namespace, &*metadata.name));
    touch.is_none_or(|touch| version.received().as_microsecond() < *touch)
}

/// Sorts objects by the places of their histories.
fn put_in_order<T: Judged>(objects: &mut [&T], places: &HashMap<&str, usize>) {
    objects.sort_by_key(|object| places.get(&*object.metadata().uid));
}

/// Sorts by key alone: members with equal keys keep their order.
fn sort_by_key<T, K: Ord>(members: &mut [KeyedHistory<T, K>]) {
    members.sort_by(|(one, _), (other, _)| one.cmp(other));
}

/// The answer without findings on objects of other implementations.
fn without_findings_on<T: Judged>(answer: Answer, context: &[&History<T>]) -> Answer {
    let is_on_context = |finding: &Finding| {
        context
            .iter()
            .any(|history| *history.last().metadata().uid == *finding.object.uid)
    };
    match answer {
        Answer::Warning(findings) | Answer::Broken(findings) if findings.iter().any(is_on_context) => {
            Answer::all(findings.into_iter().filter(|finding| !is_on_context(finding)))
        }
        answer => answer,
    }
}

impl<T: Judged, K: Ord + Clone + Send + Sync> Evaluate for Group<T, K> {
    fn evaluate(&self, hub: &Hub, findings: &mut Findings) {
        let judged_histories: HashSet<*const History<T>> = T::judged(hub)
            .iter()
            .flat_map(|object| &object.histories)
            .map(|history| ptr::from_ref(*history))
            .collect();
        let is_judged = |history: &History<T>| judged_histories.contains(&ptr::from_ref(history));
        let touches = T::judged(hub).iter();
        let touches = touches.filter_map(|object| Some((object.name(), object.first_touch?)));
        let touches: Touches = touches.collect();
        let comparable = T::comparable(hub);
        let mut members: Vec<KeyedHistory<T, K>> = Vec::new();
        for history in &comparable {
            let keys = self.keys_of(history, &touches, hub);
            if self.fewest > 1 && !keys.is_empty() && is_judged(history) {
                findings.examine();
            }
            members.extend(keys.into_iter().map(|key| (key, *history)));
        }
        sort_by_key(&mut members);
        let later = self.later_members(hub, &comparable, &touches, &members);
        if !later.is_empty() {
            members.extend(later);
            sort_by_key(&mut members);
        }
        for group in members.chunk_by(|(one, _), (other, _)| one == other) {
            if group.len() < self.fewest {
                continue;
            }
            let histories = group.iter().map(|(_, history)| *history);
            let (judged, context): (Vec<_>, Vec<_>) = histories.partition(|history| is_judged(history));
            if !judged.is_empty() {
                self.judge(hub, &group[0].0, (&context, &judged), &touches, findings);
            }
        }
    }

    fn judges_published_objects(&self) -> bool {
        true
    }
}
