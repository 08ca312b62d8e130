//! The slices of a namespace at each moment.

use std::collections::BTreeMap;

use evidence::{Evidence, Kind, SliceHistory, api::PlacementDecision};

use crate::rules::{
    placement::segments::{segments, spans},
    write_time::{Micros, SECOND, written},
};

/// The slices of one namespace between two changes of any of them.
pub(in crate::rules) struct Moment<'e> {
    /// When it began, by the runner's clock.
    pub(in crate::rules) from: Micros,
    /// When it ended: the next change came, or the window ended.
    pub(in crate::rules) until: Micros,
    /// When it ended at the earliest: the watch may have delivered the next change late.
    pub(in crate::rules) ended: Micros,
    /// Whether the watch missed the time before it.
    pub(in crate::rules) after_gap: bool,
    /// Whether the watch missed the time after it.
    pub(in crate::rules) before_gap: bool,
    /// Whether it is what the first list showed.
    pub(in crate::rules) is_first: bool,
    /// Whether it lasted until the runner stopped looking.
    pub(in crate::rules) is_last: bool,
    /// The slices in scope, in the order of their first appearance.
    pub(in crate::rules) slices: Vec<&'e PlacementDecision>,
    /// What made it out of the moment before: one change, but for the first list. None after a gap within a moment.
    pub(in crate::rules) changes: Vec<SliceChange<'e>>,
}

/// A slice before and after a change; absent before it was created, and after it was deleted.
#[derive(Clone, Copy)]
pub(in crate::rules) struct SliceChange<'e> {
    pub(in crate::rules) before: Option<&'e PlacementDecision>,
    pub(in crate::rules) after: Option<&'e PlacementDecision>,
}

/// A change of one slice.
struct Event<'e> {
    at: Micros,
    /// When it was written, if the watch delivered it late.
    written: Micros,
    /// Deletions come last among what came together: the hub does not tell in which order they were written.
    is_deletion: bool,
    order: u64,
    history: usize,
    slice: Option<&'e PlacementDecision>,
}

/// Calls `see` with each moment of each namespace, in order of time. What the first list showed is one moment; after it,
/// every change begins another.
pub(in crate::rules) fn each_moment<'e>(evidence: &'e Evidence, mut see: impl FnMut(&'e str, &Moment<'e>)) {
    let mut namespaces: BTreeMap<&str, Vec<&SliceHistory>> = BTreeMap::new();
    for history in evidence.slice_histories() {
        let namespace = &*history.last().metadata.namespace;
        namespaces.entry(namespace).or_default().push(history);
    }
    for (namespace, histories) in namespaces {
        moments_of(evidence, namespace, &histories, &mut see);
    }
}

/// The moments of some slices of one namespace.
pub(super) fn moments_of<'e>(
    evidence: &'e Evidence,
    namespace: &'e str,
    histories: &[&'e SliceHistory],
    see: &mut impl FnMut(&'e str, &Moment<'e>),
) {
    let events = events(evidence, histories);
    let begin = evidence
        .window_of(namespace)
        .map(|window| window.from.as_microsecond());
    let end = evidence.end_of(namespace).map(|end| end.as_microsecond());
    let last = events.last().map_or(0, |event| event.at);
    let gaps = gaps_of(evidence, namespace);
    let listed = listed_until(histories);
    let mut present: BTreeMap<usize, &PlacementDecision> = BTreeMap::new();
    let mut place = 0;
    let mut is_first = true;
    while place < events.len() {
        // The first list is read bit by bit, but it is one look.
        let from = events[place].at;
        let is_listed = is_first && from <= listed;
        let mut changes = Vec::new();
        loop {
            let event = &events[place];
            let before = match event.slice {
                Some(slice) => present.insert(event.history, slice),
                None => present.remove(&event.history),
            };
            changes.push(SliceChange {
                before,
                after: event.slice,
            });
            place += 1;
            let next = events.get(place);
            if !(is_listed && next.is_some_and(|next| next.at <= listed)) {
                break;
            }
        }
        let next = events.get(place).map(|event| event.at);
        let until = next.or(end).unwrap_or(last).max(from);
        let written = events.get(place).map(|event| event.written);
        let from = if is_listed {
            begin.unwrap_or(from).min(from)
        } else {
            from
        };
        let parts = segments(&gaps, from, until);
        let count = parts.len();
        for (number, segment) in parts.into_iter().enumerate() {
            see(
                namespace,
                &Moment {
                    from: segment.from,
                    until: segment.until,
                    ended: match written.filter(|_| segment.until == until) {
                        Some(written) => written.clamp(segment.from, segment.until),
                        None => segment.until,
                    },
                    after_gap: segment.after_gap,
                    before_gap: segment.until < until,
                    is_first: is_listed && number == 0,
                    is_last: next.is_none() && number + 1 == count,
                    slices: present.values().copied().collect(),
                    changes: std::mem::take(&mut changes),
                },
            );
        }
        is_first = false;
    }
}

/// The changes of slices, in order.
fn events<'e>(evidence: &Evidence, histories: &[&'e SliceHistory]) -> Vec<Event<'e>> {
    let mut events = Vec::new();
    for (number, history) in histories.iter().enumerate() {
        for (place, version) in history.versions.iter().enumerate() {
            events.push(Event {
                at: version.at.as_microsecond(),
                written: written(evidence, history.before(place), version),
                is_deletion: false,
                order: version
                    .object
                    .metadata
                    .resource_version
                    .parse()
                    .unwrap_or_default(),
                history: number,
                slice: Some(&version.object),
            });
        }
        if let Some(at) = history.deleted {
            events.push(Event {
                at: at.as_microsecond(),
                written: at.as_microsecond(),
                is_deletion: true,
                order: 0,
                history: number,
                slice: None,
            });
        }
    }
    events.sort_by_key(|event| (event.at, event.is_deletion, event.order, event.history));
    date_deletions(&mut events);
    events
}

/// Dates deletions, which have no stamp, like the changes that came with them: all were late, or none.
fn date_deletions(events: &mut [Event]) {
    const TOGETHER: Micros = SECOND;
    // When the last dated change came, and how late.
    let mut last: Option<(Micros, Micros)> = None;
    for event in events {
        if !event.is_deletion {
            last = Some((event.at, event.at - event.written));
        } else if let Some((at, delay)) = last
            && event.at - at <= TOGETHER
        {
            event.written = event.at - delay;
        }
    }
}

/// When the last slice of the first list was read; the beginning of time if nothing was listed.
fn listed_until(histories: &[&SliceHistory]) -> Micros {
    let listed = histories
        .iter()
        .filter(|history| history.origin == evidence::Origin::Listed);
    let read = listed.map(|history| history.versions[0].at.as_microsecond());
    read.max().unwrap_or(Micros::MIN)
}

/// The gaps in the timeline of a namespace's slices, in order.
pub(in crate::rules) fn gaps_of(evidence: &Evidence, namespace: &str) -> Vec<(Micros, Micros)> {
    spans(evidence.gaps(Kind::PlacementTimeline).filter(|gap| {
        let object = gap.object.as_ref();
        object.is_none_or(|object| object.namespace == namespace)
    }))
}
