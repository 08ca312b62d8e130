//! Writes to the hub: only to profiles of members that the run joined, to slices of placements that it asked for, and to
//! a profile and a slice of its own.
//!
//! Each write says which object it is for by its uid, so that the hub refuses it when another one has taken the name.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::Arc,
};

use evidence::{
    ObjectKey, ObjectRef,
    api::{ObjectKind, names},
    runs::LABEL_RUN,
};
use http::Method;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::journal::FieldUndo;
use crate::{
    connect::{
        call::{ATTEMPTS, TimedClient, call, get, once, retry, segment},
        failure::Failure,
    },
    hub::target::Target,
};

/// The manager of a profile that the run creates, and the field manager of all that it writes.
pub(crate) const OURSELVES: &str = "clusterprofile-conformance";

const NAMESPACE: &str = "Namespace";

/// The objects that a run wrote to or created. A clone shares them.
#[derive(Clone, Default)]
pub(crate) struct Touched(Arc<Mutex<BTreeMap<ObjectKind, BTreeSet<ObjectKey>>>>);

impl Touched {
    /// Those of one kind.
    pub fn of(&self, kind: ObjectKind) -> BTreeSet<ObjectKey> {
        self.0.lock().get(&kind).cloned().unwrap_or_default()
    }

    fn add(&self, kind: ObjectKind, key: ObjectKey) {
        self.0.lock().entry(kind).or_default().insert(key);
    }
}

/// The writer.
pub(crate) struct Writes<'a> {
    client: &'a TimedClient,
    target: &'a Target,
    /// The uids that may be written to.
    uids: Mutex<HashSet<String>>,
    touched: Touched,
}

/// The run does not write to objects of others.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is none that this run has brought about: it is not written to")]
pub(crate) struct NotOurs(String);

impl<'a> Writes<'a> {
    /// A writer that may write to nothing yet.
    pub fn new(client: &'a TimedClient, target: &'a Target) -> Self {
        Self {
            client,
            target,
            uids: Mutex::default(),
            touched: Touched::default(),
        }
    }

    /// Notes in `touched` what it writes to.
    pub fn noting(self, touched: Touched) -> Self {
        Self { touched, ..self }
    }

    /// From now on that object may be written to: the run has brought it about, and it was not there before.
    pub fn allow(&self, object: &ObjectRef) {
        self.uids.lock().insert(object.uid.clone());
    }

    /// Notes that an object is no longer the implementation's work alone.
    pub fn touch(&self, kind: ObjectKind, key: ObjectKey) {
        self.touched.add(kind, key);
    }

    /// Gives a field another value, or takes it away. Gives the profile's new resourceVersion.
    pub async fn set(&self, change: &FieldUndo) -> Result<String, Failure> {
        self.put(change, change.before.as_deref(), change.after.as_deref())
            .await
    }

    /// Gives the field its former value, unless somebody else has changed it since.
    pub async fn set_back(&self, change: &FieldUndo) -> Result<(), Failure> {
        let (now, wanted) = (change.after.as_deref(), change.before.as_deref());
        match self.put(change, now, wanted).await {
            // It is gone, or no longer as we left it (the test in the patch).
            Err(failure) if matches!(failure.code(), 404 | 409 | 422) => Ok(()),
            outcome => outcome.map(|_| ()),
        }
    }

    async fn put(
        &self,
        change: &FieldUndo,
        expected: Option<&str>,
        wanted: Option<&str>,
    ) -> Result<String, Failure> {
        self.claim(ObjectKind::ClusterProfile, &change.uid, &change.profile)?;
        let patch = patch(change, expected, wanted);
        let path = self.path(ObjectKind::ClusterProfile, &change.profile, change.status);
        self.patch(&path, &patch).await.map(|stored| version(&stored))
    }

    /// Sends a JSON patch (a list) or a merge patch (an object). Returns the object from the API server's response.
    async fn patch(&self, path: &str, patch: &Value) -> Result<Value, Failure> {
        let path = format!("{path}?fieldManager={OURSELVES}");
        let content_type = match patch {
            Value::Array(_) => "application/json-patch+json",
            _ => "application/merge-patch+json",
        };
        retry(ATTEMPTS, Failure::is_ailing, || {
            once(self.client, Method::PATCH, &path, content_type, Some(patch))
        })
        .await
    }

    /// Deletes an object.
    pub async fn delete(&self, kind: ObjectKind, object: &ObjectRef) -> Result<(), Failure> {
        let key = ObjectKey::from(object);
        self.claim(kind, &object.uid, &key)?;
        delete(self.client, &self.path(kind, &key, false), &object.uid).await
    }

    /// The finalizers of an object. None if the object no longer exists.
    pub async fn finalizers(
        &self,
        kind: ObjectKind,
        object: &ObjectRef,
    ) -> Result<Option<Vec<String>>, Failure> {
        let path = self.path(kind, &ObjectKey::from(object), false);
        let found = match get::<Value>(self.client, &path).await {
            Ok(found) => found,
            Err(failure) if failure.code() == 404 => return Ok(None),
            Err(failure) => return Err(failure),
        };
        let finalizers = found["metadata"]["finalizers"].as_array().into_iter().flatten();
        let finalizers = finalizers.filter_map(|finalizer| finalizer.as_str().map(str::to_owned));
        let is_same = found["metadata"]["uid"] == *object.uid;
        Ok(is_same.then(|| finalizers.collect()))
    }

    /// Takes all finalizers off an object that was deleted.
    pub async fn release(&self, kind: ObjectKind, object: &ObjectRef) -> Result<(), Failure> {
        let key = ObjectKey::from(object);
        self.claim(kind, &object.uid, &key)?;
        let patch = json!([
            {"op": "test", "path": "/metadata/uid", "value": object.uid},
            {"op": "remove", "path": "/metadata/finalizers"},
        ]);
        match self.patch(&self.path(kind, &key, false), &patch).await {
            // It is gone, or has none.
            Err(failure) if matches!(failure.code(), 404 | 409 | 422) => Ok(()),
            outcome => outcome.map(|_| ()),
        }
    }

    /// Creates an object under that name, in the version that the run reads. `object` is the rest of it. Returns the object from
    /// the API server's response.
    pub async fn create(
        &self,
        kind: ObjectKind,
        key: &ObjectKey,
        mut object: Value,
    ) -> Result<Value, Failure> {
        let version = self.target.version_of(kind);
        object["apiVersion"] = format!("{}/{version}", names::GROUP).into();
        object["kind"] = kind.name().into();
        let path = self.target.collection(kind, &key.namespace);
        let path = format!("{path}?fieldManager={OURSELVES}");
        self.touch(kind, key.clone());
        let created: Value = call(self.client, Method::POST, &path, Some(&object)).await?;
        self.allow(&ObjectRef::of_value(&created, kind.name()));
        Ok(created)
    }

    /// Creates a namespace of the run.
    pub async fn create_namespace(&self, name: &str, run: &str) -> Result<ObjectRef, Failure> {
        let namespace = json!({
            "apiVersion": "v1",
            "kind": NAMESPACE,
            "metadata": {"name": name, "labels": {LABEL_RUN: run}},
        });
        let path = format!("/api/v1/namespaces?fieldManager={OURSELVES}");
        let created: Value = call(self.client, Method::POST, &path, Some(&namespace)).await?;
        let created = ObjectRef::of_value(&created, NAMESPACE);
        self.allow(&created);
        Ok(created)
    }

    /// Deletes a namespace of the run, with all that is in it.
    pub async fn delete_namespace(&self, namespace: &ObjectRef) -> Result<(), Failure> {
        self.check(namespace)
            .map_err(|error| Failure::broken(error.to_string()))?;
        delete(self.client, &namespace_path(&namespace.name), &namespace.uid).await
    }

    /// Takes all clusters out of a slice. Gives its new resourceVersion.
    pub async fn empty(&self, slice: &ObjectRef) -> Result<String, Failure> {
        self.decide(slice, &json!([]))
            .await
            .map(|stored| version(&stored))
    }

    /// Gives a slice these decisions. Returns the slice from the API server's response.
    pub async fn decide(&self, slice: &ObjectRef, decisions: &Value) -> Result<Value, Failure> {
        let key = ObjectKey::from(slice);
        self.claim(ObjectKind::PlacementDecision, &slice.uid, &key)?;
        let patch = json!([
            {"op": "test", "path": "/metadata/uid", "value": slice.uid},
            {"op": "add", "path": "/decisions", "value": decisions},
        ]);
        self.patch(&self.path(ObjectKind::PlacementDecision, &key, false), &patch)
            .await
    }

    /// Gives a profile a status. Returns the profile from the API server's response.
    pub async fn set_status(&self, profile: &ObjectRef, status: &Value) -> Result<Value, Failure> {
        let key = ObjectKey::from(profile);
        self.claim(ObjectKind::ClusterProfile, &profile.uid, &key)?;
        let patch = json!([
            {"op": "test", "path": "/metadata/uid", "value": profile.uid},
            {"op": "add", "path": "/status", "value": status},
        ]);
        self.patch(&self.path(ObjectKind::ClusterProfile, &key, true), &patch)
            .await
    }

    /// Checks that an object may be written to.
    pub fn check(&self, object: &ObjectRef) -> Result<(), NotOurs> {
        let allowed = !object.uid.is_empty() && self.uids.lock().contains(&object.uid);
        allowed.then_some(()).ok_or_else(|| NotOurs(object.to_string()))
    }

    /// Notes that an object is about to be written to, which it must be allowed to be: checked once more for each write.
    fn claim(&self, kind: ObjectKind, uid: &str, key: &ObjectKey) -> Result<(), Failure> {
        let object = ObjectRef {
            kind: kind.name().to_owned(),
            namespace: key.namespace.clone(),
            name: key.name.clone(),
            uid: uid.to_owned(),
            ..ObjectRef::default()
        };
        self.check(&object)
            .map_err(|error| Failure::broken(error.to_string()))?;
        self.touch(kind, key.clone());
        Ok(())
    }

    fn path(&self, kind: ObjectKind, key: &ObjectKey, status: bool) -> String {
        let objects = self.target.collection(kind, &key.namespace);
        let status = if status { "/status" } else { "" };
        format!("{objects}/{}{status}", segment(&key.name))
    }
}

/// The resourceVersion of an object.
fn version(object: &Value) -> String {
    let version = object["metadata"]["resourceVersion"].as_str();
    version.unwrap_or_default().to_owned()
}

fn namespace_path(name: &str) -> String {
    format!("/api/v1/namespaces/{}", segment(name))
}

/// Deletes what is at `path`, where it has that uid. That it is gone already is as good.
async fn delete(client: &TimedClient, path: &str, uid: &str) -> Result<(), Failure> {
    let options = json!({
        "apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid},
    });
    match call::<Value>(client, Method::DELETE, path, Some(&options)).await {
        Err(failure) if matches!(failure.code(), 404 | 409) => Ok(()),
        outcome => outcome.map(|_| ()),
    }
}

/// A patch that fails where the object is another one, or the field not as expected.
fn patch(change: &FieldUndo, expected: Option<&str>, wanted: Option<&str>) -> Value {
    let pointer = &change.pointer;
    if let (false, None, Some(wanted)) = (change.status, expected, wanted) {
        // What holds the field may be gone with it, as labels are with the last of them. A uid cannot change.
        let mut patch = json!({"metadata": {"uid": change.uid}});
        let (parents, key) = pointer.rsplit_once('/').unwrap_or_default();
        let mut place = &mut patch;
        for parent in parents.split('/').skip(1) {
            place = &mut place[parent];
        }
        place[key.replace("~1", "/").replace("~0", "~")] = wanted.into();
        return patch;
    }
    let mut patch = vec![json!({"op": "test", "path": "/metadata/uid", "value": change.uid})];
    if let Some(expected) = expected {
        patch.push(json!({"op": "test", "path": pointer, "value": expected}));
    }
    patch.push(match wanted {
        Some(wanted) => json!({"op": "add", "path": pointer, "value": wanted}),
        None => json!({"op": "remove", "path": pointer}),
    });
    Value::Array(patch)
}

/// Undoes the change of a field that a run has made which is over.
pub(super) async fn undo_field(
    client: &TimedClient,
    target: &Target,
    change: &FieldUndo,
) -> Result<(), Failure> {
    let writes = Writes::new(client, target);
    // The test in the patch keeps it from another profile of that name.
    writes.uids.lock().insert(change.uid.clone());
    writes.set_back(change).await
}

/// Deletes what a run has created under that name, also a run that is over; never what bears no label of that run.
pub(super) async fn undo_creation(
    client: &TimedClient,
    target: &Target,
    run: &str,
    kind: ObjectKind,
    key: &ObjectKey,
) -> Result<(), Failure> {
    let path = Writes::new(client, target).path(kind, key, false);
    undo_creation_at(client, run, &path).await
}

/// Deletes the namespace that a run has created under that name.
pub(super) async fn undo_namespace(client: &TimedClient, run: &str, name: &str) -> Result<(), Failure> {
    undo_creation_at(client, run, &namespace_path(name)).await
}

/// What a run has created under that name, if it is still there.
pub(super) async fn find_creation(
    client: &TimedClient,
    target: &Target,
    run: &str,
    kind: ObjectKind,
    key: &ObjectKey,
) -> Result<Option<Value>, Failure> {
    find_creation_at(client, run, &Writes::new(client, target).path(kind, key, false)).await
}

async fn find_creation_at(client: &TimedClient, run: &str, path: &str) -> Result<Option<Value>, Failure> {
    match get::<Value>(client, path).await {
        Err(failure) if failure.code() == 404 => Ok(None),
        Err(failure) => Err(failure),
        Ok(found) => Ok(Some(found).filter(|found| found["metadata"]["labels"][LABEL_RUN] == run)),
    }
}

async fn undo_creation_at(client: &TimedClient, run: &str, path: &str) -> Result<(), Failure> {
    let Some(found) = find_creation_at(client, run, path).await? else {
        return Ok(());
    };
    let uid = found["metadata"]["uid"].as_str().unwrap_or_default();
    delete(client, path, uid).await
}
