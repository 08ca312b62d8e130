//! Faults of several slices together, by how long they lasted.
//!
//! A scheduler changes slices one after the other, so a set of slices may have a fault for a moment that no slice has by
//! itself. Only confirmed time counts: a gap in the timeline ends it.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    hash::Hash,
};

use evidence::{
    Asked, Evidence, Kind,
    api::{PlacementDecision, names},
};

use super::{
    moments::{Moment, SliceChange, moments_of},
    related::related,
};
use crate::rules::{
    finding::{Finding, Findings},
    publisher::publishers_of,
    write_time::{LATE, Micros, SECOND},
};

/// How long a scheduler may take to change the slices of a decision one after the other.
pub(in crate::rules) const RESCHEDULE: Micros = 30 * SECOND;

/// What of its slices shows whether a decision has a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::rules) enum Reads {
    /// Labels, the scheduler, owners and field managers, and whether a slice is on its way out.
    Marks,
    /// The same, and the number of clusters.
    Numbers,
    /// Marks, and the clusters where a slice has no key.
    UnkeyedClusters,
    /// All of it.
    Everything,
}

impl Reads {
    /// Whether a change may be the beginning or the end of a fault, with the slices that it leaves.
    fn concern(self, change: SliceChange<'_>, beside: &[&PlacementDecision]) -> bool {
        let (Some(before), Some(after)) = (change.before, change.after) else {
            return true;
        };
        let differs = match self {
            Self::Marks => false,
            Self::Numbers => before.clusters().len() != after.clusters().len(),
            Self::UnkeyedClusters => {
                let has_key = |slice: &&PlacementDecision| slice.label(names::LABEL_DECISION_KEY).is_some();
                before.decisions != after.decisions && !beside.iter().all(has_key)
            }
            Self::Everything => true,
        };
        let (was, is) = (&before.metadata, &after.metadata);
        differs
            || was.labels != is.labels
            || was.owner_references != is.owner_references
            || was.deletion_timestamp != is.deletion_timestamp
            || before.scheduler_name != after.scheduler_name
            || publishers_of(before) != publishers_of(after)
    }
}

/// A fault of the slices at a moment. It is the same fault as one of the moment before if their keys are equal.
#[derive(Clone)]
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
    /// Whether it was there from the first list on, so that it may be older than what was seen.
    since_listed: bool,
    /// Whether it may have lasted for longer than was seen: it was there from the first list on, or beside a gap.
    is_cut: bool,
    /// Whether the window ended before the fault did.
    is_open: bool,
    /// Whether it was seen last: the run ended with it, or in a gap after it.
    is_last: bool,
    finding: Finding,
}

impl Stretch {
    fn length(&self) -> Micros {
        self.until - self.from
    }

    /// Whether a scheduler that restarted just then may have left it for a while: it was not seen to last. What the first
    /// list showed counts as older, if nobody mended it. Beside a gap, it may have begun or ended within.
    fn may_be_a_restart(&self) -> bool {
        let may_be_older = self.since_listed && self.is_last;
        !may_be_older && self.length() <= RESTLESS
    }

    /// Whether it outlasted the grace. What ended it may have been seen late.
    fn is_lasting(&self, grace: Micros) -> bool {
        let late = if self.is_open { 0 } else { LATE };
        self.rest > grace + late || self.length() > grace.max(RESTLESS) + late
    }
}

/// The worst of the stretches that are alike, and their number: a scheduler may repeat a fault with every change.
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
                let weight = |stretch: &Stretch| (!stretch.may_be_a_restart(), stretch.length());
                if weight(&stretch) > weight(longest) {
                    *longest = stretch;
                }
            }
        }
    }
}

/// Judges the slices of each namespace at each moment that may differ in what the rule reads, and reports faults that lasted for longer than `grace` while no
/// slice was written.
///
/// Judges slices that never have a decision key in common apart, as decisions do not depend on each other: a moment holds
/// the slices of one namespace and key, and perhaps of others. See [`faults_among`] for other ties.
///
/// A fault of a single look may be about to pass, so it is only a warning. So is one that was seen for 5 min at most, unless
/// it was there from the first list to the end of the window: a scheduler may restart between two writes. If the window was
/// too short to tell, there is no verdict.
pub(in crate::rules) fn faults_that_last<'e, F: Into<LastingFault>>(
    evidence: &'e Evidence,
    findings: &mut Findings,
    grace: Micros,
    reads: Reads,
    faults: impl FnMut(&Moment<'e>) -> Vec<F>,
) {
    let key = |slice: &'e PlacementDecision| slice.label(names::LABEL_DECISION_KEY);
    faults_among(evidence, findings, grace, key, reads, faults);
}

/// As [`faults_that_last`], but looks at those slices together that have the same `tie` at any time.
pub(in crate::rules) fn faults_among<'e, T: Eq + Hash, F: Into<LastingFault>>(
    evidence: &'e Evidence,
    findings: &mut Findings,
    grace: Micros,
    tie: impl Fn(&'e PlacementDecision) -> Option<T>,
    reads: Reads,
    mut faults: impl FnMut(&Moment<'e>) -> Vec<F>,
) {
    let is_watched = *evidence.asked(Kind::PlacementTimeline) == Asked::Yes;
    let mut over: Vec<Stretch> = Vec::new();
    for (namespace, histories) in related(evidence, tie) {
        let mut before = BTreeMap::new();
        let mut known: Vec<LastingFault> = Vec::new();
        moments_of(evidence, namespace, &histories, &mut |_, moment| {
            // Most changes are of clusters alone, and a decision may have a thousand slices.
            let mut changes = moment.changes.iter();
            if changes.any(|change| reads.concern(*change, &moment.slices)) {
                known = faults(moment).into_iter().map(Into::into).collect();
            }
            follow(&mut before, &mut over, moment, &known);
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
    for (stretch, times) in lasting.0.into_values() {
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
        findings.report(if may_be_a_restart {
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
    faults: &[LastingFault],
) {
    let mut still = BTreeMap::new();
    for fault in faults {
        let LastingFault { key, finding } = fault.clone();
        // It was there on both sides of a gap: what the first list showed is as old as before.
        let was_listed = moment.after_gap && before.get(&key).is_some_and(|known| known.since_listed);
        let known = if moment.after_gap {
            None
        } else {
            before.remove(&key)
        };
        let (from, is_cut, rest) = match &known {
            Some(known) => (known.from, known.is_cut, known.rest),
            None => (moment.from, moment.is_first || moment.after_gap, 0),
        };
        let since_listed = known.map_or(moment.is_first || was_listed, |known| known.since_listed);
        let stretch = Stretch {
            key: key.clone(),
            from,
            until: moment.ended,
            rest: rest.max(moment.ended - moment.from),
            since_listed,
            is_cut: is_cut || moment.before_gap,
            is_open: moment.is_last && !moment.before_gap,
            is_last: moment.is_last,
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
