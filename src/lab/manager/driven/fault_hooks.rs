//! Hooks by which the manager misbehaves. Each does nothing unless a fault asks for it.
//!
//! The controller calls these hooks, which act on its state and call nothing of it.

use evidence::api::names::{CONDITION_HEALTHY, CONDITION_JOINED, LABEL_MANAGER, PROPERTY_NODE_COUNT};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    credentials,
    look::Health,
    misbehaviours::{LATE, Misbehaviour, Misbehaviours},
    publish::{display_name, is_ours, profile_name, target},
    state::{Controller, Memory},
};
use crate::{
    client::{RequestError, Target, Via, profile_resource},
    manager::{members::FLEET, status::rfc3339, world::MANAGER},
};

impl Controller {
    /// The health that the manager believes a member has.
    pub(super) fn believed(&self, name: &str, health: Health) -> Health {
        let before = self.memory.get(name).filter(|memory| memory.written.is_some());
        let was_well = before.is_none_or(|memory| memory.health == Health::Well);
        match health {
            Health::Well if !was_well && self.misbehaviours.has(Misbehaviour::IgnoresRecovery) => {
                Health::Silent
            }
            _ if self.misbehaviours.has(Misbehaviour::IgnoresOutages) => Health::Well,
            health => health,
        }
    }

    pub(super) fn refuses_to_create(&self, name: &str) -> bool {
        let Some(member) = self.members.get(name) else {
            return false;
        };
        let is_new = member.is_first && member.since.elapsed() < LATE;
        (is_new && self.misbehaviours.has(Misbehaviour::CreatesLate))
            || (member.has_profile && self.misbehaviours.has(Misbehaviour::CreatesOnce))
            || self.is_confused(name)
            || (self.is_cut_off && self.misbehaviours.has(Misbehaviour::ForgetsUnlisted))
    }

    /// True if the name of a member is that of another one and a suffix, and the manager confuses them.
    fn is_confused(&self, name: &str) -> bool {
        let is_prefix = |other: &String| {
            name.strip_prefix(&**other)
                .is_some_and(|rest| rest.starts_with('-'))
        };
        self.misbehaviours.has(Misbehaviour::ConfusesNames) && self.members.keys().any(is_prefix)
    }

    /// True if writes of a member's status are skipped.
    pub(super) fn holds_back(&self, name: &str) -> bool {
        let Some(member) = self.members.get(name) else {
            return false;
        };
        let is_new = member.is_first && member.since.elapsed() < LATE;
        (is_new && self.misbehaviours.has(Misbehaviour::FillsLate)) || member.lingers.is_some()
    }

    /// True if the profile of a leaving member stays for now.
    pub(super) async fn lets_linger(&mut self, name: &str) -> Result<bool, RequestError> {
        let misbehaviours = [
            Misbehaviour::ForgetsLeave,
            Misbehaviour::KeepsJoined,
            Misbehaviour::KeepsSecrets,
        ];
        let Some(misbehaviour) = misbehaviours
            .into_iter()
            .find(|misbehaviour| self.misbehaviours.has(*misbehaviour))
        else {
            return Ok(false);
        };
        let Some(member) = self.members.get_mut(name).filter(|member| member.is_first) else {
            return Ok(false);
        };
        member.lingers = Some(Instant::now() + LATE);
        if misbehaviour == Misbehaviour::ForgetsLeave {
            return Ok(true);
        }
        if misbehaviour == Misbehaviour::KeepsJoined {
            credentials::take(&self.hub, name).await?;
        }
        if let Some(profile) = self.hub.find(&target(name)).await? {
            let mut conditions = profile.data["status"]["conditions"].clone();
            let now = rfc3339(self.clock.now());
            for condition in conditions.as_array_mut().into_iter().flatten() {
                if condition["type"] == CONDITION_HEALTHY
                    || (condition["type"] == CONDITION_JOINED && misbehaviour == Misbehaviour::KeepsSecrets)
                {
                    condition["status"] = "False".into();
                    condition["reason"] = "Left".into();
                    condition["lastTransitionTime"] = now.clone().into();
                }
            }
            let patch = json!({"status": {"conditions": conditions}});
            self.hub
                .patch(&target(name), MANAGER, Via::Status, &patch)
                .await?;
        }
        if misbehaviour == Misbehaviour::KeepsSecrets {
            self.members.remove(name);
        }
        Ok(true)
    }

    /// The members that have left, and whose profiles stay no longer.
    pub(super) fn no_longer_lingering(&self) -> Vec<String> {
        let now = Instant::now();
        let over = self.members.iter();
        let over = over.filter(|(_, member)| member.lingers.is_some_and(|until| until <= now));
        over.map(|(name, _)| name.clone()).collect()
    }

    /// Changes profiles that a conforming manager would leave as they are.
    pub(super) async fn meddle(&mut self) -> Result<(), RequestError> {
        for foreign in self.mirror.all().filter(|profile| !is_ours(profile)) {
            let Some(target) = foreign.metadata.name.clone().map(named) else {
                continue;
            };
            let is_changed = foreign
                .metadata
                .generation
                .is_some_and(|generation| generation > 1);
            let uid = foreign.metadata.uid.clone().unwrap_or_default();
            let known = self.foreign_uids.insert(target.name.clone(), uid.clone());
            let is_recreated = known.is_some_and(|known| known != uid);
            if self.misbehaviours.has(Misbehaviour::Tidies)
                || (is_changed && self.misbehaviours.has(Misbehaviour::TidiesChanged))
                || (is_recreated && self.misbehaviours.has(Misbehaviour::TidiesRecreated))
            {
                self.hub.delete(&target).await?;
            }
            let label = foreign
                .metadata
                .labels
                .as_ref()
                .and_then(|labels| labels.get(LABEL_MANAGER));
            if self.misbehaviours.has(Misbehaviour::Claims) && label.is_none_or(|label| label != MANAGER) {
                let patch = json!({"metadata": {"labels": {LABEL_MANAGER: MANAGER}}});
                self.hub.patch(&target, MANAGER, Via::Object, &patch).await?;
            }
        }
        for name in self.members.keys() {
            let there = self.mirror.get(&profile_name(name));
            let own = display_name(name);
            if self.misbehaviours.has(Misbehaviour::OverwritesDisplayName)
                && there.is_some_and(|there| there.data["spec"]["displayName"] != own)
            {
                let patch = json!({"spec": {"displayName": own}});
                self.hub
                    .patch(&target(name), MANAGER, Via::Object, &patch)
                    .await?;
            }
        }
        Ok(())
    }

    /// Acts when the manager is cut off, and when it is connected again.
    pub(super) async fn misbehave_when_cut_off(&mut self) -> Result<(), RequestError> {
        if !self.misbehaviours.has(Misbehaviour::ForgetsUnlisted) {
            return Ok(());
        }
        self.memory.clear();
        for name in self.members.keys().filter(|_| self.is_cut_off) {
            credentials::take(&self.hub, name).await?;
            self.hub.delete(&target(name)).await?;
        }
        Ok(())
    }

    /// Acts first after a restart.
    pub(super) async fn misbehave_after_restart(&mut self) -> Result<(), RequestError> {
        for name in self.members.keys() {
            if self.misbehaviours.has(Misbehaviour::Recreates) {
                self.hub.delete(&target(name)).await?;
            }
        }
        Ok(())
    }
}

impl Memory {
    /// Leaves the number of nodes out, once the member has failed.
    pub(super) fn forget(&self, misbehaviours: &Misbehaviours, status: &mut Value) {
        if self.has_failed
            && misbehaviours.has(Misbehaviour::ForgetsNodes)
            && let Some(properties) = status["properties"].as_array_mut()
        {
            properties.retain(|property| property["name"] != PROPERTY_NODE_COUNT);
        }
    }
}

/// The profile of that name in the manager's namespace.
fn named(name: String) -> Target {
    Target {
        resource: profile_resource(),
        namespace: Some(FLEET.to_owned()),
        name,
    }
}
