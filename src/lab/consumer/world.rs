//! How the consumer behaves: the habits of an honest one, and its faults.

use std::time::Duration;

use crate::fault::Faults;

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

/// The behavior of a consumer.
#[derive(Clone, Debug)]
pub(super) struct World {
    pub habits: Habits,
    pub faults: Faults,
}

impl World {
    /// True if it has the fault of that id.
    pub fn has(&self, fault: &str) -> bool {
        self.faults.has(fault)
    }

    /// Whether it acts only on the profiles that its decision names. Only such a consumer shows faults about decisions.
    pub fn reads_placements(&self) -> bool {
        self.habits.reads_placements || self.faults.ids().any(|id| id.starts_with("consumer-placement/"))
    }

    /// Whether it passes arguments and variables of profiles to the plugin.
    pub fn passes_profile_args(&self) -> bool {
        self.claims_profile_args() || self.has("consumer-exec/profile-args-off-by-default")
    }

    /// Whether it claims that it does.
    pub fn claims_profile_args(&self) -> bool {
        !self.habits.drops_profile_args && !self.has("consumer-exec/profile-args-off-by-default")
    }
}
