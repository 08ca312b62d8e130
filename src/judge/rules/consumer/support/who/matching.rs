//! Which requests of a log may be a step that the watch saw.

use std::{
    cell::{OnceCell, RefCell},
    rc::Rc,
};

use evidence::{Evidence, Request};
use jiff::Timestamp;

use super::logged::{Judged, Key, Logged, creates, events, served_at};
use crate::{
    hash::HashMap,
    rules::consumer::support::time::{LATE, Micros},
    shared::status::has_status_subresource,
};

/// Parts of an object, a bit each. Those that have no name here share one.
pub(super) type Parts = u8;

const PARTS: [&str; 6] = [
    "status",
    "spec",
    "metadata.labels",
    "metadata.annotations",
    "decisions",
    "schedulerName",
];
const STATUS: Parts = 1;
const OTHERS: Parts = 1 << PARTS.len();

/// The part in which a field is.
pub(super) fn part_of(field: &str) -> Parts {
    let is_in = |part: &str| {
        let rest = field.strip_prefix(part);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    let place = PARTS.iter().position(|part| is_in(part));
    place.map_or(OTHERS, |place| 1 << place)
}

/// The parts in which two versions of an object differ.
pub(super) fn changed<T: Judged>(before: &T, after: &T) -> Parts {
    let (old, new) = (before.metadata(), after.metadata());
    let metadata = [
        ("metadata.labels", old.labels != new.labels),
        ("metadata.annotations", old.annotations != new.annotations),
    ];
    let differ = before.differs(after).into_iter().chain(metadata);
    let parts = differ.filter(|(_, differ)| *differ);
    match parts.fold(0, |parts, (part, _)| parts | part_of(part)) {
        0 => OTHERS,
        parts => parts,
    }
}

/// The parts that a write may have changed: those that a patch names, of those that its endpoint takes.
fn sent(request: &Request, has_status: bool) -> Parts {
    let body = request.body.as_ref().filter(|_| &*request.verb == "patch");
    let named = body.map_or(Parts::MAX, |body| {
        body.parts.iter().fold(0, |parts, part| parts | part_of(part))
    });
    match &*request.subresource {
        "" if has_status => named & !STATUS,
        "" => named,
        _ => named & STATUS | OTHERS,
    }
}

/// The updates and patches that a log has, and the steps that the watch saw.
pub(super) struct Matching<'e, T> {
    evidence: &'e Evidence,
    objects: OnceCell<Logged<'e, T>>,
    writes: OnceCell<HashMap<Key<'e>, Vec<&'e Request>>>,
    known: RefCell<HashMap<Key<'e>, Rc<OfName<'e>>>>,
}

/// Those of one name, by the runner's clock, in order.
struct OfName<'e> {
    steps: Vec<(Micros, Parts)>,
    writes: Vec<(Micros, Parts, &'e Request)>,
}

impl<'e, T: Judged> Matching<'e, T> {
    pub(super) fn of(evidence: &'e Evidence) -> Self {
        Self {
            evidence,
            objects: OnceCell::new(),
            writes: OnceCell::new(),
            known: RefCell::default(),
        }
    }

    /// The requests that may have changed such parts of an object as the watch saw at that time. None if the watch saw more
    /// such steps around than the log has requests: it lacks some, so that any may be of a request that it lacks.
    pub(super) fn requests(&self, key: Key<'e>, seen: Timestamp, parts: Parts) -> Vec<&'e Request> {
        let of_name = self.of_name(key);
        let OfName { steps, writes } = &*of_name;
        let seen = seen.as_microsecond();
        let at = |(at, ..): &(Micros, Parts, &Request)| *at;
        let may_be = |(_, sent, _): &&(Micros, Parts, &Request)| sent & parts != 0;
        let near: Vec<_> = within(writes, at, (seen, seen)).iter().filter(may_be).collect();
        let (Some(first), Some(last)) = (near.first(), near.last()) else {
            return Vec::new();
        };
        let rivals = within(steps, |(at, _)| *at, (first.0, last.0)).iter();
        let rivals: Vec<_> = rivals.filter(|(_, changed)| changed & parts != 0).collect();
        let (from, until) = rivals
            .first()
            .zip(rivals.last())
            .map_or((seen, seen), |(one, other)| (one.0, other.0));
        if within(writes, at, (from, until)).iter().filter(may_be).count() < rivals.len() {
            return Vec::new();
        }
        near.into_iter().map(|(_, _, request)| *request).collect()
    }

    fn of_name(&self, key: Key<'e>) -> Rc<OfName<'e>> {
        let mut known = self.known.borrow_mut();
        let of_name = known.entry(key).or_insert_with(|| Rc::new(self.read(key)));
        Rc::clone(of_name)
    }

    fn read(&self, key: Key<'e>) -> OfName<'e> {
        let objects = self.objects.get_or_init(|| Logged::of(self.evidence));
        let steps = objects.histories(key).iter().flat_map(|history| history.steps());
        let steps = steps.map(|(before, after)| {
            let changed = changed(&before.object, &after.object);
            (after.received().as_microsecond(), changed)
        });
        let has_status = has_status_subresource(self.evidence);
        let writes = self.writes.get_or_init(|| updates::<T>(self.evidence));
        let writes = writes.get(&key).into_iter().flatten().map(|request| {
            let sent = sent(request, has_status);
            (served_at(self.evidence, request), sent, *request)
        });
        let (mut steps, mut writes): (Vec<_>, Vec<_>) = (steps.collect(), writes.collect());
        steps.sort_by_key(|(at, _)| *at);
        writes.sort_by_key(|(at, ..)| *at);
        OfName { steps, writes }
    }
}

/// The updates and patches of a log that may have changed something, by name.
fn updates<T: Judged>(evidence: &Evidence) -> HashMap<Key<'_>, Vec<&Request>> {
    let mut updates: HashMap<Key, Vec<&Request>> = HashMap::default();
    let may_change = |request: &&Request| {
        let is_update = matches!(&*request.verb, "update" | "patch") && !creates(request);
        is_update && request.is_write() && request.changed != Some(false)
    };
    for request in events::<T>(evidence).filter(may_change) {
        updates
            .entry((&request.namespace, &request.name))
            .or_default()
            .push(request);
    }
    updates
}

/// Those of a sorted list whose time is not further from a span than the watch may be late.
fn within<V>(all: &[V], at: impl Fn(&V) -> Micros, (from, until): (Micros, Micros)) -> &[V] {
    let first = all.partition_point(|one| at(one) < from.saturating_sub(LATE));
    let end = all.partition_point(|one| at(one) <= until.saturating_add(LATE));
    &all[first..end.max(first)]
}
