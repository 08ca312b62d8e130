//! The slices of a namespace at each moment, and faults of several slices together by how long they lasted.
//!
//! A scheduler changes slices one after the other, so a set of slices may have a fault for a moment that no slice has by
//! itself. Only confirmed time counts: a gap in the timeline ends it.

use std::collections::BTreeMap;

use evidence::{Asked, Evidence, Kind, SliceHistory, api::PlacementDecision};

use crate::rules::{
    finding::{Finding, Findings},
    state::segments::segments,
    write_time::{Micros, SECOND},
};

/// The slices of one namespace between two changes of any of them.
pub(in crate::rules) struct Moment<'e> {
    /// When it began, by the runner's clock.
    pub(in crate::rules) from: Micros,
    /// When it ended: the next change came, or the window ended.
    pub(in crate::rules) until: Micros,
    /// Whether the watch missed the time before it.
    pub(in crate::rules) after_gap: bool,
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

fn moments_of<'e>(
    evidence: &'e Evidence,
    namespace: &'e str,
    histories: &[&'e SliceHistory],
    see: &mut impl FnMut(&'e str, &Moment<'e>),
) {
    let mut events = events(histories);
    events.sort_by_key(|event| (event.at, event.is_deletion, event.order, event.history));
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
                    after_gap: segment.after_gap,
                    is_first: is_first && number == 0,
                    is_last: next.is_none() && number + 1 == count,
                    slices: present.values().copied().collect(),
                    changes: std::mem::take(&mut changes),
                },
            );
        }
        is_first = false;
    }
}

fn events<'e>(histories: &[&'e SliceHistory]) -> Vec<Event<'e>> {
    let mut events = Vec::new();
    for (number, history) in histories.iter().enumerate() {
        for version in &history.versions {
            events.push(Event {
                at: version.at.as_microsecond(),
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
                is_deletion: true,
                order: 0,
                history: number,
                slice: None,
            });
        }
    }
    events
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
    let gaps = evidence.gaps(Kind::PlacementTimeline).filter(|gap| {
        let object = gap.object.as_ref();
        object.is_none_or(|object| object.namespace == namespace)
    });
    let mut gaps: Vec<(Micros, Micros)> = gaps
        .map(|gap| {
            let from = gap.from.map_or(Micros::MIN, |from| from.as_microsecond());
            let until = gap.until.map_or(Micros::MAX, |until| until.as_microsecond());
            (from, until)
        })
        .collect();
    gaps.sort_unstable();
    gaps
}

/// A fault that lasts.
struct Stretch {
    from: Micros,
    until: Micros,
    /// Whether it may have lasted for longer than was seen: it was there from the first list on, or beside a gap.
    is_cut: bool,
    finding: Finding,
}

/// Judges the slices of each namespace at each moment, and reports faults that lasted for longer than `grace`. Faults of
/// the same object, path and message are one fault that lasts.
///
/// A fault of a single look may be about to pass, so it is only a warning. If the window was too short to tell, there is
/// no verdict.
pub(in crate::rules) fn faults_that_last<'e>(
    evidence: &'e Evidence,
    findings: &mut Findings,
    grace: Micros,
    mut faults: impl FnMut(&Moment<'e>) -> Vec<Finding>,
) {
    let is_watched = *evidence.asked(Kind::PlacementTimeline) == Asked::Yes;
    let mut open: BTreeMap<String, BTreeMap<(String, String, String), Stretch>> = BTreeMap::new();
    let mut over: Vec<(Stretch, bool)> = Vec::new();
    each_moment(evidence, |namespace, moment| {
        let before = open.entry(namespace.to_owned()).or_default();
        let mut still = BTreeMap::new();
        for finding in faults(moment) {
            let key = (
                finding.object.path(),
                finding.path.clone(),
                finding.message.clone(),
            );
            let known = if moment.after_gap {
                None
            } else {
                before.remove(&key)
            };
            let (from, is_cut) = match &known {
                Some(known) => (known.from, known.is_cut),
                None => (moment.from, moment.is_first || moment.after_gap),
            };
            still.insert(
                key,
                Stretch {
                    from,
                    until: moment.until,
                    is_cut,
                    finding,
                },
            );
        }
        for mut stretch in std::mem::take(before).into_values() {
            stretch.is_cut |= moment.after_gap;
            over.push((stretch, false));
        }
        if moment.is_last {
            over.extend(still.into_values().map(|stretch| (stretch, true)));
        } else {
            *before = still;
        }
    });
    let mut is_too_early = false;
    for (stretch, is_open) in over {
        let seconds = (stretch.until - stretch.from) / SECOND;
        if stretch.until - stretch.from > grace {
            let when = if is_open { " when the window ended" } else { "" };
            let observed = format!("{}; for {seconds} s{when}", stretch.finding.observed);
            findings.report(stretch.finding.observed(observed));
        } else if is_open && !is_watched {
            findings.report(stretch.finding.advisory());
        } else if stretch.is_cut && is_watched {
            is_too_early = true;
        } else {
            findings.note(format!(
                "{}: {}, but only for {seconds} s, within the grace of {} s",
                stretch.finding.object,
                stretch.finding.message,
                grace / SECOND
            ));
        }
    }
    if is_too_early {
        findings.cannot_tell(format!(
            "too early to tell: the run did not see for longer than the grace of {} s whether a fault lasts",
            grace / SECOND
        ));
    }
    evidence.slice_histories().for_each(|_| findings.examine());
}
