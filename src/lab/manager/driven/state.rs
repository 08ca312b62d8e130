//! What the manager knows: its members, the profiles on the hub, and what a restart loses.

use std::collections::BTreeMap;

use collect::clock::Clock;
use kube::Client;
use tokio::time::Instant;

use super::{
    budget::Budget,
    look::{Health, Inventory},
    misbehaviours::Misbehaviours,
    publish::display_name,
    remote::Commands,
};
use crate::{
    client::{Hub, profile_resource},
    manager::members::FLEET,
    mirror::Mirror,
};

/// Manages the members that the remote control names.
pub(in crate::manager) struct Controller {
    pub(super) commands: Commands,
    pub(super) hub: Hub,
    pub(super) clock: Clock,
    pub(super) misbehaviours: Misbehaviours,
    /// The registered members. A real manager stores this: it survives a restart.
    pub(super) members: BTreeMap<String, Registered>,
    /// State in memory, which a restart loses.
    pub(super) memory: BTreeMap<String, Memory>,
    /// The profiles on the hub.
    pub(super) mirror: Mirror,
    /// Whether the manager cannot list its members.
    pub(super) is_cut_off: bool,
    /// The uids of other managers' profiles, by name.
    pub(super) foreign_uids: BTreeMap<String, String>,
    /// How many members have ever joined.
    pub(super) taken: usize,
}

/// A registered member.
pub(super) struct Registered {
    pub(super) client: Client,
    /// The certificate of its authority.
    pub(super) ca_data: String,
    /// When it joined.
    pub(super) since: Instant,
    /// True if it was the first one ever.
    pub(super) is_first: bool,
    /// True once its profile has been created.
    pub(super) has_profile: bool,
    /// If it has left: until when its profile stays.
    pub(super) lingers: Option<Instant>,
}

/// State of a member in memory.
pub(super) struct Memory {
    pub(super) health: Health,
    pub(super) inventory: Option<Inventory>,
    /// When to ask for its inventory again.
    pub(super) due: Instant,
    pub(super) budget: Budget,
    /// The display name last seen.
    pub(super) display_name: String,
    pub(super) has_credentials: bool,
    /// Whether its control plane has failed since the status was first written.
    pub(super) has_failed: bool,
    /// The status last written.
    pub(super) written: Option<serde_json::Value>,
}

impl Controller {
    pub(in crate::manager) fn new(
        commands: Commands,
        hub: Hub,
        clock: Clock,
        misbehaviours: Misbehaviours,
    ) -> Self {
        Self {
            commands,
            hub,
            clock,
            misbehaviours,
            members: BTreeMap::new(),
            memory: BTreeMap::new(),
            mirror: Mirror::new(profile_resource(), FLEET),
            is_cut_off: false,
            foreign_uids: BTreeMap::new(),
            taken: 0,
        }
    }
}

impl Memory {
    pub(super) fn of_a_newcomer(name: &str) -> Self {
        Self {
            health: Health::Silent,
            inventory: None,
            due: Instant::now(),
            budget: Budget::full(),
            display_name: display_name(name),
            has_credentials: false,
            has_failed: false,
            written: None,
        }
    }

    pub(super) fn after_a_restart(name: &str) -> Self {
        Self {
            budget: Budget::unknown(),
            ..Self::of_a_newcomer(name)
        }
    }
}
