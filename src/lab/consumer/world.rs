//! What a consumer does as others do, and what it does wrong.

use std::{collections::BTreeSet, time::Duration};

/// The habits of an honest consumer. Consumers differ in them, and none is wrong.
#[derive(Clone, Debug, Default)]
pub struct Habits {
    /// It asks its members again and again over new connections, rather than to watch them.
    pub polls: bool,
    /// It does one thing after the other, each of which takes so long.
    pub takes: Duration,
    /// It keeps to what it knew while a profile cannot be used.
    pub keeps_last_known_good: bool,
    /// It calls no member: it translates profiles for somebody else.
    pub calls_nobody: bool,
}

/// A kind of misbehaviour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Misbehaviour {
    /// It writes into the status of profiles what it thinks of them.
    WritesStatus,
    /// It labels profiles.
    LabelsProfiles,
    /// It takes the first provider, known or not.
    TakesTheFirst,
    /// It takes any provider if it knows none.
    TakesAnyAtNeed,
    /// It does not check certificates.
    TrustsAnybody,
    /// It drops the server name.
    DropsServerName,
    /// It wraps what the profile says to the plugin.
    WrapsConfig,
    /// It hands on the variables and arguments of all profiles that it has seen.
    CollectsArguments,
    /// It stops at a profile that it cannot read.
    StopsAtMalformed,
    /// It keeps the first address of a member.
    KeepsAddress,
    /// It reconnects whenever a profile is written.
    ReconnectsAlways,
    /// It has one credential for all members.
    SharesCredential,
}

/// What a consumer does.
#[derive(Clone, Debug, Default)]
pub struct World {
    pub(super) habits: Habits,
    misbehaviours: BTreeSet<Misbehaviour>,
}

impl World {
    pub(super) fn of(habits: Habits) -> Self {
        Self {
            habits,
            misbehaviours: BTreeSet::new(),
        }
    }

    pub(super) fn misbehave(&mut self, misbehaviour: Misbehaviour) {
        self.misbehaviours.insert(misbehaviour);
    }

    pub(super) fn has(&self, misbehaviour: Misbehaviour) -> bool {
        self.misbehaviours.contains(&misbehaviour)
    }
}
