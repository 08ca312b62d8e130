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
    /// It calls members that are not healthy, too: it shows them to people.
    pub shows_the_sick: bool,
    /// It acts on each profile of a member: nothing that it does would conflict.
    pub repeats_itself: bool,
    /// It hands nothing on to the plugin that profiles add.
    pub hands_on_nothing: bool,
    /// It tells of profiles that it passes over in events, and not in its log.
    pub warns_by_events: bool,
    /// It holds each profile by a finalizer until it has left the member.
    pub finalizes: bool,
    /// It acts on the profiles that a decision names, and on no other.
    pub reads_placements: bool,
    /// It takes each slice of a decision but the first for a later wave of its rollout.
    pub rolls_out: bool,
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
    /// It reads namespaces that it was not told to read.
    ReadsAllNamespaces,
    /// It takes profiles of one name for one, whatever their namespace.
    KnowsByNameAlone,
    /// Of several profiles of a member, it takes the youngest.
    TakesTheYoungest,
    /// Of several that are the oldest, it takes one.
    TakesOneOfTied,
    /// It takes all without an identity for one member, if they say so.
    TakesEmptyForOne,
    /// It passes profiles over without a word.
    PassesOverInSilence,
    /// It takes profiles of several inventories for one member.
    TakesInventoriesForOne,
    /// It never acts on a profile that it once did not act on.
    NeverReturns,
    /// It reads the deprecated list first.
    ReadsTheOldList,
    /// It goes around proxies.
    GoesAroundProxies,
    /// It hands on what profiles add, without being told to.
    HandsOnUnasked,
    /// It drops arguments that are there twice.
    DropsRepeats,
    /// It keeps credentials that have expired.
    KeepsCredentials,
    /// It tells the plugin another version of its protocol.
    TellsAnotherVersion,
    /// It writes credentials into its log.
    LogsCredentials,
    /// It does nothing else until a plugin gives a credential.
    StopsAtFailure,
    /// It keeps to the access that a profile no longer names.
    KeepsAccess,
    /// It keeps the members of profiles that are gone.
    KeepsTheGone,
    /// It calls members that are not healthy, although it says that it does not.
    CallsTheSick,
    /// It leaves profiles alone that say something undefined.
    KnowsTheDefinedAlone,
    /// It never looks for what it had made before it was stopped.
    ForgetsOutputs,
    /// It leaves its finalizers behind when it is uninstalled.
    LeavesFinalizers,
    /// It keeps what it knows of members while it is stopped, and never looks through it.
    KeepsOverRestarts,
    /// It reads the slices of a decision up to the first that is empty.
    StopsAtAnEmptySlice,
    /// It takes a profile of another namespace where a reference has none.
    TakesNamesakes,
    /// It keeps the members that have left its decision.
    KeepsTheRemoved,
    /// It writes into slices what it thinks of them.
    WritesSlices,
}

/// The misbehaviours of one that reads decisions.
const WITH_PLACEMENTS: [Misbehaviour; 4] = [
    Misbehaviour::StopsAtAnEmptySlice,
    Misbehaviour::TakesNamesakes,
    Misbehaviour::KeepsTheRemoved,
    Misbehaviour::WritesSlices,
];

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

    /// Whether it acts on the profiles that a decision names, and on no other.
    pub(super) fn reads_placements(&self) -> bool {
        self.habits.reads_placements || WITH_PLACEMENTS.iter().any(|misbehaviour| self.has(*misbehaviour))
    }

    /// Whether it hands on what profiles add.
    pub(super) fn hands_on_additions(&self) -> bool {
        self.claims_additions() || self.has(Misbehaviour::HandsOnUnasked)
    }

    /// Whether it says that it hands on what profiles add.
    pub(super) fn claims_additions(&self) -> bool {
        !self.habits.hands_on_nothing && !self.has(Misbehaviour::HandsOnUnasked)
    }

    pub(super) fn has(&self, misbehaviour: Misbehaviour) -> bool {
        self.misbehaviours.contains(&misbehaviour)
    }
}
