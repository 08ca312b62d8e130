//! How the consumer behaves: the habits of an honest one, and misbehaviour.

use std::{collections::BTreeSet, time::Duration};

use super::faults::Fault;

/// The habits of an honest consumer. None of them is wrong.
#[derive(Clone, Debug, Default)]
pub struct Habits {
    /// Calls its members over new connections from time to time, instead of watching them.
    pub polls: Option<Polling>,
    /// Works on one profile after the other, each for this long.
    pub work_time: Duration,
    /// Needs no `work_time` from this time on, counted from its start.
    pub is_fast_after: Option<Duration>,
    /// Sends so many further requests to a member each time it checks it.
    pub extra_requests: usize,
    /// Keeps connections and uses them again, as an HTTP client does.
    pub pools_connections: bool,
    /// Runs so many further replicas, all of them active.
    pub further_replicas: usize,
    /// Crashes once.
    pub crash: Option<Crash>,
    /// Keeps its last state of a profile that it cannot read.
    pub keeps_last_known_good: bool,
    /// Calls no member; it only writes outputs.
    pub calls_no_member: bool,
    /// Calls unhealthy members as well.
    pub calls_unhealthy: bool,
    /// Acts on each profile of a member.
    pub acts_on_duplicates: bool,
    /// Passes no arguments and variables of profiles to the plugin.
    pub drops_profile_args: bool,
    /// Reports the profiles that it passes over in events instead of its log.
    pub warns_by_events: bool,
    /// Sets a finalizer on each profile that it acts on.
    pub finalizes: bool,
    /// Acts only on the profiles that its decision names.
    pub reads_placements: bool,
    /// Acts on the slices of its decision in waves.
    pub rolls_out: bool,
}

/// How a consumer polls.
#[derive(Clone, Copy, Debug)]
pub struct Polling {
    /// The shortest time between two calls of a member.
    pub interval: Duration,
    /// How much longer that time may be.
    pub jitter: Duration,
}

/// A crash.
#[derive(Clone, Copy, Debug)]
pub struct Crash {
    /// When, counted from its start.
    pub after: Duration,
    /// How long it is down.
    pub down_for: Duration,
}

/// A kind of misbehaviour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Misbehaviour {
    /// Writes the status of a profile.
    WritesStatus,
    /// Labels profiles.
    LabelsProfiles,
    /// Keeps its finalizers on profiles when it is uninstalled.
    LeavesFinalizers,
    /// Identifies profiles by name, without their namespace.
    IgnoresNamespaces,
    /// Reads namespaces that it should not read.
    ReadsAllNamespaces,
    /// Acts on the youngest profile of a member.
    PrefersYoungest,
    /// Acts on one of several profiles that are equally old.
    PicksOneOfTied,
    /// Treats profiles with an empty identity as one member.
    ComparesEmptyIds,
    /// Compares profiles with those of namespaces that it does not read.
    ComparesOtherInventories,
    /// Never acts on a profile that it once passed over.
    NeverReturns,
    /// Does not report the profiles that it passes over.
    PassesOverSilently,
    /// Uses the first provider, known or not.
    UsesFirstProvider,
    /// Uses any provider if it knows none.
    GuessesProvider,
    /// Prefers the deprecated list of providers.
    PrefersDeprecatedList,
    /// Does not verify certificates.
    TrustsAnyAuthority,
    /// Sends no server name.
    DropsServerName,
    /// Connects directly although a profile names a proxy.
    IgnoresProxy,
    /// Wraps the plugin's config in another object.
    WrapsConfig,
    /// Runs the plugin with another API version than its file says.
    ChangesExecVersion,
    /// Passes arguments and variables of profiles to the plugin, although it does not claim so.
    PassesUnclaimedArgs,
    /// Drops repeated arguments.
    DropsRepeatedArgs,
    /// Passes the arguments and variables of all profiles so far.
    LeaksArgs,
    /// Keeps using expired credentials.
    KeepsExpiredCredentials,
    /// Does nothing else until the plugin returns a credential.
    WaitsForPlugin,
    /// Does nothing while it cannot read one of the profiles.
    StopsAtMalformedProfile,
    /// Keeps the first address of a member.
    KeepsAddress,
    /// Keeps using access that a profile no longer has.
    KeepsRevokedAccess,
    /// Keeps calling the members of deleted profiles.
    KeepsDeletedProfiles,
    /// Reconnects whenever a profile is written.
    ReconnectsAtWrites,
    /// Keeps its members over a restart, and never checks whether their profiles still exist.
    KeepsMembersOverRestart,
    /// Does not delete outputs that it made before a restart.
    ForgetsOutputs,
    /// Calls unhealthy members, although it claims that it does not.
    CallsUnhealthy,
    /// Skips profiles with a condition of an unknown type.
    SkipsUnknownConditions,
    /// Reads the slices of a decision up to the first empty one.
    StopsAtEmptySlice,
    /// Resolves a reference without a namespace to a profile of another namespace.
    ResolvesElsewhere,
    /// Keeps calling the members that left its decision.
    KeepsRemovedMembers,
    /// Annotates the slices of decisions.
    WritesSlices,
    /// Uses one credential for all members.
    SharesCredential,
    /// Writes credentials into its log.
    LogsCredentials,
}

/// Misbehaviour that only a consumer of decisions shows.
const WITH_PLACEMENTS: [Misbehaviour; 4] = [
    Misbehaviour::StopsAtEmptySlice,
    Misbehaviour::ResolvesElsewhere,
    Misbehaviour::KeepsRemovedMembers,
    Misbehaviour::WritesSlices,
];

/// The behavior of a consumer.
#[derive(Clone, Debug)]
pub(super) struct World {
    pub habits: Habits,
    misbehaviours: BTreeSet<Misbehaviour>,
}

impl World {
    pub fn new(habits: Habits, faults: &[Fault]) -> Self {
        Self {
            habits,
            misbehaviours: faults.iter().filter_map(Fault::edit).collect(),
        }
    }

    pub fn has(&self, misbehaviour: Misbehaviour) -> bool {
        self.misbehaviours.contains(&misbehaviour)
    }

    /// Whether it acts only on the profiles that its decision names.
    pub fn reads_placements(&self) -> bool {
        self.habits.reads_placements || WITH_PLACEMENTS.iter().any(|misbehaviour| self.has(*misbehaviour))
    }

    /// Whether it passes arguments and variables of profiles to the plugin.
    pub fn passes_profile_args(&self) -> bool {
        self.claims_profile_args() || self.has(Misbehaviour::PassesUnclaimedArgs)
    }

    /// Whether it claims that it does.
    pub fn claims_profile_args(&self) -> bool {
        !self.habits.drops_profile_args && !self.has(Misbehaviour::PassesUnclaimedArgs)
    }
}
