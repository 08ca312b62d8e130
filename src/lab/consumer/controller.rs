//! Reconciles in rounds: connects to members that are new or elsewhere, and leaves those that are gone.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use evidence::api::names;
use k8s_openapi::api::core::v1::Event;
use kube::api::{ApiResource, DynamicObject};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::{
    access::{Access, Unusable, access},
    connect::{Connector, Line},
    finalizers,
    log::Lines,
    names::{CONSUMER, NAMESPACES, PROVIDER, UNSELECTED},
    outputs::Outputs,
    placements::Placements,
    selection::{acted_on, key, of_one_member},
    world::{Misbehaviour, World},
};
use crate::{
    client::{Hub, RequestError, Target, Via, profile_resource},
    mirror::Mirror,
};

/// How often the consumer compares members.
const ROUND: Duration = Duration::from_secs(1);
/// How often it asks them whether they are well, and tries those again that it cannot reach.
const CHECK: Duration = Duration::from_secs(10);

/// The consumer at work.
pub(super) struct Controller {
    hub: Hub,
    world: World,
    /// The profiles by their namespace.
    profiles: BTreeMap<&'static str, Mirror>,
    /// Those of another namespace, which are none of its business.
    unselected: Mirror,
    /// The decision by which it acts, if it reads one.
    placements: Option<Placements>,
    connector: Connector,
    engaged: BTreeMap<String, Engaged>,
    /// Profiles that it once did not act on, as another one was older.
    passed_over: BTreeSet<String>,
    log: Lines,
    /// What it has said of profiles that it passes over.
    said: BTreeSet<String>,
    /// What it had kept of members when it was stopped: for a fault.
    kept: BTreeMap<String, Access>,
    outputs: Outputs,
}

/// A member that it works with.
struct Engaged {
    access: Access,
    /// The version of the profile that it connected for.
    version: String,
    /// None if it cannot be reached.
    line: Option<Line>,
    checked: Instant,
}

impl Controller {
    pub(super) fn new(
        hub: Hub,
        world: World,
        connector: Connector,
        log: Lines,
        kept: BTreeMap<String, Access>,
    ) -> Self {
        let mirror = |namespace| Mirror::new(profile_resource(), namespace);
        Self {
            hub,
            placements: world.reads_placements().then(Placements::new),
            world,
            profiles: NAMESPACES.map(|namespace| (namespace, mirror(namespace))).into(),
            unselected: mirror(UNSELECTED),
            connector,
            engaged: BTreeMap::new(),
            passed_over: BTreeSet::new(),
            log,
            said: BTreeSet::new(),
            kept,
            outputs: Outputs::default(),
        }
    }

    /// What it keeps of its members when it is stopped: nothing, but for a fault.
    pub(super) fn kept(&self) -> BTreeMap<String, Access> {
        let engaged = self.engaged.iter();
        let engaged = engaged.filter(|_| self.world.has(Misbehaviour::KeepsOverRestarts));
        engaged
            .map(|(key, engaged)| (key.clone(), engaged.access.clone()))
            .collect()
    }

    /// Takes up again what it had kept of members that nobody speaks of any more.
    fn resume(&mut self, there: &BTreeSet<String>) {
        self.kept.retain(|key, _| !there.contains(key));
        for (key, access) in &self.kept {
            let engaged = || Engaged {
                access: access.clone(),
                version: String::new(),
                line: None,
                checked: Instant::now(),
            };
            self.engaged.entry(key.clone()).or_insert_with(engaged);
        }
    }

    /// Never ends by itself.
    pub(super) async fn run(&mut self) -> Result<(), RequestError> {
        loop {
            let mut profiles = self.read().await?;
            let of_others: Vec<DynamicObject> = self.unselected.all().cloned().collect();
            if self.world.has(Misbehaviour::ReadsAllNamespaces) {
                profiles.extend(of_others.iter().cloned());
            }
            for profile in &profiles {
                self.write(profile).await?;
            }
            if let Some(placements) = &mut self.placements {
                placements.select(&self.hub, &self.world, &mut profiles).await?;
            }
            let acted_on = acted_on(&profiles, &of_others, &self.world, &mut self.passed_over);
            self.warn(&profiles, &of_others, &acted_on).await?;
            for profile in &profiles {
                let is_acted_on = acted_on.iter().any(|acted_on| std::ptr::eq(*acted_on, profile));
                if let Some(finalizers) = finalizers::wanted(profile, is_acted_on, &self.world) {
                    self.finalize(profile, &finalizers).await?;
                }
            }
            let key = |profile: &DynamicObject| key(profile, &self.world);
            let wanted: BTreeSet<String> = acted_on.iter().copied().map(key).collect();
            let there: BTreeSet<String> = profiles.iter().map(key).collect();
            let keeps_gone = self.world.has(Misbehaviour::KeepsTheGone);
            self.engaged.retain(|key, _| {
                let is_gone = keeps_gone && !there.contains(key);
                wanted.contains(key) || is_gone || self.kept.contains_key(key)
            });
            self.resume(&there);
            let outputs = acted_on.iter().filter_map(|profile| {
                let access = access(profile, PROVIDER, &self.world).ok()?;
                let name = profile.metadata.name.as_deref().unwrap_or_default();
                let namespace = profile.metadata.namespace.as_deref().unwrap_or_default();
                Some((format!("cluster-{namespace}-{name}"), access.server))
            });
            let outputs = outputs.collect();
            self.outputs.follow(&self.hub, outputs, &self.world).await?;
            for profile in acted_on {
                self.reconcile(profile).await;
            }
            self.check().await;
            sleep(ROUND).await;
        }
    }

    /// Tells of each profile that it passes over, and of the others of the same member, once.
    async fn warn(
        &mut self,
        profiles: &[DynamicObject],
        of_others: &[DynamicObject],
        acted_on: &[&DynamicObject],
    ) -> Result<(), RequestError> {
        if self.world.habits.repeats_itself || self.world.has(Misbehaviour::PassesOverInSilence) {
            return Ok(());
        }
        for profile in profiles {
            let same = of_one_member(profile, profiles, of_others, &self.world);
            let is_acted_on = acted_on
                .iter()
                .any(|other| other.metadata.uid == profile.metadata.uid);
            if is_acted_on || same.len() < 2 {
                continue;
            }
            let names: Vec<String> = same.iter().map(|other| key(other, &self.world)).collect();
            let passed_over = key(profile, &self.world);
            let warning = format!(
                "{passed_over} is passed over: one member has the profiles {}",
                names.join(", ")
            );
            if !self.said.insert(warning.clone()) {
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

    /// The profiles of its namespaces, as they are now.
    async fn read(&mut self) -> Result<Vec<DynamicObject>, RequestError> {
        for mirror in self.profiles.values_mut().chain([&mut self.unselected]) {
            mirror.refresh(&self.hub).await?;
        }
        Ok(self.profiles.values().flat_map(Mirror::all).cloned().collect())
    }

    /// Takes its finalizers off all profiles.
    pub(super) async fn uninstall(&mut self) -> Result<(), RequestError> {
        if self.world.has(Misbehaviour::LeavesFinalizers) {
            return Ok(());
        }
        for profile in self.read().await? {
            if let Some(finalizers) = finalizers::without(&profile) {
                self.finalize(&profile, &finalizers).await?;
            }
        }
        Ok(())
    }

    /// Gives a profile those finalizers.
    async fn finalize(&mut self, profile: &DynamicObject, finalizers: &[String]) -> Result<(), RequestError> {
        let patch = json!({"metadata": {"finalizers": finalizers}});
        self.patch(profile, Via::Object, &patch).await
    }

    /// Connects to a member, if there is cause.
    async fn reconcile(&mut self, profile: &DynamicObject) {
        let key = key(profile, &self.world);
        let wanted = match access(profile, PROVIDER, &self.world) {
            Ok(access) => access,
            Err(Unusable::Malformed) if self.world.has(Misbehaviour::StopsAtMalformed) => {
                std::future::pending().await
            }
            Err(Unusable::Malformed) if self.world.habits.keeps_last_known_good => return,
            Err(Unusable::NoAccess) if self.world.has(Misbehaviour::KeepsAccess) => return,
            Err(_) => {
                self.engaged.remove(&key);
                return;
            }
        };
        let version = profile.metadata.resource_version.clone().unwrap_or_default();
        if let Some(engaged) = self.engaged.get(&key) {
            let is_other = engaged.access != wanted && !self.world.has(Misbehaviour::KeepsAddress);
            let is_written = engaged.version != version && self.world.has(Misbehaviour::ReconnectsAlways);
            if !is_other && !is_written {
                return;
            }
        }
        sleep(self.world.habits.takes).await;
        let line = if self.world.habits.calls_nobody {
            None
        } else {
            self.connector.connect(&wanted, &self.world).await
        };
        self.log.write(format_args!("{key} is acted on"));
        let engaged = Engaged {
            access: wanted,
            version,
            line,
            checked: Instant::now(),
        };
        self.engaged.insert(key, engaged);
    }

    /// Asks members whether they are well. Those that could not be reached, and those that ended the connection, it tries again.
    async fn check(&mut self) {
        if self.world.habits.calls_nobody {
            return;
        }
        for engaged in self.engaged.values_mut() {
            let is_ended = engaged.line.as_ref().is_some_and(Line::is_ended);
            if !is_ended && engaged.checked.elapsed() < CHECK {
                continue;
            }
            engaged.checked = Instant::now();
            let goes_on = engaged
                .line
                .as_ref()
                .is_some_and(|line| !self.world.habits.polls && !is_ended && self.connector.check(line));
            if !goes_on {
                engaged.line = self.connector.connect(&engaged.access, &self.world).await;
            }
        }
    }

    /// Tells of a profile in an event.
    async fn write_event(&self, profile: &DynamicObject, warning: &str) -> Result<(), RequestError> {
        let (namespace, name) = (&profile.metadata.namespace, &profile.metadata.name);
        let target = Target {
            resource: ApiResource::erase::<Event>(&()),
            namespace: namespace.clone(),
            name: format!("{}.{}", name.as_deref().unwrap_or_default(), self.said.len()),
        };
        let event = json!({
            "metadata": {"name": target.name, "namespace": namespace},
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

    /// Writes to a profile, as no consumer should.
    async fn write(&mut self, profile: &DynamicObject) -> Result<(), RequestError> {
        let labels = profile.metadata.labels.as_ref();
        let is_labelled = labels.is_some_and(|labels| labels.contains_key(CONSUMER));
        let is_new = !self.engaged.contains_key(&key(profile, &self.world));
        let (via, patch) = if self.world.has(Misbehaviour::LabelsProfiles) && !is_labelled {
            (Via::Object, json!({"metadata": {"labels": {CONSUMER: "seen"}}}))
        } else if self.world.has(Misbehaviour::WritesStatus) && is_new {
            (
                Via::Status,
                json!({"status": {"version": {"kubernetes": "v1.34.2+seen"}}}),
            )
        } else {
            return Ok(());
        };
        self.patch(profile, via, &patch).await
    }

    /// Merges a patch into a profile.
    async fn patch(&mut self, profile: &DynamicObject, via: Via, patch: &Value) -> Result<(), RequestError> {
        let namespace = profile.metadata.namespace.as_deref().unwrap_or_default();
        let name = profile.metadata.name.as_deref().unwrap_or_default();
        let mirror = self.profiles.get_mut(namespace).unwrap_or(&mut self.unselected);
        mirror.patch(&self.hub, CONSUMER, (name, via), patch).await
    }
}
