//! Lists what faults make the manager do wrong with members of the remote control.
//!
//! Some misbehaviours affect only the first member: one case is enough to detect them.

use std::{collections::BTreeSet, time::Duration};

/// A kind of misbehaviour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::manager) enum Misbehaviour {
    /// The first member's profile is created too late.
    CreatesLate,
    /// A member has no profile if its name begins with that of another member.
    ConfusesNames,
    /// The first member's status is filled too late.
    FillsLate,
    /// A member is asked for its inventory only once.
    AsksOnce,
    /// A control plane is always reported healthy.
    IgnoresOutages,
    /// A control plane that failed once is never reported healthy again.
    IgnoresRecovery,
    /// The number of nodes of a member that failed once is never published again.
    ForgetsNodes,
    /// The first member's profile stays unchanged after it has left.
    ForgetsLeave,
    /// After the leave, the profile is unhealthy, but still joined.
    KeepsJoined,
    /// The first member's Secrets stay when it leaves, and so does its profile, which says that it left.
    KeepsSecrets,
    /// The display name is reset to the manager's own.
    OverwritesDisplayName,
    /// A deleted profile is not restored.
    CreatesOnce,
    /// The manager assumes that a status is what it last wrote.
    TrustsItsMemory,
    /// A removed label is not restored.
    LabelsOnce,
    /// Profiles of other managers get this manager's label.
    Claims,
    /// Profiles of other managers are deleted.
    Tidies,
    /// Profiles of other managers are deleted once their generation has increased.
    TidiesChanged,
    /// A profile of another manager is deleted if one of that name was deleted before.
    TidiesRecreated,
    /// Members that the manager cannot list are taken for gone.
    ForgetsUnlisted,
    /// After a restart, every profile is deleted and created anew.
    Recreates,
}

/// The delay of what is too late: beyond every timeout of the suite.
pub(super) const LATE: Duration = Duration::from_secs(240);

/// The misbehaviours of a manager.
#[derive(Clone, Debug, Default)]
pub(in crate::manager) struct Misbehaviours(BTreeSet<Misbehaviour>);

impl Misbehaviours {
    pub(in crate::manager) fn add(&mut self, misbehaviour: Misbehaviour) {
        self.0.insert(misbehaviour);
    }

    pub(super) fn has(&self, misbehaviour: Misbehaviour) -> bool {
        self.0.contains(&misbehaviour)
    }
}
