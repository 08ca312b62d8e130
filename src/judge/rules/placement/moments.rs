//! The slices of a namespace at each moment, and faults of several slices together by how long they lasted.
//!
//! A scheduler changes slices one after the other, so a set of slices may have a fault for a moment that no slice has by
//! itself. Only confirmed time counts: a gap in the timeline ends it.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    hash::Hash,
};

use evidence::{
    Asked, Evidence, Kind, SliceHistory,
    api::{PlacementDecision, names},
};

use super::{copies::Copies, related::related};
use crate::rules::{
    finding::{Finding, Findings},
    state::segments::{segments, spans},
    write_time::{LATE, Micros, SECOND, written},
};

/// How long a scheduler may take to change the slices of a decision one after the other.
pub(in crate::rules) const RESCHEDULE: Micros = 30 * SECOND;

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

fn moments_of<'e>(
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
            let before = place
                .checked_sub(1)
                .map(|before| &history.versions[before].object);
            events.push(Event {
                at: version.at.as_microsecond(),
                written: written(evidence, before, version),
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

/// A fault of the slices at a moment. It is the same fault as one of the moment before if their keys are equal.
pub(in crate::rules) struct LastingFault {
    key: String,
    finding: Finding,
}

impl LastingFault {
    /// A fault that may move from slice to slice, known by its key.
    pub(in crate::rules) fn of(key: String, finding: Finding) -> Self {
        Self { key, finding }
    }
}

impl From<Finding> for LastingFault {
    /// A fault that is known by its object, path and message.
    fn from(finding: Finding) -> Self {
        let key = format!("{} {} {}", finding.object.path(), finding.path, finding.message);
        Self { key, finding }
    }
}

/// How long a fault lasts that counts though its slices are written all the time: longer than a scheduler that sends 20
/// requests a second takes for two writes of each of 1,000 slices. It is also longer than the restart of a scheduler that
/// was stopped between two writes.
const RESTLESS: Micros = 300 * SECOND;

/// A fault that lasts.
struct Stretch {
    key: String,
    from: Micros,
    until: Micros,
    /// The longest time without a write of any of its slices: a scheduler that still writes may be about to mend it.
    rest: Micros,
    /// Whether it may have lasted for longer than was seen: it was there from the first list on, or beside a gap.
    is_cut: bool,
    /// Whether the window ended before the fault did.
    is_open: bool,
    finding: Finding,
}

impl Stretch {
    fn length(&self) -> Micros {
        self.until - self.from
    }

    /// Whether a scheduler that restarted just then may have left it for a while: the watch saw it begin, and not last.
    fn may_be_a_restart(&self) -> bool {
        !self.is_cut && self.length() <= RESTLESS
    }

    /// Whether it outlasted the grace. What ended it may have been seen late.
    fn is_lasting(&self, grace: Micros) -> bool {
        let late = if self.is_open { 0 } else { LATE };
        self.rest > grace + late || self.length() > grace.max(RESTLESS) + late
    }
}

/// The longest of the stretches that are alike, and their number: a scheduler may repeat a fault with every change.
struct Recurring<K>(BTreeMap<K, (Stretch, usize)>);

impl<K> Default for Recurring<K> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Ord> Recurring<K> {
    fn add(&mut self, key: K, stretch: Stretch) {
        match self.0.entry(key) {
            Entry::Vacant(free) => _ = free.insert((stretch, 1)),
            Entry::Occupied(mut taken) => {
                let (longest, times) = taken.get_mut();
                *times += 1;
                if stretch.length() > longest.length() {
                    *longest = stretch;
                }
            }
        }
    }
}

/// Judges the slices of each namespace at each moment, and reports faults that lasted for longer than `grace` while no
/// slice was written.
///
/// Judges slices that never have a decision key in common apart, as decisions do not depend on each other: a moment holds
/// the slices of one namespace and key, and perhaps of others. See [`faults_among`] for other ties.
///
/// A fault of a single look may be about to pass, so it is only a warning. So is one of what may be another program's copy,
/// and one that began during the watch and was seen for 5 min at most: a scheduler may restart between two writes. If the
/// window was too short to tell, there is no verdict.
pub(in crate::rules) fn faults_that_last<'e, F: Into<LastingFault>>(
    evidence: &'e Evidence,
    findings: &mut Findings,
    grace: Micros,
    faults: impl FnMut(&Moment<'e>) -> Vec<F>,
) {
    let key = |slice: &'e PlacementDecision| slice.label(names::LABEL_DECISION_KEY);
    faults_among(evidence, findings, grace, key, faults);
}

/// As [`faults_that_last`], but looks at those slices together that have the same `tie` at any time.
pub(in crate::rules) fn faults_among<'e, T: Eq + Hash, F: Into<LastingFault>>(
    evidence: &'e Evidence,
    findings: &mut Findings,
    grace: Micros,
    tie: impl Fn(&'e PlacementDecision) -> Option<T>,
    mut faults: impl FnMut(&Moment<'e>) -> Vec<F>,
) {
    let is_watched = *evidence.asked(Kind::PlacementTimeline) == Asked::Yes;
    let mut over: Vec<Stretch> = Vec::new();
    for (namespace, histories) in related(evidence, tie) {
        let mut before = BTreeMap::new();
        moments_of(evidence, namespace, &histories, &mut |_, moment| {
            follow(&mut before, &mut over, moment, faults(moment));
        });
    }
    let mut is_too_early = false;
    let mut lasting = Recurring::default();
    let mut passing = Recurring::default();
    for stretch in over {
        let finding = &stretch.finding;
        if stretch.is_lasting(grace) {
            lasting.add(stretch.key.clone(), stretch);
        } else if stretch.is_open && !is_watched {
            findings.report(stretch.finding.advisory());
        } else if stretch.is_cut && is_watched {
            is_too_early = true;
        } else {
            passing.add(finding.message.clone(), stretch);
        }
    }
    let copies = (!lasting.0.is_empty()).then(|| Copies::of(evidence));
    for (stretch, times) in lasting.0.into_values() {
        let is_copy = copies
            .as_ref()
            .is_some_and(|copies| copies.hold(&stretch.finding.object));
        let may_be_a_restart = stretch.may_be_a_restart();
        let seconds = stretch.length() / SECOND;
        let when = if stretch.is_open {
            " when the window ended"
        } else {
            ""
        };
        let times = match times {
            1 => String::new(),
            times => format!(", the longest of {times} times"),
        };
        let observed = format!("{}; for {seconds} s{when}{times}", stretch.finding.observed);
        let finding = stretch.finding.observed(observed);
        findings.report(if is_copy || may_be_a_restart {
            finding.advisory()
        } else {
            finding
        });
    }
    for (message, (stretch, times)) in passing.0 {
        let others = match times {
            1 => String::new(),
            times => format!(" and {} more", times - 1),
        };
        findings.note(format!(
            "{}{others}: {message}, but at rest for no longer than {} s, within the grace of {} s",
            stretch.finding.object,
            stretch.rest / SECOND,
            grace / SECOND
        ));
    }
    if is_too_early {
        findings.cannot_tell(format!(
            "too early to tell: the run did not see for longer than the grace of {} s whether a fault lasts",
            grace / SECOND
        ));
    }
    evidence.slice_histories().for_each(|_| findings.examine());
}

/// Continues the stretches of the moment before with the faults of this one. Those that it ends are over.
fn follow(
    before: &mut BTreeMap<String, Stretch>,
    over: &mut Vec<Stretch>,
    moment: &Moment,
    faults: Vec<impl Into<LastingFault>>,
) {
    let mut still = BTreeMap::new();
    for fault in faults {
        let LastingFault { key, finding } = fault.into();
        let known = if moment.after_gap {
            None
        } else {
            before.remove(&key)
        };
        let (from, is_cut, rest) = match &known {
            Some(known) => (known.from, known.is_cut, known.rest),
            None => (moment.from, moment.is_first || moment.after_gap, 0),
        };
        let stretch = Stretch {
            key: key.clone(),
            from,
            until: moment.ended,
            rest: rest.max(moment.ended - moment.from),
            is_cut: is_cut || moment.before_gap,
            is_open: moment.is_last && !moment.before_gap,
            finding,
        };
        still.insert(key, stretch);
    }
    over.extend(std::mem::take(before).into_values());
    if moment.is_last {
        over.extend(still.into_values());
    } else {
        *before = still;
    }
}
