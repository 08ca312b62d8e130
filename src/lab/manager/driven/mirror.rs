//! The profiles of the manager's namespace, as the hub has them: listed once, then watched.

use std::collections::BTreeMap;

use futures::{FutureExt, StreamExt, stream::BoxStream};
use kube::api::{DynamicObject, WatchEvent};

use crate::manager::{
    hub::{Hub, ManagerError, profile_resource},
    members::FLEET,
};

type Events = BoxStream<'static, Result<WatchEvent<DynamicObject>, kube::Error>>;

/// The profiles by name, and how they stay as they are on the hub.
#[derive(Default)]
pub(super) struct Mirror {
    profiles: BTreeMap<String, DynamicObject>,
    /// None: they are to be listed.
    events: Option<Events>,
}

impl Mirror {
    /// Takes in what has happened since. What the hub is still about to tell comes with the next time.
    pub(super) async fn refresh(&mut self, hub: &Hub) -> Result<(), ManagerError> {
        while let Some(events) = &mut self.events {
            match events.next().now_or_never() {
                None => return Ok(()),
                Some(Some(Ok(event))) => self.take(event),
                // Watches end, and hubs forget: from the beginning, then.
                Some(Some(Err(_)) | None) => self.events = None,
            }
        }
        let (profiles, version) = hub.list(&profile_resource(), FLEET).await?;
        self.profiles = profiles
            .into_iter()
            .filter_map(|profile| Some((profile.metadata.name.clone()?, profile)))
            .collect();
        self.events = Some(hub.watch(&profile_resource(), FLEET, &version).await?);
        Ok(())
    }

    /// Takes in what the hub has answered to a write, before the watch tells it.
    pub(super) fn put(&mut self, profile: DynamicObject) {
        if let Some(name) = profile.metadata.name.clone() {
            self.profiles.insert(name, profile);
        }
    }

    /// All profiles there are, whosever they are.
    pub(super) fn all(&self) -> impl Iterator<Item = &DynamicObject> {
        self.profiles.values()
    }

    pub(super) fn get(&self, name: &str) -> Option<&DynamicObject> {
        self.profiles.get(name)
    }

    fn take(&mut self, event: WatchEvent<DynamicObject>) {
        match event {
            WatchEvent::Added(profile) | WatchEvent::Modified(profile) => self.put(profile),
            WatchEvent::Deleted(profile) => {
                let name = profile.metadata.name.unwrap_or_default();
                self.profiles.remove(&name);
            }
            WatchEvent::Bookmark(_) => {}
            WatchEvent::Error(_) => self.events = None,
        }
    }
}
