//! Reconciles in rounds: connects to members that are new or moved, and drops those whose profiles are gone.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use evidence::api::names;
use k8s_openapi::api::core::v1::Event;
use kube::api::{ApiResource, DynamicObject};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::{
    CONSUMER, ConsumerWorld, NAMESPACES, UNSELECTED,
    connect::{Access, Connector, MemberConnection, Unusable, access},
    outputs::{Lines, Outputs},
    placements::Placements,
    selection::{acted_on, finalizers_without_own, key, of_one_member, wanted_finalizers},
};
use crate::{
    client::{HubClient, ObjectTarget, RequestError, Via, profile_resource},
    mirror::Mirror,
};

/// How long a round waits for the next.
const ROUND: Duration = Duration::from_secs(1);
/// How often the consumer checks the health of its members, and retries those that it cannot reach.
const CHECK: Duration = Duration::from_secs(10);

/// A running consumer.
pub(super) struct ConsumerController {
    hub: HubClient,
    world: ConsumerWorld,
    started: Instant,
    /// The profiles by namespace.
    profiles: BTreeMap<&'static str, Mirror>,
    /// The profiles of a namespace that it should not read, for faults.
    unselected: Mirror,
    /// Its decision, if it reads one.
    placements: Option<Placements>,
    connector: Connector,
    members: BTreeMap<String, KnownMember>,
    /// Profiles that it once passed over, for a fault.
    passed_over: BTreeSet<String>,
    log: Lines,
    /// The warnings so far.
    warnings: BTreeSet<String>,
    /// The members from before a restart, for a fault.
    previous: BTreeMap<String, Access>,
    outputs: Outputs,
    /// How many checks were planned, for the jitter.
    checks: u64,
}

/// A member on which it acts.
struct KnownMember {
    access: Access,
    /// The resourceVersion of the profile when it connected.
    version: String,
    /// None if the member cannot be reached.
    connection: Option<MemberConnection>,
    next_check: Instant,
}

impl ConsumerController {
    pub fn new(
        hub: HubClient,
        world: ConsumerWorld,
        connector: Connector,
        log: Lines,
        previous: BTreeMap<String, Access>,
    ) -> Self {
        let mirror = |namespace| Mirror::new(profile_resource(), namespace);
        Self {
            hub,
            started: Instant::now(),
            placements: world.reads_placements().then(Placements::new),
            world,
            profiles: NAMESPACES.map(|namespace| (namespace, mirror(namespace))).into(),
            unselected: mirror(UNSELECTED),
            connector,
            members: BTreeMap::new(),
            passed_over: BTreeSet::new(),
            log,
            warnings: BTreeSet::new(),
            previous,
            outputs: Outputs::default(),
            checks: 0,
        }
    }

    /// The members that it keeps over a restart: none, except for a fault.
    pub fn previous(&self) -> BTreeMap<String, Access> {
        if !self.world.has("consumer-change/restart-no-orphans") {
            return BTreeMap::new();
        }
        let members = self.members.iter();
        members
            .map(|(key, member)| (key.clone(), member.access.clone()))
            .collect()
    }

    /// Runs until a request fails.
    pub async fn run(&mut self) -> Result<(), RequestError> {
        loop {
            self.round().await?;
            sleep(ROUND).await;
        }
    }

    async fn round(&mut self) -> Result<(), RequestError> {
        let mut profiles = self.read().await?;
        let unselected: Vec<Arc<DynamicObject>> = self.unselected.shared().collect();
        if self.world.has("consumer-scope/selection-kept") {
            profiles.extend(unselected.iter().cloned());
        }
        for profile in &profiles {
            self.write(profile).await?;
        }
        if let Some(placements) = &mut self.placements {
            placements.select(&self.hub, &self.world, &mut profiles).await?;
        }
        let acted_on = acted_on(&profiles, &unselected, &self.world, &mut self.passed_over);
        self.warn(&profiles, &unselected, &acted_on).await?;
        self.set_finalizers(&profiles, &acted_on).await?;
        self.forget_members(&profiles, &acted_on);
        if self.world.has("consumer-exec/malformed-isolated") && is_any_malformed(&acted_on, &self.world) {
            return Ok(());
        }
        for profile in &acted_on {
            self.reconcile(profile).await;
        }
        self.outputs
            .follow(&self.hub, output_servers(&acted_on, &self.world), &self.world)
            .await?;
        self.check().await;
        Ok(())
    }

    /// The profiles of its namespaces.
    async fn read(&mut self) -> Result<Vec<Arc<DynamicObject>>, RequestError> {
        for mirror in self.profiles.values_mut().chain([&mut self.unselected]) {
            mirror.refresh(&self.hub).await?;
        }
        Ok(self.profiles.values().flat_map(Mirror::shared).collect())
    }

    /// Drops the members of profiles on which it no longer acts.
    fn forget_members(&mut self, profiles: &[Arc<DynamicObject>], acted_on: &[&DynamicObject]) {
        let selected: BTreeSet<String> = acted_on.iter().map(|profile| key(profile, &self.world)).collect();
        let existing: BTreeSet<String> = profiles.iter().map(|profile| key(profile, &self.world)).collect();
        let keeps_deleted = self.world.has("consumer-change/profile-gone");
        self.previous.retain(|key, _| !existing.contains(key));
        let previous = &self.previous;
        self.members.retain(|key, _| {
            selected.contains(key) || previous.contains_key(key) || keeps_deleted && !existing.contains(key)
        });
        for (key, access) in previous {
            let member = || KnownMember {
                access: access.clone(),
                version: String::new(),
                connection: None,
                next_check: Instant::now(),
            };
            self.members.entry(key.clone()).or_insert_with(member);
        }
    }

    /// Reports each profile that it passes over, with the other profiles of the member, once.
    async fn warn(
        &mut self,
        profiles: &[Arc<DynamicObject>],
        unselected: &[Arc<DynamicObject>],
        acted_on: &[&DynamicObject],
    ) -> Result<(), RequestError> {
        if self.world.habits.acts_on_duplicates || self.world.has("consumer-identity/warning-surfaced") {
            return Ok(());
        }
        for profile in profiles {
            let group = of_one_member(profile, profiles, unselected, &self.world);
            if group.len() < 2 || acted_on.iter().any(|one| std::ptr::eq(*one, &**profile)) {
                continue;
            }
            let names: Vec<String> = group.iter().map(|other| key(other, &self.world)).collect();
            let passed_over = key(profile, &self.world);
            let warning = format!(
                "{passed_over} is passed over: one member has the profiles {}",
                names.join(", ")
            );
            if !self.warnings.insert(warning.clone()) {
                continue;
            }
            if self.world.habits.warns_by_events {
                self.write_event(profile, &warning).await?;
            } else {
                self.log.write(warning);
            }
        }
        Ok(())
    }

    async fn set_finalizers(
        &mut self,
        profiles: &[Arc<DynamicObject>],
        acted_on: &[&DynamicObject],
    ) -> Result<(), RequestError> {
        for profile in profiles {
            let is_acted_on = acted_on.iter().any(|one| std::ptr::eq(*one, &**profile));
            if let Some(finalizers) = wanted_finalizers(profile, is_acted_on, &self.world) {
                self.patch_finalizers(profile, &finalizers).await?;
            }
        }
        Ok(())
    }

    /// Removes its finalizers from all profiles.
    pub async fn uninstall(&mut self) -> Result<(), RequestError> {
        if self.world.has("consumer-hub/deletion-not-blocked") {
            return Ok(());
        }
        for profile in self.read().await? {
            if let Some(finalizers) = finalizers_without_own(&profile) {
                self.patch_finalizers(&profile, &finalizers).await?;
            }
        }
        Ok(())
    }

    async fn patch_finalizers(
        &mut self,
        profile: &DynamicObject,
        finalizers: &[String],
    ) -> Result<(), RequestError> {
        let patch = json!({"metadata": {"finalizers": finalizers}});
        self.patch(profile, Via::Object, &patch).await
    }

    /// Connects to the member of a profile if it is new, or if its access changed.
    async fn reconcile(&mut self, profile: &DynamicObject) {
        let key = key(profile, &self.world);
        let access = match access(profile, &self.world) {
            Ok(access) => access,
            Err(Unusable::Malformed) if self.world.habits.keeps_last_known_good => return,
            Err(Unusable::NoAccess) if self.world.has("consumer-change/access-revoked") => return,
            Err(_) => {
                self.members.remove(&key);
                return;
            }
        };
        let version = profile.metadata.resource_version.clone().unwrap_or_default();
        if let Some(member) = self.members.get(&key) {
            let has_moved = member.access != access && !self.world.has("consumer-change/address-followed");
            let is_written =
                member.version != version && self.world.has("consumer-change/heartbeats-harmless");
            if !has_moved && !is_written {
                return;
            }
        }
        sleep(self.work_time()).await;
        let connection = if self.world.habits.calls_no_member {
            None
        } else {
            self.connector.connect(&access, &self.world).await
        };
        self.log.write(format_args!("{key} is acted on"));
        let next_check = self.next_check();
        let member = KnownMember {
            access,
            version,
            connection,
            next_check,
        };
        self.members.insert(key, member);
    }

    fn work_time(&self) -> Duration {
        let habits = &self.world.habits;
        let is_fast = habits
            .is_fast_after
            .is_some_and(|after| self.started.elapsed() >= after);
        if is_fast { Duration::ZERO } else { habits.work_time }
    }

    fn next_check(&mut self) -> Instant {
        let Some(polling) = self.world.habits.polls else {
            return Instant::now() + CHECK;
        };
        self.checks += 1;
        // Spreads evenly over the jitter, and each run repeats it.
        let percent = u32::try_from(self.checks * 37 % 100).unwrap_or_default();
        Instant::now() + polling.interval + polling.jitter * percent / 100
    }

    /// Checks the health of members, and reconnects where a connection is missing or closed.
    async fn check(&mut self) {
        if self.world.habits.calls_no_member {
            return;
        }
        let mut members = std::mem::take(&mut self.members);
        for member in members.values_mut() {
            let connection = member.connection.as_ref();
            let is_ended = connection.is_some_and(|member| member.connection.is_ended());
            let now = Instant::now();
            if now < member.next_check && (!is_ended || self.world.habits.polls.is_some()) {
                continue;
            }
            member.next_check = self.next_check();
            let is_healthy = connection.is_some_and(|connection| {
                self.world.habits.polls.is_none()
                    && !is_ended
                    && self.connector.check(connection, &self.world)
            });
            if !is_healthy {
                member.connection = self.connector.connect(&member.access, &self.world).await;
            }
        }
        self.members = members;
    }

    /// Reports a warning about a profile in an event.
    async fn write_event(&self, profile: &DynamicObject, warning: &str) -> Result<(), RequestError> {
        let namespace = profile.metadata.namespace.as_deref().unwrap_or_default();
        let name = profile.metadata.name.as_deref().unwrap_or_default();
        let event_name = format!("{name}.{}", self.warnings.len());
        let target = ObjectTarget::namespaced(ApiResource::erase::<Event>(&()), namespace, &event_name);
        let event = json!({
            "involvedObject": {
                "apiVersion": profile.types.as_ref().map(|types| &types.api_version),
                "kind": names::KIND,
                "namespace": namespace,
                "name": name,
                "uid": profile.metadata.uid,
            },
            "type": "Warning",
            "reason": "SameMember",
            "message": warning,
            "source": {"component": CONSUMER},
        });
        self.hub.create(&target, CONSUMER, &event).await.map(drop)
    }

    /// Writes to a profile, for faults.
    async fn write(&mut self, profile: &DynamicObject) -> Result<(), RequestError> {
        let labels = profile.metadata.labels.as_ref();
        let is_labelled = labels.is_some_and(|labels| labels.contains_key(CONSUMER));
        let is_new = !self.members.contains_key(&key(profile, &self.world));
        let (via, patch) = if self.world.has("consumer-hub/profile-not-written") && !is_labelled {
            (Via::Object, json!({"metadata": {"labels": {CONSUMER: "seen"}}}))
        } else if self.world.has("consumer-hub/status-not-written") && is_new && is_first_control(profile) {
            (
                Via::Status,
                json!({"status": {"version": {"kubernetes": "v1.34.2+seen"}}}),
            )
        } else {
            return Ok(());
        };
        self.patch(profile, via, &patch).await
    }

    /// Sends a merge patch for a profile.
    async fn patch(&mut self, profile: &DynamicObject, via: Via, patch: &Value) -> Result<(), RequestError> {
        let namespace = profile.metadata.namespace.as_deref().unwrap_or_default();
        let name = profile.metadata.name.as_deref().unwrap_or_default();
        let mirror = self.profiles.get_mut(namespace).unwrap_or(&mut self.unselected);
        mirror.patch(&self.hub, CONSUMER, (name, via), patch).await
    }
}

fn is_any_malformed(profiles: &[&DynamicObject], world: &ConsumerWorld) -> bool {
    let mut access = profiles.iter().map(|profile| access(profile, world));
    access.any(|access| matches!(access, Err(Unusable::Malformed)))
}

/// Whether a profile is the run's first control. No rule expects anything else of it.
fn is_first_control(profile: &DynamicObject) -> bool {
    let name = profile.metadata.name.as_deref().unwrap_or_default();
    name.ends_with("-access-control")
}

/// The server of each output, by the name of its Secret.
fn output_servers(acted_on: &[&DynamicObject], world: &ConsumerWorld) -> BTreeMap<String, String> {
    let outputs = acted_on.iter().filter_map(|profile| {
        let access = access(profile, world).ok()?;
        let name = profile.metadata.name.as_deref().unwrap_or_default();
        let namespace = profile.metadata.namespace.as_deref().unwrap_or_default();
        Some((format!("cluster-{namespace}-{name}"), access.server))
    });
    outputs.collect()
}
