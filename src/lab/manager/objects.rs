//! Writes the world's objects to the hub.

use base64::{Engine, prelude::BASE64_STANDARD};
use collect::clock::Clock;
use kube::api::ApiResource;
use serde_json::{Value, json};

use super::world::{MANAGER, Namespace, Profile, Secret, parts};
use crate::client::{Hub, RequestError, Target, Via, profile_resource};

impl Profile {
    pub(super) fn target(&self) -> Target {
        Target {
            resource: profile_resource(),
            namespace: Some(self.namespace.clone()),
            name: self.name.clone(),
        }
    }

    pub(super) async fn create(&mut self, hub: &Hub) -> Result<(), RequestError> {
        let hub = acting_as(hub, self.creator.as_deref());
        let created = hub.create(&self.target(), &self.writer, &self.to_json()).await?;
        self.generation = created.metadata.generation.unwrap_or_default();
        Ok(())
    }

    /// Writes the status, if it changed.
    pub(super) async fn write(&mut self, hub: &Hub, clock: &Clock) -> Result<(), RequestError> {
        if self.written.as_ref() == Some(&self.status) {
            return Ok(());
        }
        let mut patch = json!({"status": self.status.to_json(self.generation, clock.now())});
        json_patch::merge(&mut patch, &parts(&self.patch, &["status"]));
        let target = self.target();
        let hub = acting_as(hub, self.updater.as_deref());
        let patched = hub.patch(&target, &self.writer, Via::Status, &patch).await?;
        self.generation = patched.metadata.generation.unwrap_or_default();
        self.written = Some(self.status.clone());
        Ok(())
    }
}

fn acting_as(hub: &Hub, user: Option<&str>) -> Hub {
    user.map_or_else(|| hub.clone(), |user| hub.acting_as(user))
}

impl Secret {
    pub(super) fn target(&self) -> Target {
        Target {
            resource: ApiResource::erase::<k8s_openapi::api::core::v1::Secret>(&()),
            namespace: Some(self.namespace.clone()),
            name: self.name.clone(),
        }
    }

    pub(super) async fn create(&self, hub: &Hub) -> Result<(), RequestError> {
        hub.create(&self.target(), MANAGER, &self.to_json()).await?;
        Ok(())
    }

    fn to_json(&self) -> Value {
        let config = serde_saphyr::to_string(&self.kubeconfig).expect("a JSON value can be written as YAML");
        json!({
            "metadata": {"namespace": self.namespace, "name": self.name, "labels": self.labels},
            "type": "Opaque",
            "data": {&self.key: BASE64_STANDARD.encode(config)},
        })
    }
}

impl Namespace {
    pub(super) fn target(&self) -> Target {
        Target {
            resource: ApiResource::erase::<k8s_openapi::api::core::v1::Namespace>(&()),
            namespace: None,
            name: self.name.clone(),
        }
    }

    pub(super) fn to_json(&self) -> Value {
        json!({"metadata": {"name": self.name, "labels": self.labels}})
    }
}
