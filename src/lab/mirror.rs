//! Mirrors the objects of a kind in a namespace: lists them once, then watches.

use std::{collections::BTreeMap, sync::Arc};

use futures::{FutureExt, StreamExt, stream::BoxStream};
use kube::api::{ApiResource, DynamicObject, WatchEvent};
use serde_json::Value;

use crate::client::{HubClient, ObjectTarget, RequestError, Via};

type Events = BoxStream<'static, Result<WatchEvent<DynamicObject>, kube::Error>>;

/// The objects by name, and the watch that keeps them current.
pub(crate) struct Mirror {
    resource: ApiResource,
    namespace: String,
    objects: BTreeMap<String, Arc<DynamicObject>>,
    /// `None`: the objects must be listed.
    events: Option<Events>,
}

impl Mirror {
    /// Mirrors the objects of `resource` in `namespace`, from the first refresh on.
    pub(crate) fn new(resource: ApiResource, namespace: &str) -> Self {
        Self {
            resource,
            namespace: namespace.to_owned(),
            objects: BTreeMap::new(),
            events: None,
        }
    }

    /// Applies the events that have arrived. Later ones are for the next call.
    pub(crate) async fn refresh(&mut self, hub: &HubClient) -> Result<(), RequestError> {
        while let Some(events) = &mut self.events {
            match events.next().now_or_never() {
                None => return Ok(()),
                Some(Some(Ok(event))) => self.take(event),
                // The watch ended, or its version is too old: list again.
                Some(Some(Err(_)) | None) => self.events = None,
            }
        }
        let (objects, version) = hub.list(&self.resource, &self.namespace).await?;
        let entries = objects
            .into_iter()
            .filter_map(|object| Some((object.metadata.name.clone()?, Arc::new(object))));
        self.objects = entries.collect();
        self.events = Some(hub.watch(&self.resource, &self.namespace, &version).await?);
        Ok(())
    }

    /// Stores the answer to a write, before the watch reports it.
    pub(crate) fn put(&mut self, object: DynamicObject) {
        if let Some(name) = object.metadata.name.clone() {
            self.objects.insert(name, Arc::new(object));
        }
    }

    /// Merges a patch into an object. If it was deleted meanwhile, the watch reports it.
    ///
    /// # Errors
    /// When the hub refuses that, or cannot be reached.
    pub(crate) async fn patch(
        &mut self,
        hub: &HubClient,
        by: &str,
        (name, via): (&str, Via),
        patch: &Value,
    ) -> Result<(), RequestError> {
        let target = ObjectTarget::namespaced(self.resource.clone(), &self.namespace, name);
        match hub.patch(&target, by, via, patch).await {
            Ok(object) => self.put(object),
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Forgets an object that was deleted, before the watch reports it.
    pub(crate) fn remove(&mut self, name: &str) {
        self.objects.remove(name);
    }

    /// All objects, also those of other clients.
    pub(crate) fn all(&self) -> impl Iterator<Item = &DynamicObject> {
        self.objects.values().map(Arc::as_ref)
    }

    /// All objects, to keep while the mirror changes.
    pub(crate) fn shared(&self) -> impl Iterator<Item = Arc<DynamicObject>> {
        self.objects.values().cloned()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&DynamicObject> {
        self.objects.get(name).map(Arc::as_ref)
    }

    fn take(&mut self, event: WatchEvent<DynamicObject>) {
        match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => self.put(object),
            WatchEvent::Deleted(object) => self.remove(&object.metadata.name.unwrap_or_default()),
            WatchEvent::Bookmark(_) => {}
            WatchEvent::Error(_) => self.events = None,
        }
    }
}
