//! What the consumer writes: a Secret for each profile, as Argo CD has them, and its log.

use std::{collections::BTreeMap, fmt, sync::Arc};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use collect::testbed::ConsumerLog;
use k8s_openapi::api::core::v1::Secret;
use kube::{
    ResourceExt as _,
    api::{ApiResource, DynamicObject},
};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{CONSUMER, ConsumerWorld, OUTPUTS};
use crate::client::{HubClient, ObjectTarget, RequestError};

/// The label of its Secrets, and the value.
const LABEL: &str = "argocd.argoproj.io/secret-type";
const VALUE: &str = "cluster";

/// Its Secrets.
#[derive(Debug, Default)]
pub(super) struct Outputs {
    /// The server of each Secret. None until it has listed those from before a restart.
    made: Option<BTreeMap<String, String>>,
}

impl Outputs {
    /// Creates and updates the wanted Secrets, by name and server, and deletes all others.
    pub(super) async fn follow(
        &mut self,
        hub: &HubClient,
        servers: BTreeMap<String, String>,
        world: &ConsumerWorld,
    ) -> Result<(), RequestError> {
        let mut made = match self.made.take() {
            Some(made) => made,
            None if world.has("consumer-change/restart-no-orphans:outputs") => BTreeMap::new(),
            None => {
                let (secrets, _) = hub.list(&ApiResource::erase::<Secret>(&()), OUTPUTS).await?;
                let ours = secrets.into_iter().filter(is_own);
                ours.filter_map(|secret| secret.metadata.name)
                    .map(|name| (name, String::new()))
                    .collect()
            }
        };
        for name in made.keys().filter(|name| !servers.contains_key(*name)) {
            hub.delete(&target(name)).await?;
        }
        made.retain(|name, _| servers.contains_key(name));
        for (name, server) in servers {
            if made.get(&name) != Some(&server) {
                hub.create(&target(&name), CONSUMER, &secret(&name, &server))
                    .await?;
                made.insert(name, server);
            }
        }
        self.made = Some(made);
        Ok(())
    }
}

/// Whether the Secret is one of its own.
fn is_own(secret: &DynamicObject) -> bool {
    secret.labels().get(LABEL).is_some_and(|value| value == VALUE)
}

fn target(name: &str) -> ObjectTarget {
    ObjectTarget::namespaced(ApiResource::erase::<Secret>(&()), OUTPUTS, name)
}

fn secret(name: &str, server: &str) -> Value {
    json!({
        "metadata": {
            "namespace": OUTPUTS, "name": name, "labels": {LABEL: VALUE},
        },
        "data": {"name": BASE64_STANDARD.encode(name), "server": BASE64_STANDARD.encode(server)},
    })
}

/// The lines of the log.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines(Arc<Mutex<Vec<String>>>);

impl Lines {
    /// Writes a line.
    pub(super) fn write(&self, line: impl fmt::Display) {
        self.0.lock().push(line.to_string());
    }

    /// Reads the lines of now.
    pub(super) fn reader(&self) -> ConsumerLog {
        let lines = Arc::clone(&self.0);
        Arc::new(move |each| {
            lines.lock().iter().for_each(|line| each(line.as_bytes()));
            Ok(())
        })
    }
}
