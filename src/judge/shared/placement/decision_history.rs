//! The history of each decision: which clusters come and leave, and when it rests.
//!
//! A scheduler writes slice after slice, so a reschedule takes several writes. It is over when the decision has rested
//! for the grace. Only what a write changes is looked at: a fleet has 100,000 clusters in a thousand slices.

use std::collections::{BTreeMap, HashMap};

use evidence::{
    Evidence, SliceHistory,
    api::{ClusterProfileReference, DecisionId, PlacementDecision, names},
};

use crate::time::{Change, Look, Micros, SECOND, Together};

/// How long a scheduler may take to change the slices of a decision one after the other.
pub(crate) const RESCHEDULE: Micros = 30 * SECOND;

type SliceChange<'e> = Change<'e, PlacementDecision>;

/// What happens to a decision.
pub(crate) enum DecisionChange<'e> {
    /// A slice changes in its clusters, its index or its life. What comes and leaves by that is told next.
    Changed,
    /// A cluster is in a slice, after it was in none.
    Came {
        /// The cluster.
        cluster: ClusterProfileReference,
        /// The slice that has it.
        slice: &'e PlacementDecision,
    },
    /// A cluster is in no slice any more.
    Left {
        /// The cluster.
        cluster: ClusterProfileReference,
        /// The slice that had it, as it was.
        slice: &'e PlacementDecision,
        /// Whether that slice keeps other clusters.
        keeps_others: bool,
        /// Whether the slice was on its way out before the reschedule began.
        was_announced: bool,
    },
    /// The last slice went.
    Gone,
    /// The decision has rested for the grace.
    Settled,
    /// The watch was lost: what came before tells nothing of what follows.
    Lost,
    /// The window ended during a reschedule.
    Unfinished,
}

/// Tells the changes of each decision, in order of time, with their moments by the runner's clock.
///
/// Slices that wait for their finalizers are still there for consumers, so their clusters have not left yet.
pub(crate) fn each_decision_change<'e>(
    evidence: &'e Evidence,
    mut tell: impl FnMut(DecisionId<'e>, Micros, DecisionChange<'e>),
) {
    let mut namespaces: BTreeMap<&str, Vec<&SliceHistory>> = BTreeMap::new();
    for history in evidence.slice_histories() {
        let namespace = &*history.last().metadata.namespace;
        namespaces.entry(namespace).or_default().push(history);
    }
    for histories in namespaces.values() {
        let slices = Together::of(evidence, histories);
        // In order, so that findings are too.
        let mut states: BTreeMap<DecisionId<'e>, State<'e>> = BTreeMap::new();
        let (looks, end) = slices.looks();
        for look in looks {
            match look {
                Look::Lost(from, until) => lose(&mut states, from, until, &mut tell),
                Look::Changes(at, changes) => {
                    for change in changes {
                        take(&mut states, *change, at, &mut tell);
                    }
                }
            }
        }
        for (id, state) in &mut states {
            state.settle(*id, end, &mut tell);
            if !state.is_settled {
                tell(*id, end, DecisionChange::Unfinished);
            }
        }
    }
}

/// Whether consumers still find a slice that became another decision's: by the key, whatever the scheduler or, if there
/// was none, by the name.
fn is_found_in(before: DecisionId, after: &PlacementDecision) -> bool {
    let other = DecisionId::of(after);
    other != before && (before.key.is_none() || before.key == other.key)
}

/// The watch was lost from one moment to another.
fn lose<'e>(
    states: &mut BTreeMap<DecisionId<'e>, State<'e>>,
    from: Micros,
    until: Micros,
    tell: &mut impl FnMut(DecisionId<'e>, Micros, DecisionChange<'e>),
) {
    for (id, state) in states {
        state.settle(*id, from, tell);
        state.is_settled = false;
        state.changed = until;
        tell(*id, until, DecisionChange::Lost);
    }
}

/// The present state of one decision.
struct State<'e> {
    slices: Vec<&'e PlacementDecision>,
    /// In how many slices each cluster is.
    clusters: HashMap<ClusterProfileReference, usize>,
    /// When slices were first seen to wait for their finalizers, by uid.
    leaving: HashMap<&'e str, Micros>,
    /// When the reschedule began.
    began: Micros,
    /// When it last changed.
    changed: Micros,
    is_settled: bool,
}

impl<'e> State<'e> {
    fn new(at: Micros) -> Self {
        Self {
            slices: Vec::new(),
            clusters: HashMap::new(),
            leaving: HashMap::new(),
            began: at,
            changed: at,
            is_settled: false,
        }
    }

    /// Says so if it has rested for the grace when something happens at `at`.
    fn settle(
        &mut self,
        id: DecisionId<'e>,
        at: Micros,
        tell: &mut impl FnMut(DecisionId<'e>, Micros, DecisionChange<'e>),
    ) {
        if self.is_settled || at - self.changed < RESCHEDULE {
            return;
        }
        self.is_settled = true;
        tell(id, self.changed + RESCHEDULE, DecisionChange::Settled);
    }

    /// Begins a change.
    fn change(
        &mut self,
        id: DecisionId<'e>,
        at: Micros,
        tell: &mut impl FnMut(DecisionId<'e>, Micros, DecisionChange<'e>),
    ) {
        self.settle(id, at, tell);
        if self.is_settled {
            self.began = at;
            self.is_settled = false;
        }
        self.changed = at;
        tell(id, at, DecisionChange::Changed);
    }

    fn add(
        &mut self,
        id: DecisionId<'e>,
        slice: &'e PlacementDecision,
        at: Micros,
        tell: &mut impl FnMut(DecisionId<'e>, Micros, DecisionChange<'e>),
    ) {
        self.slices.push(slice);
        if is_leaving(slice) {
            self.leaving.entry(&slice.metadata.uid).or_insert(at);
        }
        for cluster in slice.references().filter(|cluster| !cluster.name.is_empty()) {
            let count = self.clusters.entry(cluster.clone()).or_default();
            *count += 1;
            if *count == 1 {
                tell(id, at, DecisionChange::Came { cluster, slice });
            }
        }
    }

    fn remove(
        &mut self,
        id: DecisionId<'e>,
        change: SliceChange<'e>,
        at: Micros,
        tell: &mut impl FnMut(DecisionId<'e>, Micros, DecisionChange<'e>),
    ) {
        let Some(slice) = change.before else { return };
        self.slices.retain(|known| !std::ptr::eq(*known, slice));
        let keeps_others = change
            .after
            .is_some_and(|after| !after.clusters().is_empty() && DecisionId::of(after) == id);
        let since = self.leaving.get(&*slice.metadata.uid);
        let was_announced = is_leaving(slice) && since.is_none_or(|since| *since < self.began);
        let is_still_found = change.after.is_some_and(|after| is_found_in(id, after));
        for cluster in slice.references().filter(|cluster| !cluster.name.is_empty()) {
            let Some(count) = self.clusters.get_mut(&cluster) else {
                continue;
            };
            *count -= 1;
            if *count > 0 {
                continue;
            }
            self.clusters.remove(&cluster);
            if is_still_found {
                continue;
            }
            let change = DecisionChange::Left {
                cluster,
                slice,
                keeps_others,
                was_announced,
            };
            tell(id, at, change);
        }
        if self.slices.is_empty() {
            tell(id, at, DecisionChange::Gone);
        }
    }
}

fn take<'e>(
    states: &mut BTreeMap<DecisionId<'e>, State<'e>>,
    change: SliceChange<'e>,
    at: Micros,
    tell: &mut impl FnMut(DecisionId<'e>, Micros, DecisionChange<'e>),
) {
    let (before, after) = (
        change.before.map(DecisionId::of),
        change.after.map(DecisionId::of),
    );
    let is_same = before == after;
    let is_changed = !is_same || differ(change);
    for id in [after, before.filter(|_| !is_same)].into_iter().flatten() {
        let state = states.entry(id).or_insert_with(|| State::new(at));
        if is_changed {
            state.change(id, at, tell);
        }
        // What stays in the decision never leaves it: first comes what is new.
        if let Some(slice) = change.after.filter(|_| after == Some(id)) {
            state.add(id, slice, at, tell);
        }
        if before == Some(id) {
            state.remove(id, change, at, tell);
        }
    }
}

/// Whether a change of one slice is one of its decision: other clusters, another index, or the beginning of its end.
fn differ(change: SliceChange<'_>) -> bool {
    let (Some(before), Some(after)) = (change.before, change.after) else {
        return true;
    };
    is_leaving(before) != is_leaving(after)
        || before.label(names::LABEL_DECISION_INDEX) != after.label(names::LABEL_DECISION_INDEX)
        // Versions share a list that stays as it is.
        || (before.decisions != after.decisions && sorted(before) != sorted(after))
}

/// The clusters of a slice, in an order of their own.
fn sorted(slice: &PlacementDecision) -> Vec<ClusterProfileReference> {
    let mut clusters: Vec<ClusterProfileReference> = slice.references().collect();
    clusters.sort_unstable();
    clusters
}

fn is_leaving(slice: &PlacementDecision) -> bool {
    slice.metadata.deletion_timestamp.is_some()
}
