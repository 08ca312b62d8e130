//! Writes to the hub: only to profiles of members that the run joined, to slices of placements that it requested, and to
//! objects that it created.
//!
//! Each write names its object by uid, so that the hub refuses it if another object has taken the name. Each object that
//! the run creates has the label of the run, by which it is found and deleted, also after the run was killed.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    fmt,
    sync::Arc,
    time::Duration,
};

use evidence::{
    ObjectKey, ObjectRef,
    api::{ObjectKind, names},
    runs::LABEL_RUN,
};
use http::Method;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::{FieldChange, UndoEntry};
use crate::{
    connect::{ATTEMPTS, RequestFailure, TimedClient, call, get, segment},
    hub::HubTarget,
    watch::fold_list,
};

/// The manager of a profile that the run creates, and the field manager of all that it writes.
pub(crate) const FIELD_MANAGER: &str = "clusterprofile-conformance";
/// How long clients that set finalizers may take to remove them, for all deleted objects together.
const FINALIZER_PATIENCE: Duration = Duration::from_secs(10);
const FINALIZER_TICK: Duration = Duration::from_millis(500);

/// The objects that a run wrote to or created. A clone shares them.
#[derive(Clone, Default)]
pub(crate) struct Touched(Arc<Mutex<BTreeMap<ObjectKind, BTreeSet<ObjectKey>>>>);

impl Touched {
    pub fn of(&self, kind: ObjectKind) -> BTreeSet<ObjectKey> {
        self.0.lock().get(&kind).cloned().unwrap_or_default()
    }
}

pub(crate) struct DeletedObject {
    object: ObjectRef,
    pub finalizers: Vec<String>,
}

impl fmt::Display for DeletedObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "deleted {}", self.object)?;
        if self.finalizers.is_empty() {
            return Ok(());
        }
        write!(f, ", and removed its finalizers ({})", self.finalizers.join(", "))
    }
}

pub(crate) struct DriverWrites<'a> {
    client: &'a TimedClient,
    target: &'a HubTarget,
    run: &'a str,
    /// The uids that may be written to.
    uids: Mutex<HashSet<String>>,
    touched: Touched,
}

impl<'a> DriverWrites<'a> {
    /// A writer that may write to nothing yet. Adds each object that it writes to to `touched`.
    pub fn new(client: &'a TimedClient, target: &'a HubTarget, run: &'a str, touched: Touched) -> Self {
        Self {
            client,
            target,
            run,
            uids: Mutex::default(),
            touched,
        }
    }

    /// Allows writes to an object that exists because of the run.
    pub fn allow(&self, object: &ObjectRef) {
        self.uids.lock().insert(object.uid.clone());
    }

    /// Records that an object is no longer the implementation's work alone.
    pub fn touch(&self, kind: ObjectKind, key: ObjectKey) {
        self.touched.0.lock().entry(kind).or_default().insert(key);
    }

    /// Checks that an object may be written to. The error is for a person.
    pub fn check(&self, object: &ObjectRef) -> Result<(), String> {
        let is_allowed = !object.uid.is_empty() && self.uids.lock().contains(&object.uid);
        let refusal = || format!("refusing to write to {object}: it does not exist because of this run");
        is_allowed.then_some(()).ok_or_else(refusal)
    }

    /// Creates a profile of the run with these labels. Returns it from the API server's response.
    pub async fn create_profile(
        &self,
        key: &ObjectKey,
        mut labels: BTreeMap<String, String>,
    ) -> Result<Value, RequestFailure> {
        let manager = labels.entry(names::LABEL_MANAGER.to_owned());
        manager.or_insert_with(|| FIELD_MANAGER.to_owned());
        let spec = json!({"displayName": key.name, "clusterManager": {"name": FIELD_MANAGER}});
        self.create(ObjectKind::ClusterProfile, key, labels, json!({"spec": spec}))
            .await
    }

    /// Creates a slice of the run with these labels. Returns it from the API server's response.
    pub async fn create_slice(
        &self,
        key: &ObjectKey,
        labels: BTreeMap<String, String>,
        decisions: &Value,
    ) -> Result<Value, RequestFailure> {
        let slice = json!({"schedulerName": FIELD_MANAGER, "decisions": decisions});
        self.create(ObjectKind::PlacementDecision, key, labels, slice)
            .await
    }

    /// Creates an object with the label of the run, in the version that the run reads.
    async fn create(
        &self,
        kind: ObjectKind,
        key: &ObjectKey,
        mut labels: BTreeMap<String, String>,
        mut object: Value,
    ) -> Result<Value, RequestFailure> {
        labels.insert(LABEL_RUN.to_owned(), self.run.to_owned());
        object["apiVersion"] = format!("{}/{}", names::GROUP, self.target.version_of(kind)).into();
        object["kind"] = kind.name().into();
        object["metadata"] = json!({"namespace": key.namespace, "name": key.name, "labels": labels});
        let path = self.target.collection(kind, &key.namespace);
        let path = format!("{path}?fieldManager={FIELD_MANAGER}");
        self.touch(kind, key.clone());
        let created: Value = call(self.client, Method::POST, &path, Some(&object)).await?;
        self.allow(&ObjectRef::of_value(&created, kind.name()));
        Ok(created)
    }

    pub async fn delete(&self, object: &ObjectRef) -> Result<(), RequestFailure> {
        self.claim(object)?;
        self.delete_at(&self.path(object), &object.uid).await
    }

    /// Sets or removes a field of a profile. Returns the profile in its new version.
    pub async fn set(&self, change: &FieldChange) -> Result<ObjectRef, RequestFailure> {
        let value = change.after.clone().map(Value::from);
        let before = change.before.as_deref();
        let stored = self.set_field(&change.profile, &change.pointer, before, value);
        Ok(ObjectRef::of_value(&stored.await?, names::KIND))
    }

    /// Restores a field, unless another client has changed it since.
    pub async fn restore(&self, change: &FieldChange) -> Result<(), RequestFailure> {
        let profile = &change.profile;
        self.claim(profile)?;
        for _ in 0..ATTEMPTS {
            let Some(current) = self.get(profile).await? else {
                return Ok(());
            };
            let value = current.pointer(&change.pointer).and_then(Value::as_str);
            if value != change.after.as_deref() {
                return Ok(());
            }
            // A merge patch also creates the parents of the field: labels are gone with the last of them.
            let mut patch = nested(&change.pointer, change.before.as_deref());
            patch["metadata"]["uid"] = profile.uid.clone().into();
            patch["metadata"]["resourceVersion"] = current["metadata"]["resourceVersion"].clone();
            let path = format!("{}{}", self.path(profile), subresource(&change.pointer));
            match self.patch(&path, &patch).await {
                Err(failure) if failure.code() == 409 => {}
                Err(failure) if failure.code() == 404 => return Ok(()),
                outcome => return outcome.map(|_| ()),
            }
        }
        Err(RequestFailure::broken(
            "other clients change the object all the time",
        ))
    }

    /// Gives a slice these decisions. Returns the slice from the API server's response.
    pub async fn decide(&self, slice: &ObjectRef, decisions: &Value) -> Result<Value, RequestFailure> {
        self.set_field(slice, "/decisions", None, Some(decisions.clone()))
            .await
    }

    /// Gives a profile a status. Returns the profile from the API server's response.
    pub async fn set_status(&self, profile: &ObjectRef, status: &Value) -> Result<Value, RequestFailure> {
        self.set_field(profile, "/status", None, Some(status.clone()))
            .await
    }

    /// The finalizers of an object. None if the object no longer exists.
    pub async fn finalizers(&self, object: &ObjectRef) -> Result<Option<Vec<String>>, RequestFailure> {
        let current = self.get(object).await?;
        Ok(current.map(|current| {
            let finalizers = current["metadata"]["finalizers"].as_array().into_iter().flatten();
            let finalizers = finalizers.filter_map(Value::as_str);
            finalizers.map(str::to_owned).collect()
        }))
    }

    /// Removes all finalizers of a deleted object.
    async fn release(&self, object: &ObjectRef) -> Result<(), RequestFailure> {
        match self.set_field(object, "/metadata/finalizers", None, None).await {
            // It is gone, or has none.
            Err(failure) if matches!(failure.code(), 404 | 409 | 422) => Ok(()),
            outcome => outcome.map(|_| ()),
        }
    }

    /// Deletes the slices and profiles with the label of the run in these namespaces. Then waits for their finalizers, for
    /// `patience` or until `is_stopped`, and removes them. A failure for one object does not stop the others.
    pub async fn delete_created(
        &self,
        namespaces: &[String],
        patience: Duration,
        is_stopped: impl Fn() -> bool,
    ) -> (Vec<DeletedObject>, Result<(), RequestFailure>) {
        let (mut waiting, mut failed) = (Vec::new(), None);
        for kind in [ObjectKind::PlacementDecision, ObjectKind::ClusterProfile] {
            for namespace in namespaces {
                let objects = list_labelled(self.client, self.target, kind, namespace, Some(self.run));
                let created = match objects.await {
                    Ok(created) => created,
                    // A user who writes profiles need not read slices.
                    Err(failure) if kind == ObjectKind::PlacementDecision && failure.code() == 403 => {
                        continue;
                    }
                    Err(failure) => {
                        failed.get_or_insert(failure);
                        continue;
                    }
                };
                for object in created {
                    let object = ObjectRef::of_value(&object, kind.name());
                    self.allow(&object);
                    match self.delete(&object).await {
                        Ok(()) => waiting.push(object),
                        Err(failure) => _ = failed.get_or_insert(failure),
                    }
                }
            }
        }
        let deadline = Instant::now() + patience;
        let is_over = || Instant::now() >= deadline || is_stopped();
        let mut deleted = Vec::new();
        for object in waiting {
            match self.wait_for_finalizers(&object, is_over).await {
                Ok(finalizers) => deleted.push(DeletedObject { object, finalizers }),
                Err(failure) => _ = failed.get_or_insert(failure),
            }
        }
        (deleted, failed.map_or(Ok(()), Err))
    }

    /// Waits until an object is gone, or removes its finalizers when the time is over. Returns what it removed.
    async fn wait_for_finalizers(
        &self,
        object: &ObjectRef,
        is_over: impl Fn() -> bool,
    ) -> Result<Vec<String>, RequestFailure> {
        while let Some(finalizers) = self.finalizers(object).await? {
            if is_over() {
                self.release(object).await?;
                return Ok(finalizers);
            }
            sleep(FINALIZER_TICK).await;
        }
        Ok(Vec::new())
    }

    /// Undoes a change on the hub. Returns what was done, for a person; nothing if the entry is a hook.
    pub async fn undo(&self, entry: &UndoEntry) -> Result<Vec<String>, RequestFailure> {
        match entry {
            UndoEntry::Hook { .. } => Ok(Vec::new()),
            UndoEntry::Field(change) => {
                self.allow(&change.profile);
                self.restore(change).await?;
                Ok(vec![format!("restored {} of {}", change.pointer, change.profile)])
            }
            UndoEntry::Objects { namespaces } => {
                let deleting = self.delete_created(namespaces, FINALIZER_PATIENCE, || false);
                let (deleted, outcome) = deleting.await;
                outcome.map(|()| deleted.iter().map(ToString::to_string).collect())
            }
            UndoEntry::Namespace { name } => {
                self.delete_namespace(name).await?;
                Ok(vec![format!("deleted Namespace {name}")])
            }
        }
    }

    /// Creates a namespace with the label of the run.
    pub async fn create_namespace(&self, name: &str) -> Result<(), RequestFailure> {
        let namespace = json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name, "labels": {LABEL_RUN: self.run}},
        });
        let path = format!("/api/v1/namespaces?fieldManager={FIELD_MANAGER}");
        let created = call::<Value>(self.client, Method::POST, &path, Some(&namespace));
        created.await.map(drop)
    }

    /// Deletes a namespace with all that is in it, if it exists and has the label of the run.
    pub async fn delete_namespace(&self, name: &str) -> Result<(), RequestFailure> {
        let path = format!("/api/v1/namespaces/{}", segment(name));
        let current: Value = match get(self.client, &path).await {
            Err(failure) if failure.code() == 404 => return Ok(()),
            current => current?,
        };
        if current["metadata"]["labels"][LABEL_RUN] != self.run {
            return Ok(());
        }
        let uid = current["metadata"]["uid"].as_str().unwrap_or_default();
        self.delete_at(&path, uid).await
    }

    /// Sets a field of an object, or removes it. Returns the object from the API server's response. The API server refuses
    /// it if the field no longer has the value `before`.
    async fn set_field(
        &self,
        object: &ObjectRef,
        pointer: &str,
        before: Option<&str>,
        value: Option<Value>,
    ) -> Result<Value, RequestFailure> {
        self.claim(object)?;
        let change = match value {
            Some(value) => json!({"op": "add", "path": pointer, "value": value}),
            None => json!({"op": "remove", "path": pointer}),
        };
        let mut patch = vec![json!({"op": "test", "path": "/metadata/uid", "value": object.uid})];
        patch.extend(before.map(|before| json!({"op": "test", "path": pointer, "value": before})));
        patch.push(change);
        let path = format!("{}{}", self.path(object), subresource(pointer));
        self.patch(&path, &patch.into()).await
    }

    /// Patches an object. Returns it from the API server's response.
    async fn patch(&self, path: &str, patch: &Value) -> Result<Value, RequestFailure> {
        let path = format!("{path}?fieldManager={FIELD_MANAGER}");
        call(self.client, Method::PATCH, &path, Some(patch)).await
    }

    /// Deletes the object at `path` if it has that uid. An object that is gone is fine.
    async fn delete_at(&self, path: &str, uid: &str) -> Result<(), RequestFailure> {
        let options = json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid},
        });
        match call::<Value>(self.client, Method::DELETE, path, Some(&options)).await {
            Err(failure) if matches!(failure.code(), 404 | 409) => Ok(()),
            outcome => outcome.map(|_| ()),
        }
    }

    /// Reads an object. None if it no longer exists.
    async fn get(&self, object: &ObjectRef) -> Result<Option<Value>, RequestFailure> {
        match get::<Value>(self.client, &self.path(object)).await {
            Err(failure) if failure.code() == 404 => Ok(None),
            current => {
                current.map(|current| Some(current).filter(|one| one["metadata"]["uid"] == *object.uid))
            }
        }
    }

    /// Checks that an object may be written to, and records that it is.
    fn claim(&self, object: &ObjectRef) -> Result<(), RequestFailure> {
        self.check(object).map_err(RequestFailure::broken)?;
        self.touch(kind_of(object), ObjectKey::from(object));
        Ok(())
    }

    fn path(&self, object: &ObjectRef) -> String {
        let objects = self.target.collection(kind_of(object), &object.namespace);
        format!("{objects}/{}", segment(&object.name))
    }
}

pub(super) fn kind_of(object: &ObjectRef) -> ObjectKind {
    if object.kind == ObjectKind::PlacementDecision.name() {
        ObjectKind::PlacementDecision
    } else {
        ObjectKind::ClusterProfile
    }
}

/// The objects of a kind in a namespace, or in all if it is empty, with the label of that run or of any. None if the hub
/// does not serve the kind.
pub(crate) async fn list_labelled(
    client: &TimedClient,
    target: &HubTarget,
    kind: ObjectKind,
    namespace: &str,
    run: Option<&str>,
) -> Result<Vec<Value>, RequestFailure> {
    if kind == ObjectKind::PlacementDecision && !target.has_placements() {
        return Ok(Vec::new());
    }
    let path = target.collection(kind, namespace);
    let selector = run.map_or_else(|| LABEL_RUN.to_owned(), |run| format!("{LABEL_RUN}={run}"));
    let path = format!("{path}?labelSelector={}", segment(&selector));
    let add = |objects: &mut Vec<Value>, json: &[u8]| objects.extend(serde_json::from_slice::<Value>(json));
    fold_list(client, &path, add).await
}

fn subresource(pointer: &str) -> &'static str {
    if pointer.starts_with("/status") {
        "/status"
    } else {
        ""
    }
}

/// An object with that field alone. A merge patch removes a field whose value is null.
fn nested(pointer: &str, value: Option<&str>) -> Value {
    let mut object = json!({});
    let mut place = &mut object;
    for key in pointer.split('/').skip(1) {
        place = &mut place[key.replace("~1", "/").replace("~0", "~")];
    }
    *place = value.into();
    object
}
