//! What faults make the scheduler do wrong, where an edit of its slices is not enough.

use std::{collections::BTreeSet, time::Duration};

/// A kind of misbehaviour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Misbehaviour {
    /// The slice that loses a cluster is written before the one that gains it.
    LosesFirst,
    /// Clusters that are deleted stay selected.
    KeepsDeleted,
    /// Clusters that are down, or left, are selected and stay so.
    IgnoresHealth,
    /// Every other change is written by a second user and field manager.
    SecondWriter,
    /// A decision by remote control comes too late.
    PlacesLate,
    /// A workload by remote control gets no second slice.
    StopsAtTheLimit,
    /// The slices of a workload by remote control have neither key nor index.
    SetsNoKey,
    /// A slice stays after it became needless.
    KeepsNeedlessSlices,
    /// Decisions stay when their workload goes.
    KeepsDecisions,
    /// A decision stays as it was when no cluster is left to select.
    KeepsStale,
    /// A deleted or altered slice is not restored.
    TrustsItsMemory,
    /// After a restart, every slice is deleted and created anew.
    Recreates,
    /// Slices of other schedulers get this scheduler's name.
    Claims,
    /// Slices of other schedulers are deleted.
    Tidies,
}

/// The delay of what is too late: beyond every timeout of the suite.
pub(super) const LATE: Duration = Duration::from_secs(240);

/// The misbehaviours of a scheduler.
#[derive(Clone, Debug, Default)]
pub(super) struct Misbehaviours(BTreeSet<Misbehaviour>);

impl Misbehaviours {
    pub(super) fn add(&mut self, misbehaviour: Misbehaviour) {
        self.0.insert(misbehaviour);
    }

    pub(super) fn has(&self, misbehaviour: Misbehaviour) -> bool {
        self.0.contains(&misbehaviour)
    }
}
