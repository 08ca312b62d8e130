//! Builds a timeline from the arrivals and the gaps in the evidence.

use std::vec;

use evidence::{Evidence, History, Origin, Tracked, Version};

use super::{
    Moment, Timeline,
    arrival::{Arrival, Arrivals, put_in_hub_order},
};
use crate::time::{Edge, Gaps, LATE, Micros, Set, is_watched, put_in_order};

/// A change, and the place of the moment that it began.
pub(super) struct ChangeRecord<'e, T> {
    pub(super) life: &'e History<T>,
    pub(super) before: Option<&'e Version<T>>,
    pub(super) after: Option<&'e Version<T>>,
    pub(super) place: usize,
    pub(super) is_over_gap: bool,
}

/// A timeline while it is built.
pub(super) struct Build<'e, T> {
    evidence: &'e Evidence,
    arrivals: Arrivals<'e, T>,
    /// Whether a rule sees two versions as the same, so that the second one begins no moment.
    is_same: fn(&T, &T) -> bool,
    gaps: Gaps<'e>,
    timeline: Timeline<'e, T>,
    unobserved: Vec<(Micros, Micros)>,
    /// The present object of each name.
    present: Vec<Option<&'e Version<T>>>,
}

impl<'e, T: Tracked> Build<'e, T> {
    pub(super) fn new(
        evidence: &'e Evidence,
        arrivals: Arrivals<'e, T>,
        is_same: fn(&T, &T) -> bool,
    ) -> Self {
        let is_watched = is_watched::<T>(evidence);
        let gaps = if is_watched {
            Gaps::of::<T>(evidence, arrivals.names.iter().copied())
        } else {
            Gaps::default()
        };
        Self {
            present: vec![None; arrivals.names.len()],
            evidence,
            arrivals,
            is_same,
            gaps,
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
        let listed = self
            .arrivals
            .all
            .iter()
            .rfind(|arrival| arrival.is_listed && !is_group);
        let last_write = listed.and_then(|listed| self.arrivals.last_write(listed));
        self.set_end(window.until.as_microsecond());
        let end = self.timeline.end;
        let mut arrivals = std::mem::take(&mut self.arrivals.all);
        arrivals.retain(|arrival| !arrival.is_later || self.timeline.window_end.is_some());
        self.push(Edge::at(Micros::MIN), Micros::MIN, false);
        let listed = arrivals.iter().filter(|arrival| arrival.is_listed);
        match listed.map(|arrival| arrival.at).max() {
            Some(read_by) => {
                let rest = arrivals.split_off(arrivals.partition_point(|arrival| arrival.at <= read_by));
                let since = self.arrivals.listed_edge(&arrivals, read_by);
                let latest = last_write.map_or(read_by, |written| written.min(read_by));
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

    /// The run watched on after the window if it waited for all objects that existed when the window ended.
    fn set_end(&mut self, window_end: Micros) {
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
        let is_any_missed = in_the_end.any(|(name, exists)| exists && !was_awaited(name));
        let until = settled.until.as_microsecond();
        if until > window_end && names.iter().any(was_awaited) && !is_any_missed {
            self.timeline.end = until;
            self.timeline.window_end = Some(window_end);
        }
    }

    /// The first list showed no object of the timeline, unless the window begins with a gap.
    fn begin_empty(&mut self, window_from: Micros, first: Option<&Arrival<'e, T>>) {
        let listed = self.gaps.before(window_from.saturating_add(1));
        let listed = listed.map_or(window_from, |(_, until)| until);
        if listed < self.timeline.end && first.is_none_or(|first| first.at > listed) {
            self.push(Edge::between(Micros::MIN, listed), listed, true);
        }
    }

    /// Adds what arrived after the first list. All that arrives in one gap is one moment.
    fn push_batches(&mut self, arrivals: vec::IntoIter<Arrival<'e, T>>) {
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
    fn push_change(&mut self, arrival: Arrival<'e, T>) {
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
    fn push_after_gap(&mut self, from: Micros, batch: Vec<Arrival<'e, T>>) {
        let seen_at = batch[batch.len() - 1].at;
        let oldest = batch.iter().filter_map(|arrival| arrival.stamp).min();
        let begun = self.timeline.moments.last().map(|last| last.since.earliest);
        let oldest = oldest.map(|oldest| oldest.max(begun.unwrap_or(oldest)));
        let lost = oldest.unwrap_or(from).min(from.saturating_sub(LATE));
        self.hide_since(lost, from, seen_at);
        batch.iter().for_each(|arrival| self.record(arrival, true));
        self.apply_all(batch);
        self.push(Edge::between(lost, seen_at), seen_at, true);
    }

    /// Adds changes of unknown order that arrived together: the objects between the first and the last are unknown.
    fn push_unordered(&mut self, batch: Vec<Arrival<'e, T>>) {
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
        let gaps = self
            .gaps
            .ending_in(last.seen_at.saturating_add(1), until)
            .to_vec();
        for (from, until) in gaps {
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
        let last = self
            .timeline
            .moments
            .last()
            .map_or(from, |last| last.seen_at.max(from));
        self.push(Edge::between(lost, until), last.min(until), false);
    }

    fn push(&mut self, since: Edge, seen_at: Micros, is_observed: bool) {
        self.timeline.moments.push(Moment {
            since,
            seen_at,
            objects: is_observed.then(|| self.present.iter().flatten().copied().collect()),
        });
    }

    fn apply_all(&mut self, batch: Vec<Arrival<'e, T>>) {
        for arrival in batch {
            self.apply(arrival);
        }
    }

    /// Makes an arrival present. A new object of a name replaces the one before it, whose deletion changes nothing then.
    fn apply(&mut self, arrival: Arrival<'e, T>) {
        let uid: fn(&'e Version<T>) -> &'e str = |version| &version.object.metadata().uid;
        let present = &mut self.present[arrival.slot];
        if arrival.version.is_some() || present.map(uid) == arrival.before.map(uid) {
            *present = arrival.version;
        }
    }

    /// Records the change that an arrival is, which begins the next moment.
    fn record(&mut self, arrival: &Arrival<'e, T>, is_over_gap: bool) {
        let origin = arrival.life.origin;
        let is_creation = arrival.before.is_none();
        if is_creation && origin == Origin::Listed {
            return;
        }
        self.timeline.changes.push(ChangeRecord {
            life: arrival.life,
            before: arrival.before,
            after: arrival.version,
            place: self.timeline.moments.len(),
            is_over_gap: is_over_gap || (is_creation && origin == Origin::Relisted),
        });
    }

    fn finish(mut self) -> Timeline<'e, T> {
        let mut timeline = self.timeline;
        put_in_order(timeline.moments.iter_mut().map(|moment| &mut moment.since));
        let first = timeline.moments.iter().find(|moment| moment.is_observed());
        let begins = first.map_or(timeline.end, |first| first.since.latest);
        self.unobserved.push((Micros::MIN, begins));
        timeline.unobserved = Set::of(self.unobserved);
        timeline
    }
}
