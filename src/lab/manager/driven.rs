//! The members that a run has join, which are observed in rounds.

use std::time::Duration;

use evidence::api::names::{CONDITION_HEALTHY, CONDITION_JOINED, LABEL_MANAGER, PROPERTY_NODE_COUNT};
use futures::future::join_all;
use kube::Client;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    MANAGER,
    controller::{ManagerController, is_ours},
    look::{Health, Inventory, health, inventory, token},
    members::{CONSUMERS, FLEET, new_ca_data},
    status::{difference, status},
    world::{CredentialSecret, FleetMember},
};
use crate::client::{ObjectTarget, RequestError, Via, rfc3339};

/// How often it asks for their inventory, which seldom changes and costs more.
const INVENTORY: Duration = Duration::from_secs(60);
/// The delay of what is too late: beyond every timeout of the suite.
const LATE: Duration = Duration::from_secs(240);
/// Status writes in a row (KEP-4322 › Scalability implication). The documents allow ten; the manager uses fewer, since other
/// clients write too.
const BURST: f64 = 8.0;
/// The writes after a restart: the manager does not know what it wrote before.
const CAUTIOUS: f64 = 2.0;
/// The time until one more write is allowed.
const REFILL: Duration = Duration::from_secs(30);

/// A member that a run has join. Some faults affect only the first: one case is enough to detect them.
pub(super) struct Driven {
    pub(super) member: FleetMember,
    since: Instant,
    /// True if it was the first one ever.
    is_first: bool,
    /// True once its profile has been created.
    has_profile: bool,
    /// If it has left: until when its profile stays.
    lingers: Option<Instant>,
    memory: Memory,
}

/// What a restart loses.
struct Memory {
    health: Health,
    inventory: Option<Inventory>,
    /// When to ask for its inventory again.
    next_poll: Instant,
    /// How many status writes are left, and as of when.
    budget: (f64, Instant),
    /// The display name last seen.
    display_name: String,
    has_credentials: bool,
    /// Whether its control plane has failed since the status was first written.
    has_failed: bool,
    /// The status last written.
    last_status: Option<Value>,
}

impl ManagerController {
    pub(super) fn join(&mut self, name: &str, client: Client) {
        let member = FleetMember::new(name, client, new_ca_data(name));
        let driven = Driven {
            since: Instant::now(),
            is_first: self.joined == 0,
            has_profile: false,
            lingers: None,
            memory: Memory::new(&member, BURST),
            member,
        };
        self.joined += 1;
        self.driven.insert(name.to_owned(), driven);
    }

    pub(super) async fn leave(&mut self, name: &str) -> Result<(), RequestError> {
        let Some(driven) = self.driven.get_mut(name) else {
            return Ok(());
        };
        let member = driven.member.clone();
        let faults = &self.world.faults;
        let keeps_secrets = faults.has("consumers/secrets-retired");
        let keeps_joined = faults.has("conditions/joined-follows-leave");
        let forgets = faults.has("conditions/joined-follows-leave:unchanged");
        if !driven.is_first || !(forgets || keeps_joined || keeps_secrets) {
            self.driven.remove(name);
            return self.delete(&member).await;
        }
        driven.lingers = Some(Instant::now() + LATE);
        if forgets {
            return Ok(());
        }
        if keeps_joined {
            self.delete_secrets(&member).await?;
        } else {
            self.driven.remove(name);
        }
        let Some(profile) = self.hub.find(&member.target()).await? else {
            return Ok(());
        };
        let mut conditions = profile.data["status"]["conditions"].clone();
        for condition in conditions.as_array_mut().into_iter().flatten() {
            if condition["type"] == CONDITION_HEALTHY
                || (condition["type"] == CONDITION_JOINED && !keeps_joined)
            {
                condition["status"] = "False".into();
                condition["reason"] = "Left".into();
                condition["lastTransitionTime"] = rfc3339(self.clock.now()).into();
            }
        }
        let patch = json!({"status": {"conditions": conditions}});
        self.hub
            .patch(&member.target(), MANAGER, Via::Status, &patch)
            .await
            .map(drop)
    }

    /// Loses what is in memory.
    pub(super) fn forget(&mut self) {
        for driven in self.driven.values_mut() {
            driven.memory = Memory::new(&driven.member, CAUTIOUS);
        }
    }

    pub(super) fn driven_members(&self) -> Vec<FleetMember> {
        self.driven.values().map(|driven| driven.member.clone()).collect()
    }

    pub(super) async fn round(&mut self) -> Result<(), RequestError> {
        self.look().await;
        self.mirror.refresh(&self.hub).await?;
        self.meddle().await?;
        for member in self.driven_members() {
            match self.reconcile(&member).await {
                // It was deleted in the meantime: the next round sees that.
                Err(error) if error.is_not_found() => {}
                done => done?,
            }
        }
        let now = Instant::now();
        let lingered = |driven: &Driven| driven.lingers.is_some_and(|until| until <= now);
        let leavers: Vec<FleetMember> = self
            .driven
            .values()
            .filter(|driven| lingered(driven))
            .map(|driven| driven.member.clone())
            .collect();
        for member in leavers {
            self.driven.remove(&member.name);
            self.delete(&member).await?;
        }
        Ok(())
    }

    /// Asks all members in parallel, so that a slow one does not delay the others.
    async fn look(&mut self) {
        let now = self.clock.now();
        let polls = self.driven.values().map(async |driven| {
            let client = &driven.member.client;
            let health = health(client, now).await;
            let is_due = driven.memory.next_poll <= Instant::now();
            (health, if is_due { inventory(client).await } else { None })
        });
        let answers = join_all(polls).await;
        for (driven, (health, inventory)) in self.driven.values_mut().zip(answers) {
            let (memory, faults) = (&mut driven.memory, &self.world.faults);
            let was_down = memory.last_status.is_some() && memory.health != Health::Well;
            memory.health = match health {
                Health::Well if was_down && faults.has("conditions/healthy-follows-outage:recovery") => {
                    Health::Silent
                }
                _ if faults.has("conditions/healthy-follows-outage") => Health::Well,
                health => health,
            };
            memory.has_failed |= memory.health != Health::Well && memory.last_status.is_some();
            let is_asked_once = memory.inventory.is_some() && faults.has("version/follows-upgrade");
            if inventory.is_some() && !is_asked_once {
                memory.inventory = inventory;
                memory.next_poll = Instant::now() + INVENTORY;
            }
        }
    }

    /// Corrects a member's profile.
    async fn reconcile(&mut self, member: &FleetMember) -> Result<(), RequestError> {
        let there = match self.mirror.get(&member.profile) {
            // Another manager has that name.
            Some(there) if !is_ours(there) => return Ok(()),
            Some(there) => there.clone(),
            None if self.refuses_to_create(&member.name) => return Ok(()),
            None => {
                let Some(driven) = self.driven.get_mut(&member.name) else {
                    return Ok(());
                };
                driven.has_profile = true;
                let display_name = driven.memory.display_name.clone();
                let created = self.create(member, &display_name).await?;
                self.mirror.put(created.clone());
                created
            }
        };
        let faults = &self.world.faults;
        let Some(driven) = self.driven.get_mut(&member.name) else {
            return Ok(());
        };
        let is_new = driven.is_first && driven.since.elapsed() < LATE;
        let holds_back = driven.lingers.is_some() || (is_new && faults.has("lifecycle/join-fills-status"));
        let memory = &mut driven.memory;
        if let Some(name) = there.data["spec"]["displayName"].as_str() {
            memory.display_name = name.to_owned();
        }
        let mut labels_to_add = member.labels.clone();
        let labels = there.metadata.labels.clone().unwrap_or_default();
        labels_to_add.retain(|key, value| labels.get(key) != Some(value));
        if !labels_to_add.is_empty() && !faults.has("lifecycle/label-restored") {
            let patch = json!({"metadata": {"labels": labels_to_add}});
            let patched = self
                .hub
                .patch(&member.target(), MANAGER, Via::Object, &patch)
                .await?;
            self.mirror.put(patched);
        }
        let mut new_status = status(
            member,
            memory.inventory.as_ref(),
            &memory.health,
            &there,
            self.clock.now(),
        );
        if memory.has_failed
            && faults.has("lifecycle/heal-restores-status")
            && let Some(properties) = new_status["properties"].as_array_mut()
        {
            properties.retain(|property| property["name"] != PROPERTY_NODE_COUNT);
        }
        let trusts_memory =
            faults.has("lifecycle/status-restored") && memory.last_status.as_ref() == Some(&new_status);
        if let Some(patch) = difference(&there, &new_status)
            && !holds_back
            && !trusts_memory
            && memory.may_write()
        {
            let patched = self
                .hub
                .patch(&member.target(), MANAGER, Via::Status, &patch)
                .await?;
            self.mirror.put(patched);
            memory.last_status = Some(new_status);
        }
        if !memory.has_credentials && memory.inventory.is_some() {
            let has_credentials = self.give_credentials(member).await?;
            if let Some(driven) = self.driven.get_mut(&member.name) {
                driven.memory.has_credentials = has_credentials;
            }
        }
        Ok(())
    }

    /// True if a fault keeps the manager from creating a member's profile.
    fn refuses_to_create(&self, name: &str) -> bool {
        let Some(driven) = self.driven.get(name) else {
            return false;
        };
        let is_new = driven.is_first && driven.since.elapsed() < LATE;
        let is_similar = |other: &String| {
            name.strip_prefix(&**other)
                .is_some_and(|rest| rest.starts_with('-'))
        };
        (is_new && self.has("lifecycle/join-creates-profile"))
            || (driven.has_profile && self.has("lifecycle/deleted-profile-restored"))
            || (self.has("lifecycle/join-creates-profile:similar") && self.driven.keys().any(is_similar))
            || (self.is_cut_off && self.has("lifecycle/cut-off-keeps-profiles"))
    }

    /// Gives each consumer its missing Secret for a member, with the token of a service account in that member. Returns
    /// whether all have one: a member that does not answer is asked again later.
    async fn give_credentials(&mut self, member: &FleetMember) -> Result<bool, RequestError> {
        for consumer in CONSUMERS {
            let target = CredentialSecret::new(member, consumer, "").target();
            if self.hub.find(&target).await?.is_some() {
                continue;
            }
            let Ok(Some(token)) = token(&member.client, consumer).await else {
                return Ok(false);
            };
            let secret = CredentialSecret::new(member, consumer, &token);
            secret.create(&self.hub).await?;
            self.world.secrets.push(secret);
        }
        Ok(true)
    }

    /// Changes profiles that a conforming manager would leave as they are.
    async fn meddle(&mut self) -> Result<(), RequestError> {
        for profile in self.mirror.all().filter(|profile| !is_ours(profile)) {
            let metadata = &profile.metadata;
            let target = ObjectTarget::profile(FLEET, metadata.name.as_deref().unwrap_or_default());
            let is_changed = metadata.generation.is_some_and(|generation| generation > 1);
            let uid = metadata.uid.clone().unwrap_or_default();
            let uid_before = self.foreign_uids.insert(target.name.clone(), uid.clone());
            let is_recreated = uid_before.is_some_and(|earlier_uid| earlier_uid != uid);
            if self.has("lifecycle/foreign-profiles-untouched:deleted")
                || (is_changed && self.has("lifecycle/foreign-profiles-untouched:changed"))
                || (is_recreated && self.has("lifecycle/foreign-profiles-untouched:recreated"))
            {
                self.hub.delete(&target).await?;
            }
            let label = metadata
                .labels
                .as_ref()
                .and_then(|labels| labels.get(LABEL_MANAGER));
            if label.is_none_or(|label| label != MANAGER) && self.has("lifecycle/foreign-profiles-untouched")
            {
                let patch = json!({"metadata": {"labels": {LABEL_MANAGER: MANAGER}}});
                self.hub.patch(&target, MANAGER, Via::Object, &patch).await?;
            }
        }
        for member in self.driven_members() {
            let display_name = member.display_name();
            let there = self.mirror.get(&member.profile);
            let is_renamed = there.is_some_and(|there| there.data["spec"]["displayName"] != display_name);
            if is_renamed && self.has("identity/display-name-kept") {
                let patch = json!({"spec": {"displayName": display_name}});
                self.hub
                    .patch(&member.target(), MANAGER, Via::Object, &patch)
                    .await?;
            }
        }
        Ok(())
    }
}

impl Memory {
    fn new(member: &FleetMember, writes: f64) -> Self {
        Self {
            health: Health::Silent,
            inventory: None,
            next_poll: Instant::now(),
            budget: (writes, Instant::now()),
            display_name: member.display_name(),
            has_credentials: false,
            has_failed: false,
            last_status: None,
        }
    }

    /// Returns true, and counts the write, if one is allowed now.
    fn may_write(&mut self) -> bool {
        let (tokens, since) = self.budget;
        let tokens = (tokens + since.elapsed().as_secs_f64() / REFILL.as_secs_f64()).min(BURST);
        let is_allowed = tokens >= 1.0;
        self.budget = (if is_allowed { tokens - 1.0 } else { tokens }, Instant::now());
        is_allowed
    }
}
