//! What the manager does wrong with the members that it is told of, where a fault has it so.
//!
//! Some of it is done to the first member alone: what is to be seen is one member's story, and the others' go on.

use std::{collections::BTreeSet, time::Duration};

/// Something that the manager does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::manager) enum Lapse {
    /// The first member's profile is created long after it joined.
    CreatesLate,
    /// The first member gets two profiles.
    CreatesTwice,
    /// The first member's status is filled long after its profile was created.
    FillsLate,
    /// Beyond a number, members are not taken.
    IsFull,
    /// A member is asked what it has once, and never again.
    AsksOnce,
    /// A control plane is called healthy whatever it says.
    IgnoresOutages,
    /// A control plane that failed once is not called healthy again.
    IgnoresRecovery,
    /// The first member's profile stays as it is for long after it has left.
    ForgetsLeave,
    /// For as long, it only ceases to be called healthy.
    KeepsJoined,
    /// The first member's Secrets stay when it leaves. Its profile stays with them, and says that it has left.
    KeepsSecrets,
    /// The display name is set back to the manager's own.
    OverwritesDisplayName,
    /// A profile that somebody deleted is gone for good.
    CreatesOnce,
    /// A status is taken for what the manager last wrote.
    TrustsItsMemory,
    /// A label that somebody removed is gone for good.
    LabelsOnce,
    /// The profiles of others get its own label.
    Claims,
    /// The profiles of others are deleted.
    Tidies,
    /// After a restart, every profile is deleted and created anew.
    Recreates,
    /// After a restart, every status is rewritten in each round for a while.
    Rewrites,
}

/// How late what comes late comes: well after anybody's patience is over.
pub(super) const LATE: Duration = Duration::from_secs(240);
/// How many members a manager takes that is full then: more than a handful of scenarios need.
pub(super) const MOST: usize = 40;
/// For how many rounds after a restart statuses are rewritten. One more than the burst is too many; all of them stay
/// within the budget all the same, as time passes between two.
pub(super) const REWRITES: u32 = 12;

/// All that the manager does wrong.
#[derive(Clone, Debug, Default)]
pub(in crate::manager) struct Lapses(BTreeSet<Lapse>);

impl Lapses {
    pub(in crate::manager) fn add(&mut self, lapse: Lapse) {
        self.0.insert(lapse);
    }

    pub(super) fn has(&self, lapse: Lapse) -> bool {
        self.0.contains(&lapse)
    }
}
