//! Mirrors the profiles of the manager's namespace: lists them once, then watches.

use std::collections::BTreeMap;

use futures::{FutureExt, StreamExt, stream::BoxStream};
use kube::api::{DynamicObject, WatchEvent};

use crate::manager::{
    hub::{Hub, ManagerError, profile_resource},
    members::FLEET,
};

type Events = BoxStream<'static, Result<WatchEvent<DynamicObject>, kube::Error>>;

/// The profiles by name, and the watch that keeps them current.
#[derive(Default)]
pub(super) struct Mirror {
    profiles: BTreeMap<String, DynamicObject>,
    /// `None`: the profiles must be listed.
    events: Option<Events>,
}

impl Mirror {
    /// Applies the events that have arrived. Later ones are for the next call.
    pub(super) async fn refresh(&mut self, hub: &Hub) -> Result<(), ManagerError> {
        while let Some(events) = &mut self.events {
            match events.next().now_or_never() {
                None => return Ok(()),
                Some(Some(Ok(event))) => self.take(event),
                // The watch ended, or its version is too old: list again.
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

    /// Stores the answer to a write, before the watch reports it.
    pub(super) fn put(&mut self, profile: DynamicObject) {
        if let Some(name) = profile.metadata.name.clone() {
            self.profiles.insert(name, profile);
        }
    }

    /// All profiles, those of other managers too.
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
