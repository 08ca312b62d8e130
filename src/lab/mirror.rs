//! Mirrors the objects of a kind in a namespace: lists them once, then watches.

use std::collections::BTreeMap;

use futures::{FutureExt, StreamExt, stream::BoxStream};
use kube::api::{ApiResource, DynamicObject, WatchEvent};
use serde_json::Value;

use crate::client::{Hub, RequestError, Target, Via};

type Events = BoxStream<'static, Result<WatchEvent<DynamicObject>, kube::Error>>;

/// The objects by name, and the watch that keeps them current.
pub(crate) struct Mirror {
    resource: ApiResource,
    namespace: String,
    objects: BTreeMap<String, DynamicObject>,
    /// `None`: the objects must be listed.
    events: Option<Events>,
    is_listed: bool,
    /// A fault: after the end of a watch it goes on with the next, and never looks what it has missed.
    goes_on_blindly: bool,
    /// A fault: each event makes it list all objects.
    lists_at_each_event: bool,
}

impl Mirror {
    /// Mirrors the objects of `resource` in `namespace`, from the first refresh on.
    pub(crate) fn new(resource: ApiResource, namespace: &str) -> Self {
        Self {
            resource,
            namespace: namespace.to_owned(),
            objects: BTreeMap::new(),
            events: None,
            is_listed: false,
            goes_on_blindly: false,
            lists_at_each_event: false,
        }
    }

    /// Lists all objects at each event, for a fault.
    pub(crate) fn listing_at_each_event(mut self, is_so: bool) -> Self {
        self.lists_at_each_event = is_so;
        self
    }

    /// Never looks what it has missed between two watches, for a fault.
    pub(crate) fn going_on_blindly(mut self, is_so: bool) -> Self {
        self.goes_on_blindly = is_so;
        self
    }

    /// Applies the events that have arrived. Later ones are for the next call.
    pub(crate) async fn refresh(&mut self, hub: &Hub) -> Result<(), RequestError> {
        while let Some(events) = &mut self.events {
            match events.next().now_or_never() {
                None => return Ok(()),
                Some(Some(Ok(_))) if self.lists_at_each_event => self.events = None,
                Some(Some(Ok(event))) => self.take(event),
                // The watch ended, or its version is too old: list again.
                Some(Some(Err(_)) | None) => self.events = None,
            }
        }
        let (objects, version) = hub.list(&self.resource, &self.namespace).await?;
        let listed = objects
            .into_iter()
            .filter_map(|object| Some((object.metadata.name.clone()?, object)));
        if !self.is_listed || !self.goes_on_blindly {
            self.objects = listed.collect();
        }
        self.is_listed = true;
        self.events = Some(hub.watch(&self.resource, &self.namespace, &version).await?);
        Ok(())
    }

    /// Stores the answer to a write, before the watch reports it.
    pub(crate) fn put(&mut self, object: DynamicObject) {
        if let Some(name) = object.metadata.name.clone() {
            self.objects.insert(name, object);
        }
    }

    /// Merges a patch into an object. If it was deleted meanwhile, the watch tells.
    ///
    /// # Errors
    /// When the hub refuses that, or cannot be reached.
    pub(crate) async fn patch(
        &mut self,
        hub: &Hub,
        by: &str,
        (name, via): (&str, Via),
        patch: &Value,
    ) -> Result<(), RequestError> {
        let target = Target {
            resource: self.resource.clone(),
            namespace: Some(self.namespace.clone()),
            name: name.to_owned(),
        };
        match hub.patch(&target, by, via, patch).await {
            Ok(written) => self.put(written),
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Forgets an object that was deleted, before the watch reports it.
    pub(crate) fn remove(&mut self, name: &str) {
        self.objects.remove(name);
    }

    /// All objects, those of others too.
    pub(crate) fn all(&self) -> impl Iterator<Item = &DynamicObject> {
        self.objects.values()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&DynamicObject> {
        self.objects.get(name)
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
