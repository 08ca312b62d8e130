//! Reconciles members: observes them, compares their profiles, and corrects what differs.
//!
//! The script says when a member of the fleet is observed; the members that a run has join are observed in rounds. Either
//! way the status is computed from the member's answers and the profile on the hub. So a restart costs no write, a deleted
//! profile is restored, and edits of other clients are corrected.

use std::{collections::BTreeMap, mem::take, sync::Arc, time::Duration};

use collect::clock::Clock;
use evidence::DriverAction;
use kube::api::DynamicObject;
use tokio::time::{Instant, sleep, sleep_until};

use super::{
    MANAGER,
    driven::Driven,
    faults::misreport,
    look::{health, inventory},
    members::{FLEET, GROWING},
    status::{difference, status},
    world::{CredentialSecret, FleetMember, LAG, ManagerAction, ManagerStep, ManagerWorld},
};
use crate::{
    client::{HubClient, RequestError, Via, minutes, profile_resource},
    driver::{Order, Orders},
    mirror::Mirror,
};

/// How often the manager asks driven members for their health, and compares profiles.
const ROUND: Duration = Duration::from_secs(10);
/// How long it waits for further joins before a round.
const TOGETHER: Duration = Duration::from_secs(1);
/// How long the manager takes to notice that it is cut off, or connected again.
const NOTICE: Duration = Duration::from_secs(5);
/// How long a restart takes.
const RESTART: Duration = Duration::from_secs(5);
/// The first change of a node count, and the time between changes.
const FIRST_GROWTH: Duration = minutes(5);
const GROWTH_PERIOD: Duration = minutes(7);

/// Manages the fleet of the world, and the members that a run has join.
pub(super) struct ManagerController {
    pub(super) hub: HubClient,
    pub(super) clock: Clock,
    pub(super) world: ManagerWorld,
    started: Instant,
    /// The members that a run has join. A real manager stores this: it survives a restart.
    pub(super) driven: BTreeMap<String, Driven>,
    /// The profiles on the hub.
    pub(super) mirror: Mirror,
    /// Whether the manager cannot list its members.
    pub(super) is_cut_off: bool,
    /// The uids of other managers' profiles, by name.
    pub(super) foreign_uids: BTreeMap<String, String>,
    /// How many members have ever joined.
    pub(super) joined: usize,
}

impl ManagerController {
    pub(super) fn new(hub: HubClient, clock: Clock, world: ManagerWorld) -> Self {
        Self {
            hub,
            clock,
            world,
            started: Instant::now(),
            driven: BTreeMap::new(),
            mirror: Mirror::new(profile_resource(), FLEET),
            is_cut_off: false,
            foreign_uids: BTreeMap::new(),
            joined: 0,
        }
    }

    /// Publishes the fleet as it is at first.
    pub(super) async fn publish(mut self) -> Result<(), RequestError> {
        let joining = self.world.joining();
        for member in take(&mut self.world.fleet) {
            if !joining.contains_key(&member.name) {
                if member.is_younger {
                    sleep(Duration::from_secs(1)).await;
                }
                let created = self.create(&member, &member.display_name()).await?;
                self.observe(&member, &created).await?;
            }
        }
        for secret in &self.world.secrets {
            if !joining.contains_key(&secret.member) {
                secret.create(&self.hub).await?;
            }
        }
        Ok(())
    }

    /// Plays the script, and follows the remote control. Never ends by itself.
    pub(super) async fn run(mut self, mut orders: Orders) -> Result<(), RequestError> {
        let mut script = take(&mut self.world.script);
        // A stable sort: steps at one time keep their order.
        script.sort_by_key(|step| step.at);
        let mut script = script.into_iter().peekable();
        let grows = !self.world.fleet.is_empty();
        let mut growth = growth().peekable();
        let mut round_at = Instant::now();
        loop {
            let at = |step: Option<&ManagerStep>| step.map(|step| step.at);
            let (script_at, growth_at) = (at(script.peek()), grows.then(|| at(growth.peek())).flatten());
            let step_at = script_at.into_iter().chain(growth_at).min();
            tokio::select! {
                biased;
                Some((order, confirm)) = orders.recv() => {
                    // A member is confirmed before it has a profile, and before its profile is deleted.
                    let is_member = matches!(order.action, DriverAction::Join | DriverAction::Leave);
                    let is_join = order.action == DriverAction::Join;
                    if is_member {
                        let _ = confirm.send(());
                        self.follow(order).await?;
                    } else {
                        self.follow(order).await?;
                        let _ = confirm.send(());
                        round_at = Instant::now();
                    }
                    if is_join {
                        let (now, soon) = (Instant::now(), Instant::now() + TOGETHER);
                        round_at = if round_at < now { soon } else { round_at.min(soon) };
                    }
                }
                () = sleep_until(self.started + step_at.unwrap_or_default()), if step_at.is_some() => {
                    let step = if script_at == step_at { script.next() } else { growth.next() };
                    if let Some(step) = step {
                        self.take(step).await?;
                    }
                }
                () = sleep_until(round_at), if !self.driven.is_empty() => {
                    self.round().await?;
                    round_at = Instant::now() + ROUND;
                }
            }
        }
    }

    async fn follow(&mut self, order: Order) -> Result<(), RequestError> {
        match (order.action, order.member) {
            (DriverAction::Join, Some(client)) => self.join(&order.name, client),
            (DriverAction::Leave, _) => return self.leave(&order.name).await,
            (DriverAction::Restart, _) => {
                self.forget();
                self.mirror = Mirror::new(profile_resource(), FLEET);
                sleep(RESTART).await;
                if self.has("lifecycle/restart-keeps-profiles") {
                    for driven in self.driven.values() {
                        self.hub.delete(&driven.member.target()).await?;
                    }
                }
            }
            (DriverAction::Disconnect | DriverAction::Reconnect, _) => {
                // A manager that is cut off keeps the members that it knows.
                self.is_cut_off = order.action == DriverAction::Disconnect;
                sleep(NOTICE).await;
                if self.has("lifecycle/cut-off-keeps-profiles") {
                    self.forget();
                    let members_to_lose = if self.is_cut_off {
                        self.driven_members()
                    } else {
                        Vec::new()
                    };
                    for member in members_to_lose {
                        self.delete(&member).await?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Takes a step of the script.
    async fn take(&mut self, step: ManagerStep) -> Result<(), RequestError> {
        if let ManagerAction::Happen(event) = &step.action {
            if let Some(member) = self.world.fake_members.get(&step.member) {
                member.alter(|state| event(state));
            }
            return Ok(());
        }
        let mut fleet = self.world.fleet.iter();
        let Some(member) = fleet.find(|member| member.name == step.member).cloned() else {
            return Ok(());
        };
        match step.action {
            ManagerAction::Join => {
                self.create(&member, &member.display_name()).await?;
                let secrets = self.world.secrets.iter();
                for secret in secrets.filter(|secret| secret.member == member.name) {
                    secret.create(&self.hub).await?;
                }
                Ok(())
            }
            ManagerAction::Observe => match self.hub.find(&member.target()).await? {
                Some(there) => self.observe(&member, &there).await,
                None => Ok(()),
            },
            ManagerAction::Leave => self.delete(&member).await,
            ManagerAction::Request { by, via, patch } => {
                match self.hub.patch(&member.target(), by, via, &patch).await {
                    // A fault may send what the hub refuses.
                    Err(error) if error.is_invalid() => Ok(()),
                    done => done.map(drop),
                }
            }
            ManagerAction::Happen(_) => Ok(()),
        }
    }

    pub(super) fn has(&self, fault: &str) -> bool {
        self.world.faults.has(fault)
    }

    /// Creates a member's profile, without its status.
    pub(super) async fn create(
        &self,
        member: &FleetMember,
        display_name: &str,
    ) -> Result<DynamicObject, RequestError> {
        let hub = self.acting_as(member.creator.as_deref());
        hub.create(&member.target(), &member.writer, &member.to_json(display_name))
            .await
    }

    /// Observes a member of the fleet, and writes its status if that changed.
    async fn observe(&self, member: &FleetMember, there: &DynamicObject) -> Result<(), RequestError> {
        let now = self.clock.now();
        let health = health(&member.client, now).await;
        let inventory = inventory(&member.client).await;
        let mut new_status = status(member, inventory.as_ref(), &health, there, now);
        misreport(
            &mut new_status,
            &member.name,
            &self.world.faults,
            self.started.elapsed(),
            now,
        );
        if let Some(patch) = member.patch.get("status") {
            json_patch::merge(&mut new_status, patch);
        }
        if let Some(patch) = difference(there, &new_status) {
            let hub = self.acting_as(member.updater.as_deref());
            hub.patch(&member.target(), &member.writer, Via::Status, &patch)
                .await?;
        }
        Ok(())
    }

    fn acting_as(&self, user: Option<&str>) -> HubClient {
        user.map_or_else(|| self.hub.clone(), |user| self.hub.acting_as(user))
    }

    /// Deletes a member's Secrets and its profile, unless the profile is that of another manager.
    pub(super) async fn delete(&mut self, member: &FleetMember) -> Result<(), RequestError> {
        // Credentials first: no Secret may name a missing profile.
        self.delete_secrets(member).await?;
        match self.hub.find(&member.target()).await? {
            Some(profile) if is_ours(&profile) => self.hub.delete(&member.target()).await,
            _ => Ok(()),
        }
    }

    pub(super) async fn delete_secrets(&mut self, member: &FleetMember) -> Result<(), RequestError> {
        let is_of_member = |secret: &CredentialSecret| secret.member == member.name;
        for secret in self.world.secrets.iter().filter(|secret| is_of_member(secret)) {
            self.hub.delete(&secret.target()).await?;
        }
        self.world.secrets.retain(|secret| !is_of_member(secret));
        Ok(())
    }
}

/// True if a profile on the hub is the manager's.
pub(super) fn is_ours(profile: &DynamicObject) -> bool {
    profile.data["spec"]["clusterManager"]["name"] == MANAGER
}

/// The changes of node counts, without end: each growing member in turn gains a node, then each loses one.
fn growth() -> impl Iterator<Item = ManagerStep> {
    (0..).flat_map(|index: u32| {
        let is_gain = (index as usize / GROWING.len()).is_multiple_of(2);
        let at = FIRST_GROWTH + GROWTH_PERIOD * index;
        let event = ManagerAction::Happen(Arc::new(move |member| {
            member.nodes = if is_gain {
                member.nodes + 1
            } else {
                member.nodes.saturating_sub(1)
            };
        }));
        [(at - LAG, event), (at, ManagerAction::Observe)].map(|(at, action)| ManagerStep {
            at,
            member: GROWING[index as usize % GROWING.len()].to_owned(),
            action,
        })
    })
}
