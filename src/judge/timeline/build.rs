//! Builds a timeline from the arrivals (the versions and deletions of objects, as a watch or a list reported them) and the
//! gaps in the evidence.

use std::{ptr, vec};

use evidence::{Evidence, History, Origin, Tracked, Version};

use super::{Moment, ObservedChange, Timeline};
use crate::{
    hash::HashMap,
    time::{
        Edge, HubClock, LATE, Micros, SERVERS_APART, Set, WatchGaps, is_watched, new_stamp, put_in_order,
        stamp_of,
    },
};

/// A timeline while it is built.
pub(super) struct Build<'e, T> {
    evidence: &'e Evidence,
    arrivals: Arrivals<'e, T>,
    /// Whether a rule sees two versions as the same, so that the second one begins no moment.
    is_same: fn(&T, &T) -> bool,
    gaps: WatchGaps<'e>,
    timeline: Timeline<'e, T>,
    unobserved: Vec<(Micros, Micros)>,
    /// The present object of each name.
    present: Vec<Option<&'e Version<T>>>,
}

impl<'e, T: Tracked> Build<'e, T> {
    pub(super) fn new(
        evidence: &'e Evidence,
        names: &[(&'e str, &'e str)],
        histories: &[&'e History<T>],
        is_same: fn(&T, &T) -> bool,
    ) -> Self {
        let arrivals = Arrivals::of(evidence, names, histories);
        let is_watched = is_watched::<T>(evidence);
        let gaps = is_watched.then(|| WatchGaps::of::<T>(evidence, arrivals.names.iter().copied()));
        Self {
            present: vec![None; arrivals.names.len()],
            evidence,
            arrivals,
            is_same,
            gaps: gaps.unwrap_or_default(),
            timeline: Timeline {
                moments: Vec::new(),
                changes: Vec::new(),
                unobserved: Set::default(),
                end: Micros::MAX,
                window_end: None,
                is_watched,
                cut: None,
            },
            unobserved: Vec::new(),
        }
    }

    /// The timeline of a name, or of a group. In a group, an object that was deleted before the first list may have changed
    /// the group since the last write to any other one. In a name, that write dates what the first list shows.
    pub(super) fn build(mut self, is_group: bool) -> Timeline<'e, T> {
        let Some(window) = self.evidence.header.window.filter(|_| self.timeline.is_watched) else {
            return self.snapshot();
        };
        let mut arrivals = self.arrivals.all.iter();
        let last_listed = arrivals.rfind(|arrival| arrival.is_listed && !is_group);
        let last_write = last_listed.and_then(|arrival| self.arrivals.last_write(arrival));
        self.set_end(window.until.as_microsecond(), is_group);
        let end = self.timeline.end;
        let mut arrivals = std::mem::take(&mut self.arrivals.all);
        arrivals.retain(|arrival| !arrival.is_later || self.timeline.window_end.is_some());
        self.push(Edge::at(Micros::MIN), Micros::MIN, false);
        let listed = arrivals.iter().filter(|arrival| arrival.is_listed);
        match listed.map(|arrival| arrival.at).max() {
            Some(read_by) => {
                let rest = arrivals.split_off(arrivals.partition_point(|arrival| arrival.at <= read_by));
                let since = self.arrivals.listed_edge(&arrivals, read_by);
                let latest = last_write.map_or(read_by, |write| write.min(read_by));
                self.apply_all(arrivals);
                self.push(Edge::between(since.earliest, latest), read_by, true);
                arrivals = rest;
            }
            None => self.begin_empty(window.from.as_microsecond(), arrivals.first()),
        }
        self.push_batches(arrivals.into_iter());
        self.hide_while_empty(end);
        if let Some((from, _)) = self.gaps.before(end) {
            self.hide(from, end);
        }
        self.finish()
    }

    /// All objects, as they are, from the beginning to the end: a dump or a single list has no history.
    fn snapshot(mut self) -> Timeline<'e, T> {
        let arrivals = std::mem::take(&mut self.arrivals.all);
        self.apply_all(arrivals);
        self.push(Edge::at(Micros::MIN), Micros::MIN, true);
        self.timeline
    }

    /// The run watched on after the window if it waited for all objects that existed when the window ended. Of a group, a gap at
    /// the end of the window may hide others.
    fn set_end(&mut self, window_end: Micros, is_group: bool) {
        self.timeline.end = window_end;
        let Some(settled) = self.evidence.header.settled else {
            return;
        };
        let (names, evidence) = (&self.arrivals.names, self.evidence);
        let was_awaited = |(namespace, name): &(&str, &str)| evidence.was_awaited::<T>(namespace, name);
        let mut exists = vec![false; names.len()];
        for arrival in self.arrivals.all.iter().filter(|arrival| !arrival.is_later) {
            exists[arrival.slot] = arrival.version.is_some();
        }
        let mut in_the_end = names.iter().zip(exists);
        let is_any_hidden = is_group && self.gaps.before(window_end.saturating_add(1)).is_some();
        let is_any_missed = is_any_hidden || in_the_end.any(|(name, exists)| exists && !was_awaited(name));
        let until = settled.until.as_microsecond();
        if until > window_end && names.iter().any(was_awaited) && !is_any_missed {
            self.timeline.end = until;
            self.timeline.window_end = Some(window_end);
        }
    }

    /// The first list showed no object of the timeline, unless the window begins with a gap.
    fn begin_empty(&mut self, window_from: Micros, first: Option<&ObjectArrival<'e, T>>) {
        let start = self.gaps.before(window_from.saturating_add(1));
        let start = start.map_or(window_from, |(_, until)| until);
        if start < self.timeline.end && first.is_none_or(|first| first.at > start) {
            self.push(Edge::between(Micros::MIN, start), start, true);
        }
    }

    /// Adds what arrived after the first list. All that arrives in one gap is one moment.
    fn push_batches(&mut self, arrivals: vec::IntoIter<ObjectArrival<'e, T>>) {
        let mut arrivals = arrivals.peekable();
        while let Some(first) = arrivals.next() {
            self.hide_while_empty(first.at.saturating_sub(1));
            let gap = self.gaps.before(first.at);
            let until = gap.map_or(first.at, |(_, until)| until);
            let mut batch = vec![first];
            while let Some(next) = arrivals.next_if(|next| next.at <= until) {
                batch.push(next);
            }
            if let Some((from, _)) = gap {
                self.push_after_gap(from, batch);
            } else if put_in_hub_order(&mut batch) {
                batch.into_iter().for_each(|arrival| self.push_change(arrival));
            } else {
                self.push_unordered(batch);
            }
        }
    }

    /// Adds one change that the watch reported.
    fn push_change(&mut self, arrival: ObjectArrival<'e, T>) {
        let versions = arrival.before.zip(arrival.version);
        let is_terminating = |version: &Version<T>| version.object.metadata().deletion_timestamp.is_some();
        let is_same = |(before, after): (&Version<T>, &Version<T>)| {
            is_terminating(before) == is_terminating(after) && (self.is_same)(&before.object, &after.object)
        };
        if versions.is_some_and(is_same) {
            return;
        }
        let (since, seen_at) = (arrival.edge(), arrival.at);
        self.record(&arrival, false);
        self.apply(arrival);
        self.push(since, seen_at, true);
    }

    /// Adds changes that arrived after the watch was interrupted. Changes on their way at that time were lost, too. An older
    /// server timestamp shows that the watch was later than usual.
    fn push_after_gap(&mut self, from: Micros, batch: Vec<ObjectArrival<'e, T>>) {
        let seen_at = batch[batch.len() - 1].at;
        let oldest = batch.iter().filter_map(|arrival| arrival.stamp).min();
        let begin = self.timeline.moments.last().map(|last| last.since.earliest);
        let oldest = oldest.map(|oldest| oldest.max(begin.unwrap_or(oldest)));
        let lost = oldest.unwrap_or(from).min(from.saturating_sub(LATE));
        self.hide_since(lost, from, seen_at);
        batch.iter().for_each(|arrival| self.record(arrival, true));
        self.apply_all(batch);
        self.push(Edge::between(lost, seen_at), seen_at, true);
    }

    /// Adds changes of unknown order that arrived together: the objects between the first and the last are unknown.
    fn push_unordered(&mut self, batch: Vec<ObjectArrival<'e, T>>) {
        let seen_at = batch[0].at;
        let earliest = batch.iter().map(|arrival| arrival.edge().earliest).min();
        let since = Edge::between(earliest.unwrap_or(seen_at), seen_at);
        self.unobserved.push((since.earliest, since.latest));
        self.push(since, seen_at, false);
        batch.iter().for_each(|arrival| self.record(arrival, false));
        self.apply_all(batch);
        self.push(since, seen_at, true);
    }

    /// Adds the gaps up to a moment while there is no object: one may have been created and deleted in each.
    fn hide_while_empty(&mut self, until: Micros) {
        let Some(last) = self.timeline.moments.last().filter(|last| last.is_observed()) else {
            return;
        };
        if self.present.iter().any(Option::is_some) {
            return;
        }
        let since = last.seen_at.saturating_add(1);
        for (from, until) in self.gaps.ending_in(since, until).to_vec() {
            self.hide(from, until);
            self.push(Edge::between(from.saturating_sub(LATE), until), until, true);
        }
    }

    /// Adds a gap. What was on its way when it began was lost.
    fn hide(&mut self, from: Micros, until: Micros) {
        self.hide_since(from.saturating_sub(LATE), from, until);
    }

    /// Adds a gap. What was written since `lost` was on its way.
    fn hide_since(&mut self, lost: Micros, from: Micros, until: Micros) {
        self.unobserved.push((lost, until));
        let last = self.timeline.moments.last();
        let seen_at = last.map_or(from, |last| last.seen_at.max(from));
        self.push(Edge::between(lost, until), seen_at.min(until), false);
    }

    fn push(&mut self, since: Edge, seen_at: Micros, is_observed: bool) {
        self.timeline.moments.push(Moment {
            since,
            seen_at,
            objects: is_observed.then(|| self.present.iter().flatten().copied().collect()),
        });
    }

    fn apply_all(&mut self, batch: Vec<ObjectArrival<'e, T>>) {
        for arrival in batch {
            self.apply(arrival);
        }
    }

    /// Makes an arrival present. A new object of a name replaces the one before it, whose deletion changes nothing then.
    fn apply(&mut self, arrival: ObjectArrival<'e, T>) {
        let uid: fn(&'e Version<T>) -> &'e str = |version| &version.object.metadata().uid;
        let present = &mut self.present[arrival.slot];
        if arrival.version.is_some() || present.map(uid) == arrival.before.map(uid) {
            *present = arrival.version;
        }
    }

    /// Records the change that an arrival is, which begins the next moment.
    fn record(&mut self, arrival: &ObjectArrival<'e, T>, is_over_gap: bool) {
        let origin = arrival.history.origin;
        let is_creation = arrival.before.is_none();
        if is_creation && origin == Origin::Listed {
            return;
        }
        self.timeline.changes.push(ObservedChange {
            history: arrival.history,
            before: arrival.before,
            after: arrival.version,
            at: arrival.edge(),
            seen_at: arrival.at,
            is_over_gap: is_over_gap || (is_creation && origin == Origin::Relisted),
            place: self.timeline.moments.len(),
        });
    }

    fn finish(mut self) -> Timeline<'e, T> {
        let mut timeline = self.timeline;
        put_in_order(timeline.moments.iter_mut().map(|moment| &mut moment.since));
        for change in &mut timeline.changes {
            let moment = &timeline.moments[change.place];
            (change.at, change.seen_at) = (moment.since, moment.seen_at);
        }
        let first = timeline.moments.iter().find(|moment| moment.is_observed());
        let begins = first.map_or(timeline.end, |first| first.since.latest);
        self.unobserved.push((Micros::MIN, begins));
        timeline.unobserved = Set::of(self.unobserved);
        timeline
    }
}

/// A version or a deletion of one object.
struct ObjectArrival<'e, T> {
    /// When the run received it.
    at: Micros,
    /// The place of the object's name among the names of the timeline.
    slot: usize,
    /// The number in the resourceVersion, which orders all writes to objects of a kind.
    order: Option<u64>,
    history: &'e History<T>,
    /// The version before; none for the first one.
    before: Option<&'e Version<T>>,
    /// None for the deletion.
    version: Option<&'e Version<T>>,
    /// The earliest moment at which the API server can have made it, by its timestamps.
    stamp: Option<Micros>,
    is_listed: bool,
    /// Whether the run waited for it after the window.
    is_later: bool,
}

/// All arrivals of the objects of a timeline, in order.
struct Arrivals<'e, T> {
    names: Vec<(&'e str, &'e str)>,
    all: Vec<ObjectArrival<'e, T>>,
    clock: HubClock,
}

impl<T> ObjectArrival<'_, T> {
    /// When the API server made it. A new server timestamp is the lower bound, also if it shows a watch that is very late.
    fn edge(&self) -> Edge {
        let earliest = self.stamp.unwrap_or(self.at.saturating_sub(LATE));
        Edge::between(earliest, self.at)
    }
}

impl<'e, T: Tracked> Arrivals<'e, T> {
    /// The arrivals of the objects of these names.
    fn of(evidence: &'e Evidence, names: &[(&'e str, &'e str)], histories: &[&'e History<T>]) -> Self {
        let mut arrivals = Self {
            names: Vec::new(),
            all: Vec::new(),
            clock: HubClock::of(evidence),
        };
        let mut slots: HashMap<(&str, &str), usize> = HashMap::default();
        for name in names {
            slots.entry(*name).or_insert_with(|| {
                arrivals.names.push(*name);
                arrivals.names.len() - 1
            });
        }
        let mut of_slot: Vec<Vec<&'e History<T>>> = vec![Vec::new(); arrivals.names.len()];
        let later = T::later(&evidence.later).as_ptr_range();
        for history in histories {
            let metadata = history.first().metadata();
            let slot = slots[&(&*metadata.namespace, &*metadata.name)];
            if !later.contains(&ptr::from_ref(*history)) {
                of_slot[slot].push(history);
            }
        }
        for (slot, histories) in of_slot.iter_mut().enumerate() {
            histories.sort_by_key(|history| history.versions[0].received());
            let first = arrivals.all.len();
            arrivals.add_histories(evidence, slot, histories);
            let of_name = arrivals.all[first..].iter();
            let stamps = of_name.filter_map(|arrival| Some((arrival.stamp?, arrival.at)));
            arrivals.clock = arrivals.clock.unless_contradicted(stamps);
        }
        if arrivals.clock == HubClock::UNKNOWN {
            arrivals.all.iter_mut().for_each(|arrival| arrival.stamp = None);
        }
        arrivals.all.sort_by_key(|arrival| arrival.at);
        arrivals.distrust_late_ones();
        arrivals
    }

    /// A server timestamp that is older than a watch is late shows that the watch was as late for the changes before.
    fn distrust_late_ones(&mut self) {
        let mut oldest = vec![Micros::MAX; self.names.len()];
        for arrival in self.all.iter_mut().rev() {
            match arrival.stamp {
                Some(stamp) => oldest[arrival.slot] = stamp.min(oldest[arrival.slot]),
                None if oldest[arrival.slot] < arrival.at.saturating_sub(LATE) => {
                    arrival.stamp = Some(Micros::MIN);
                }
                None => {}
            }
        }
    }

    /// Adds the objects of one name, and what was seen of the name after the window.
    fn add_histories(&mut self, evidence: &'e Evidence, slot: usize, histories: &[&'e History<T>]) {
        for history in histories {
            self.add(slot, history, None, false);
        }
        if !is_watched::<T>(evidence) {
            return;
        }
        let (namespace, name) = self.names[slot];
        let last = histories.last().filter(|history| history.deleted.is_none());
        for history in evidence.later_of::<T>(namespace, name) {
            let is_same = |last: &&&History<T>| last.last().metadata().uid == history.first().metadata().uid;
            let before = last.filter(is_same).and_then(|last| last.versions.last());
            self.add(slot, history, before, true);
        }
    }

    /// Adds an object. One that outlasted the window begins with a copy of its `last` version.
    fn add(&mut self, slot: usize, history: &'e History<T>, last: Option<&'e Version<T>>, is_later: bool) {
        let resource_version = |version: &'e Version<T>| &*version.object.metadata().resource_version;
        let mut before = last;
        for (place, version) in history.versions.iter().enumerate() {
            if place == 0 && before.is_some_and(|last| resource_version(last) == resource_version(version)) {
                continue;
            }
            self.all.push(ObjectArrival {
                at: version.received().as_microsecond(),
                slot,
                order: resource_version(version).parse().ok(),
                history,
                before,
                version: Some(version),
                stamp: stamp_of(self.clock, before.map(|before| &before.object), &version.object),
                is_listed: before.is_none() && history.origin == Origin::Listed,
                is_later,
            });
            before = Some(version);
        }
        if let Some(deleted) = history.deleted {
            let version = history.deleted_version.as_deref();
            self.all.push(ObjectArrival {
                at: deleted.as_microsecond(),
                slot,
                order: version.and_then(|version| version.parse().ok()),
                history,
                before,
                version: None,
                stamp: None,
                is_listed: false,
                is_later,
            });
        }
    }

    /// When the objects of the first list became what it shows: not before the last of them was created.
    fn listed_edge(&self, arrivals: &[ObjectArrival<'e, T>], read_by: Micros) -> Edge {
        let stamps = arrivals.iter().filter_map(|arrival| {
            let creation = arrival.version?.object.metadata().creation_timestamp.as_deref()?;
            self.clock.earliest(creation)
        });
        let earliest = stamps.max().unwrap_or(Micros::MIN);
        Edge::between(earliest.saturating_sub(SERVERS_APART), read_by)
    }

    /// By when the API server had made the last write to an object of the first list, by the newest time in its
    /// managedFields, or its creation. An object that was restored from a backup may have older managedFields.
    fn last_write(&self, arrival: &ObjectArrival<'e, T>) -> Option<Micros> {
        let object = &arrival.version?.object;
        let newest = new_stamp(None, object)?;
        let creation = object.metadata().creation_timestamp.as_deref();
        self.clock.latest(newest.max(creation.unwrap_or_default()))
    }
}

/// Sorts arrivals of one moment into the order of the hub, if their resourceVersions have one. Arrivals of one name are in
/// order already.
fn put_in_hub_order<T>(batch: &mut [ObjectArrival<'_, T>]) -> bool {
    if batch.iter().all(|arrival| arrival.slot == batch[0].slot) {
        return true;
    }
    let is_ordered = batch.iter().all(|arrival| arrival.order.is_some());
    if is_ordered {
        batch.sort_by_key(|arrival| arrival.order);
    }
    is_ordered
}
