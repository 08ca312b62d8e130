//! Deletes objects: immediately, after their finalizers, or with their contents.

use std::sync::Arc;

use bytes::Bytes;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::DeleteOptions;
use serde_json::{Map, Value, json};

use super::{
    crd_controller::{definitions, put_status, settle},
    read::{in_version, list_of},
};
use crate::{
    context::Context,
    fields::managed_fields::WriteRequest,
    object::{
        field::ErrorCollector,
        json::{list, text, unrecognized},
        meta,
        status::{HandlerResult, StatusFailure, details, refuse_options},
    },
    request::{Query, Reply},
    store::{
        definition::set_condition,
        resource::{Family, ResourceId, id},
        route::Route,
        storage::{Storage, StorageEntry, Stored},
    },
    typed,
};

/// Namespaces that cannot be deleted.
const IMMORTAL: [&str; 3] = ["default", "kube-public", "kube-system"];
/// The finalizer of a CRD whose objects are being deleted.
const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

impl Context<'_> {
    pub(crate) fn delete(&mut self, route: &Route, body: &Bytes) -> HandlerResult<Reply> {
        let (write, preconditions) = self.demands(route, body)?;
        let (resource, target, time) = (&route.resource, &route.target, &write.time);
        if resource.family == Family::Namespace && IMMORTAL.contains(&target.name.as_str()) {
            let why = "this namespace may not be deleted";
            return Err(StatusFailure::forbidden(resource.qualified(), &target.name, why));
        }
        let mut storage = self.state.storage();
        let (id, key) = (resource.id(), route.key());
        let entry = storage.entry_of(&id, &key).cloned();
        let entry = entry.ok_or_else(|| StatusFailure::not_found(resource.qualified(), &target.name))?;
        let stored = entry.open();
        check_preconditions(route, stored.object(), &preconditions)?;
        let remaining = if write.dry_run {
            remains(resource.family, stored.object(), time)
                .map(|object| Arc::new(StorageEntry::new(object, entry.revision, true)))
        } else {
            remove(&mut storage, &id, &key, time);
            let remaining = storage.entry_of(&id, &key).cloned();
            finish_deletions(&mut storage, time);
            remaining
        };
        if let Some(remaining) = remaining {
            return Ok(Reply::json(200, in_version(&remaining, route).bytes()));
        }
        // The answer shows the deleted service account.
        if resource.family == Family::ServiceAccount {
            let mut object = stored.object().clone();
            if !write.dry_run {
                object["metadata"]["resourceVersion"] = storage.revision.to_string().into();
            }
            return Ok(Reply::value(200, &object));
        }
        let mut about = details(resource.qualified(), &target.name);
        about["uid"] = stored.object()["metadata"]["uid"].clone();
        self.entry.status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": about,
        });
        Ok(Reply::value(200, &self.entry.status))
    }

    pub(crate) fn delete_many(&mut self, route: &Route, body: &Bytes) -> HandlerResult<Reply> {
        if route.resource.family == Family::Namespace {
            return Err(StatusFailure::method_not_routed());
        }
        let selector = self.selector(route)?;
        let (write, preconditions) = self.demands(route, body)?;
        let mut storage = self.state.storage();
        let table = storage.table(&route.resource.id());
        let table = table.ok_or_else(StatusFailure::no_such_resource)?;
        let matching: Vec<(String, Arc<StorageEntry>)> = table
            .list(route.namespace())
            .filter(|(_, object)| selector.matches(in_version(object, route).object()))
            .map(|(key, object)| (key.clone(), object.clone()))
            .collect();
        let id = route.resource.id();
        let mut items = Vec::new();
        for (key, object) in matching {
            check_preconditions(route, object.open().object(), &preconditions)?;
            if !write.dry_run {
                remove(&mut storage, &id, &key, &write.time);
                finish_deletions(&mut storage, &write.time);
            }
            // The answer lists the objects as they were.
            items.push(in_version(&object, route));
        }
        let metadata = json!({"resourceVersion": storage.revision.to_string()});
        Ok(Reply::json(200, list_of(route, metadata, &items)))
    }

    /// Reads DeleteOptions from body and query. Returns the write and the preconditions.
    fn demands<'n>(&mut self, route: &'n Route, body: &Bytes) -> HandlerResult<(WriteRequest<'n>, Value)> {
        let query = &self.info.query;
        query.number("gracePeriodSeconds")?;
        let mut write = self.write_of(route, "DeleteOptions")?;
        let mut options = Value::Null;
        if !body.is_empty() {
            self.check_content_type()?;
            let mut fields = read_options(body)?;
            // kube-apiserver's audit log shows the internal version.
            fields.insert("kind".into(), "DeleteOptions".into());
            fields.insert("apiVersion".into(), "meta.k8s.io/__internal".into());
            options = fields.into();
            self.entry.request(&options);
        }
        check_options(&options, query)?;
        write.dry_run |= !list(&options, "dryRun").is_empty();
        Ok((write, options["preconditions"].take()))
    }
}

fn check_preconditions(route: &Route, object: &Value, preconditions: &Value) -> HandlerResult<()> {
    for (field, called, fate) in [
        ("uid", "UID", "deleted and then recreated"),
        ("resourceVersion", "ResourceVersion", "modified"),
    ] {
        let actual = meta::text(object, field);
        let expected = preconditions[field].as_str().unwrap_or(actual);
        if expected != actual {
            let why = format!(
                "the {called} in the precondition ({expected}) does not match the {called} in record ({actual}). The object \
                 might have been {fate}"
            );
            let subject = route.resource.qualified_kind();
            return Err(StatusFailure::conflict(subject, meta::text(object, "name"), &why));
        }
    }
    Ok(())
}

/// Reads DeleteOptions, with or without a kind.
fn read_options(body: &Bytes) -> HandlerResult<Map<String, Value>> {
    let options = serde_json::from_slice(body).map_err(|error| {
        let why = format!("couldn't get version/kind; json parse error: {error}");
        StatusFailure::bad_request(unrecognized("DeleteOptions", &why))
    });
    let options: Map<String, Value> = options?;
    let text = |field: &str| options.get(field).and_then(Value::as_str).unwrap_or_default();
    let (kind, version) = (text("kind"), text("apiVersion"));
    if !matches!(kind, "" | "DeleteOptions") {
        let why = format!("no kind \"{kind}\" is registered for version \"{version}\"");
        return Err(StatusFailure::bad_request(why));
    }
    typed::decode_as::<DeleteOptions>(&Value::Object(options.clone())).map_err(StatusFailure::bad_request)?;
    Ok(options)
}

/// Checks DeleteOptions. The propagation policy has no effect: the server has no garbage collector.
fn check_options(options: &Value, query: &Query) -> HandlerResult<()> {
    let field = "propagationPolicy";
    let policy = options[field].as_str().unwrap_or(query.get(field));
    let orphans = options["orphanDependents"].is_boolean() || !query.get("orphanDependents").is_empty();
    let mut errors = Vec::new();
    match policy {
        "" => {}
        _ if orphans => {
            let why = "orphanDependents and deletionPropagation cannot be both set";
            errors.invalid(field, policy, why);
        }
        "Foreground" | "Background" | "Orphan" => {}
        _ => errors.not_supported(field, policy, &["Foreground", "Background", "Orphan", "nil"]),
    }
    let dry_runs = list(options, "dryRun");
    if dry_runs.iter().any(|value| value != "All") {
        errors.not_supported("dryRun", dry_runs, &["All"]);
    }
    refuse_options("DeleteOptions", &errors)
}

/// The object marked as deleted, waiting for finalizers or contents. `None` if it waits for nothing.
fn remains(family: Family, object: &Value, time: &str) -> Option<Value> {
    let is_full = matches!(family, Family::Namespace | Family::Definition);
    if !is_full && meta::finalizers(object).is_empty() {
        return None;
    }
    let mut object = object.clone();
    if meta::is_deleted(&object) {
        return Some(object);
    }
    object["metadata"]["deletionTimestamp"] = time.into();
    match family {
        Family::Namespace => object["status"]["phase"] = "Terminating".into(),
        Family::Definition => {
            object["metadata"]["finalizers"] = json!([CLEANUP]);
            let why = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
            let why = ("InstanceDeletionPending", why);
            set_condition(&mut object["status"], "Terminating", "True", why, time);
        }
        _ => {
            object["metadata"]["deletionGracePeriodSeconds"] = 0.into();
            if let Some(generation) = object["metadata"]["generation"].as_i64() {
                object["metadata"]["generation"] = (generation + 1).into();
            }
        }
    }
    Some(object)
}

/// Deletes an object and its contents, unless a finalizer keeps them.
fn remove(storage: &mut Storage, id: &ResourceId, key: &str, time: &str) {
    let table = storage.table(id);
    let (Some(entry), Some(family)) = (storage.get(id, key), table.map(|table| table.resource.family)) else {
        return;
    };
    match remains(family, entry.object(), time) {
        None => storage.remove(id, key),
        Some(_) if meta::is_deleted(entry.object()) => {}
        Some(object) => {
            storage.put(id, key, object);
            for (id, key) in contents(storage, family, entry.object()) {
                remove(storage, &id, &key, time);
            }
        }
    }
}

/// The keys of the contents of a namespace or a CRD.
fn contents(storage: &Storage, family: Family, object: &Value) -> Vec<(ResourceId, String)> {
    match family {
        Family::Namespace => storage.contents(meta::text(object, "name")),
        Family::Definition => {
            let id = resource_of(object);
            let keys = all(storage, &id).map(|(key, _)| (id.clone(), key.clone()));
            keys.collect()
        }
        _ => Vec::new(),
    }
}

/// The resource that a CRD defines.
fn resource_of(definition: &Value) -> ResourceId {
    let spec = &definition["spec"];
    id(text(spec, "group"), text(&spec["names"], "plural"))
}

fn all<'a>(
    storage: &'a Storage,
    id: &ResourceId,
) -> impl Iterator<Item = (&'a String, &'a Arc<StorageEntry>)> {
    let table = storage.table(id).into_iter();
    table.flat_map(|table| table.list(""))
}

/// Removes a CRD and its objects immediately, without waiting for finalizers.
pub(crate) fn undefine(storage: &mut Storage, definition: &Value, time: &str) {
    for (id, key) in contents(storage, Family::Definition, definition) {
        storage.remove(&id, &key);
    }
    storage.stop_serving(&resource_of(definition));
    storage.remove(&definitions(), meta::text(definition, "name"));
    settle(storage, &definition["spec"]["group"], time);
}

/// Removes deleted namespaces and CRDs that have become empty.
pub(crate) fn finish_deletions(storage: &mut Storage, time: &str) {
    let namespaces = id("", "namespaces");
    for namespace in being_deleted(storage, &namespaces) {
        let namespace = namespace.object();
        let is_empty = contents(storage, Family::Namespace, namespace).is_empty();
        if is_empty && meta::finalizers(namespace).is_empty() {
            storage.remove(&namespaces, meta::text(namespace, "name"));
        }
    }
    for definition in being_deleted(storage, &definitions()) {
        let definition = definition.object();
        if contents(storage, Family::Definition, definition).is_empty() {
            undefine(storage, definition, time);
            continue;
        }
        let mut status = definition["status"].clone();
        let why = (
            "InstanceDeletionInProgress",
            "CustomResource deletion is in progress",
        );
        set_condition(&mut status, "Terminating", "True", why, time);
        if status != definition["status"] {
            put_status(storage, definition, status, time);
        }
    }
}

fn being_deleted(storage: &Storage, id: &ResourceId) -> Vec<Arc<Stored>> {
    let all = all(storage, id).map(|(_, object)| object.open());
    all.filter(|object| meta::is_deleted(object.object())).collect()
}
