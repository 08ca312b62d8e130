//! The writes to the objects of one name, from the audit log or the watch.

use std::{cell::OnceCell, ptr};

use evidence::Requests;

use super::{CountedWrites, ObjectWrite, WriteSource, Writes};
use crate::{
    engine::{
        author::{creates, is_touched},
        judged::{key, object_named},
        prelude::*,
    },
    time::{is_watched, skew},
};

/// How far the time of a request in the audit log may be from the write: API servers have different clocks.
const LOG_ERROR: Micros = SECOND;

/// How late a watch usually is, at most.
const USUAL_DELAY: Micros = SECOND;

pub(super) struct WritesToName<'h, 'e, T> {
    pub(super) hub: &'h Hub<'e>,
    pub(super) name: (&'e str, &'e str),
    /// What the watch or a list shows; none if only the audit log knows the name.
    object: Option<&'h JudgedObject<'e, T>>,
    /// The successful writes in the audit log, or the refused ones, without those of the suite, in order.
    pub(super) requests: Vec<&'e Request>,
}

/// All judged names with writes, those that only the audit log knows last.
pub(super) fn writes_by_name<'h, 'e, T: Judged>(
    hub: &'h Hub<'e>,
    count: CountedWrites,
) -> Vec<WritesToName<'h, 'e, T>> {
    let evidence = hub.evidence;
    let log = T::log(evidence).filter(|_| count != CountedWrites::Observed);
    let mut requests: BTreeMap<(&str, &str), Vec<&Request>> = BTreeMap::new();
    for request in log.iter().flat_map(|log| &log.events) {
        let name = request.namespace_and_name();
        let is_of_sort = if count == CountedWrites::Refused {
            request.is_refused()
        } else {
            request.is_write()
        };
        if is_of_sort && !request.is_the_suites() && !name.1.is_empty() {
            requests.entry(name).or_default().push(request);
        }
    }
    let ahead = skew(evidence);
    let mut names: Vec<WritesToName<T>> = Vec::new();
    for object in T::in_scope(hub) {
        let mut of_name = requests.remove(&object.name()).unwrap_or_default();
        // Whatever the run does to an object, a refused request need not be repeated.
        if let Some(touch) = object.first_touch.filter(|_| count != CountedWrites::Refused) {
            of_name.retain(|request| request.at.as_microsecond() - ahead < touch);
        }
        names.push(WritesToName {
            hub,
            name: object.name(),
            object: Some(object),
            requests: of_name,
        });
    }
    let scope = &evidence.header.scope;
    let watched_names: HashSet<(&str, &str)> = T::histories(evidence).iter().map(key).collect();
    // An object that only the log knows may be another publisher's.
    requests.retain(|name, _| {
        scope.publisher(T::ROLE).is_none()
            && scope.holds_namespace(name.0)
            && !watched_names.contains(name)
            && !is_touched(evidence, T::ROLE.objects(), *name)
    });
    names.extend(requests.into_iter().map(|(name, requests)| WritesToName {
        hub,
        name,
        object: None,
        requests,
    }));
    names
}

impl<'h, 'e, T: Judged> WritesToName<'h, 'e, T> {
    /// The objects that the watch or a list shows, in order.
    fn histories(&self) -> &'h [&'e History<T>] {
        self.object.map_or(&[], |object| &object.histories)
    }

    /// The last object of the name.
    pub(super) fn object(&self) -> ObjectRef {
        match self.histories().last() {
            Some(history) => history.last().object_ref(),
            None => object_named(T::KIND, self.name),
        }
    }

    /// Whether a version that arrived then is judged.
    pub(super) fn judges(&self, arrival: Timestamp) -> bool {
        self.object.is_none_or(|object| object.judges(arrival))
    }

    pub(super) fn of_each_object(&'h self, count: CountedWrites) -> Vec<Writes<'h, 'e, T>> {
        let writes = |source, history, writes| Writes {
            writes_to_name: self,
            count,
            source,
            history,
            writes,
            field: None,
        };
        if self.is_logged(count) {
            let last = self.histories().last().copied();
            let lists = self.logged_writes(count).into_iter();
            let lists = lists.map(|list| writes(WriteSource::AuditLog, last, list));
            return lists.collect();
        }
        let watched = self.object.filter(|_| is_watched::<T>(self.hub.evidence));
        let timelines = watched.map(|object| (object.timeline(self.hub), &object.histories));
        let lists = timelines.iter().flat_map(|(timeline, histories)| {
            let of_history = |history: &&'e History<T>| observed_writes(timeline, history, count);
            histories
                .iter()
                .map(move |history| writes(WriteSource::Watch, Some(*history), of_history(history)))
        });
        lists.collect()
    }

    /// Whether the audit log is the source: it covers the window, and has at least as many writes as the watch.
    fn is_logged(&self, count: CountedWrites) -> bool {
        let Some(log) = T::log(self.hub.evidence) else {
            return false;
        };
        match count {
            CountedWrites::Observed => return false,
            CountedWrites::Logged | CountedWrites::Refused => return true,
            CountedWrites::Status | CountedWrites::Changing if !is_watched::<T>(self.hub.evidence) => {
                return true;
            }
            CountedWrites::Status | CountedWrites::Changing => {}
        }
        let requests = self.requests.iter().filter(|request| is_counted(request, count));
        let is_each_answered =
            count == CountedWrites::Status || requests.clone().all(|request| request.changed.is_some());
        is_each_answered
            && covers_window(self.hub.evidence, log)
            && requests.count() >= self.observed_steps(count)
    }

    /// How many writes the watch observed.
    fn observed_steps(&self, count: CountedWrites) -> usize {
        let steps = self.histories().iter().flat_map(|history| history.steps());
        let judged_steps = steps.filter(|(_, after)| self.judges(after.received()));
        judged_steps
            .filter(|(before, after)| is_counted_step(before, after, count))
            .count()
    }

    /// Whether the watch missed writes to an object: it changed over a gap, or the evidence ends in one.
    pub(super) fn has_unobserved_writes(&self, history: &'e History<T>) -> bool {
        let has_gaps = self.hub.evidence.gaps(T::WATCHED).next().is_some();
        let Some(object) = self.object.filter(|_| has_gaps) else {
            return false;
        };
        let timeline = object.timeline(self.hub);
        let mut changes = timeline.changes();
        let is_over_gap = changes.any(|change| change.is_over_gap && ptr::eq(change.history, history));
        let ends_unobserved = timeline.moments().last().is_some_and(|last| !last.is_observed());
        is_over_gap || (ends_unobserved && history.deleted.is_none())
    }

    /// The writes to each object in the audit log, at least one object. Only a creation begins a new object: a deletion may
    /// wait for finalizers, or meet nothing.
    fn logged_writes(&self, count: CountedWrites) -> Vec<Vec<ObjectWrite<'e, T>>> {
        let creations = self.creations();
        let mut objects: Vec<Vec<ObjectWrite<'e, T>>> = vec![Vec::new(); creations.len() + 1];
        for request in self.requests.iter().filter(|request| is_counted(request, count)) {
            let at = request.at.as_microsecond();
            let place = creations.partition_point(|creation| *creation <= at);
            objects[place].push(ObjectWrite {
                at: Edge::between(at.saturating_sub(LOG_ERROR), at.saturating_add(LOG_ERROR)),
                likely_at: Edge::at(at),
                reported: at,
                request: Some(request),
                change: None,
                changed_fields: OnceCell::new(),
            });
        }
        objects.retain(|writes| !writes.is_empty());
        if objects.is_empty() {
            objects.push(Vec::new());
        }
        objects
    }

    /// When objects of the name were created, by the hub's clock. An audit policy may leave creations out.
    fn creations(&self) -> Vec<Micros> {
        let is_creation = |request: &&&Request| request.is_write() && creates(request);
        let log_times = self.requests.iter().filter(is_creation);
        let log_times = log_times.map(|request| request.at.as_microsecond());
        let object_times = self.histories().iter().filter_map(|history| {
            let timestamp = history.last().metadata().creation_timestamp.as_deref()?;
            Some(parse_time(timestamp)?.as_microsecond())
        });
        let mut creations: Vec<Micros> = log_times.chain(object_times).collect();
        creations.sort_unstable();
        creations
    }
}

fn observed_writes<'e, T: Judged>(
    timeline: &Timeline<'e, T>,
    history: &'e History<T>,
    count: CountedWrites,
) -> Vec<ObjectWrite<'e, T>> {
    let changes = timeline.changes();
    let of_history = changes.filter(|change| ptr::eq(change.history, history));
    let writes = of_history.filter_map(|change| {
        let (before, after) = change.before.zip(change.after)?;
        let usual = change.seen_at.saturating_sub(USUAL_DELAY);
        is_counted_step(before, after, count).then_some(ObjectWrite {
            at: Edge::between(change.at.earliest.min(usual), change.at.latest),
            likely_at: Edge::between(usual, change.seen_at),
            reported: change.seen_at,
            request: None,
            change: Some(change.clone()),
            changed_fields: OnceCell::new(),
        })
    });
    writes.collect()
}

fn is_counted(request: &Request, count: CountedWrites) -> bool {
    let is_update = matches!(&*request.verb, "update" | "patch") && !creates(request);
    match count {
        CountedWrites::Status => request.is_status_write(),
        CountedWrites::Changing => is_update && request.changed != Some(false),
        CountedWrites::Logged => is_update || creates(request),
        CountedWrites::Refused => true,
        CountedWrites::Observed => false,
    }
}

fn is_counted_step<T: Judged>(before: &Version<T>, after: &Version<T>, count: CountedWrites) -> bool {
    match count {
        CountedWrites::Status => after.object.has_other_status(&before.object),
        CountedWrites::Changing | CountedWrites::Observed => true,
        CountedWrites::Logged | CountedWrites::Refused => false,
    }
}

/// Whether an audit log without a gap covers the window.
fn covers_window(evidence: &Evidence, log: &Requests) -> bool {
    let ahead = skew(evidence);
    let [from, until] = [log.covers.from, log.covers.until].map(|at| at.as_microsecond() - ahead);
    let covers = |window: evidence::Window| {
        let end = end(evidence).unwrap_or_default();
        from <= window.from.as_microsecond() + SECOND && until >= end - SECOND
    };
    evidence.is_whole(Kind::Requests) && evidence.header.window.is_none_or(covers)
}
