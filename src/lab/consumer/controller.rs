//! Reconciles in rounds: connects to members that are new or elsewhere, and leaves those that are gone.

use std::{collections::BTreeMap, time::Duration};

use kube::api::DynamicObject;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::{
    access::{Access, Unusable, access},
    connect::{Connector, Line},
    names::{CONSUMER, NAMESPACE, PROVIDER},
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
    pub(super) hub: Hub,
    pub(super) world: World,
    pub(super) profiles: Mirror,
    pub(super) connector: Connector,
    engaged: BTreeMap<String, Engaged>,
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
    pub(super) fn new(hub: Hub, world: World, connector: Connector) -> Self {
        Self {
            hub,
            world,
            profiles: Mirror::new(profile_resource(), NAMESPACE),
            connector,
            engaged: BTreeMap::new(),
        }
    }

    /// Never ends by itself.
    pub(super) async fn run(mut self) -> Result<(), RequestError> {
        loop {
            self.profiles.refresh(&self.hub).await?;
            let profiles: Vec<DynamicObject> = self.profiles.all().cloned().collect();
            let name = |profile: &DynamicObject| profile.metadata.name.clone().unwrap_or_default();
            self.engaged
                .retain(|engaged, _| profiles.iter().any(|profile| name(profile) == *engaged));
            for profile in &profiles {
                self.write(profile, &name(profile)).await?;
                self.reconcile(profile, name(profile)).await;
            }
            self.check();
            sleep(ROUND).await;
        }
    }

    /// Connects to a member, if there is cause.
    async fn reconcile(&mut self, profile: &DynamicObject, name: String) {
        let wanted = match access(profile, PROVIDER, &self.world) {
            Ok(access) => access,
            Err(Unusable::Malformed) if self.world.has(Misbehaviour::StopsAtMalformed) => {
                std::future::pending().await
            }
            Err(_) if self.world.habits.keeps_last_known_good => return,
            Err(_) => {
                self.engaged.remove(&name);
                return;
            }
        };
        let version = profile.metadata.resource_version.clone().unwrap_or_default();
        if let Some(engaged) = self.engaged.get(&name) {
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
            self.connector.connect(&wanted, &self.world)
        };
        let engaged = Engaged {
            access: wanted,
            version,
            line,
            checked: Instant::now(),
        };
        self.engaged.insert(name, engaged);
    }

    /// Asks members whether they are well, and tries those again that could not be reached.
    fn check(&mut self) {
        if self.world.habits.calls_nobody {
            return;
        }
        for engaged in self.engaged.values_mut() {
            if engaged.checked.elapsed() < CHECK {
                continue;
            }
            engaged.checked = Instant::now();
            match &engaged.line {
                Some(line) if !self.world.habits.polls => self.connector.check(line),
                _ => engaged.line = self.connector.connect(&engaged.access, &self.world),
            }
        }
    }

    /// Writes to a profile, as no consumer should.
    async fn write(&mut self, profile: &DynamicObject, name: &str) -> Result<(), RequestError> {
        let target = Target {
            resource: profile_resource(),
            namespace: Some(NAMESPACE.to_owned()),
            name: name.to_owned(),
        };
        let labels = profile.metadata.labels.as_ref();
        let is_labelled = labels.is_some_and(|labels| labels.contains_key(CONSUMER));
        let (via, patch) = if self.world.has(Misbehaviour::LabelsProfiles) && !is_labelled {
            (Via::Object, json!({"metadata": {"labels": {CONSUMER: "seen"}}}))
        } else if self.world.has(Misbehaviour::WritesStatus) && !self.engaged.contains_key(name) {
            (
                Via::Status,
                json!({"status": {"version": {"kubernetes": "v1.34.2+seen"}}}),
            )
        } else {
            return Ok(());
        };
        match self.hub.patch(&target, CONSUMER, via, &patch).await {
            Ok(written) => self.profiles.put(written),
            // It was deleted meanwhile: the watch tells.
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
