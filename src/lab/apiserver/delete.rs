//! Deleting: at once, after the finalizers, or with everything inside.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};

use super::accepting::{definitions, put_status, set_condition, settle};
use super::body::Reply;
use super::context::{Context, Named, read_json};
use super::field::FieldError;
use super::meta;
use super::options::WriteOptions;
use super::read::{in_version, list_of, namespace, object_key};
use super::request::{Query, Target};
use super::resource::Family;
use super::status::{Failure, Outcome, Qualified, details};
use super::storage::{Kept, ResourceId, Storage, Stored};

/// The namespaces that stay.
const IMMORTAL: [&str; 3] = ["default", "kube-public", "kube-system"];

/// What a deletion demands.
struct Demands {
    dry_run: bool,
    uid: Option<String>,
    resource_version: Option<String>,
}

impl Context<'_> {
    pub(super) fn delete(&mut self, named: &Named, target: &Target, body: &Bytes) -> Outcome<Reply> {
        let demands = self.demands(body)?;
        if named.resource.family == Family::Namespace && IMMORTAL.contains(&target.name.as_str()) {
            let why = "this namespace may not be deleted";
            return Err(Failure::forbidden(named.resource.qualified(), &target.name, why));
        }
        let mut storage = self.server.storage();
        let key = object_key(named, target);
        let id = named.resource.id();
        let kept = storage.kept(&id, &key).cloned();
        let kept = kept.ok_or_else(|| Failure::not_found(named.resource.qualified(), &target.name))?;
        let found = kept.open();
        demands.check(named, found.object())?;
        let deleted = self.remove(&mut storage, named, &id, &key, &kept, demands.dry_run);
        Ok(match deleted {
            // Waiting for finalizers, or for what is inside.
            Some(remaining) => Reply::json(200, remaining.bytes()),
            // Accounts are shown as they were last.
            None if named.resource.family == Family::ServiceAccount => {
                let mut object = found.object().clone();
                if !demands.dry_run {
                    object["metadata"]["resourceVersion"] = storage.revision.to_string().into();
                }
                Reply::value(200, &object)
            }
            None => {
                let mut about = details(named.resource.qualified(), &target.name);
                about["uid"] = found.object()["metadata"]["uid"].clone();
                let status = json!({
                    "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": about,
                });
                self.entry.success(&status);
                Reply::value(200, &status)
            }
        })
    }

    pub(super) fn delete_collection(
        &mut self,
        named: &Named,
        target: &Target,
        body: &Bytes,
    ) -> Outcome<Reply> {
        if named.resource.family == Family::Namespace {
            return Err(Failure::method_not_routed());
        }
        let selector = self.selector(named)?;
        let demands = self.demands(body)?;
        let mut storage = self.server.storage();
        let id = named.resource.id();
        let table = storage
            .table_of(&named.resource)
            .ok_or_else(Failure::no_such_resource)?;
        let chosen: Vec<(String, Arc<Kept>)> = table
            .list(namespace(named, target))
            .filter(|(_, object)| selector.matches(in_version(object, named).object()))
            .map(|(key, object)| (key.clone(), object.clone()))
            .collect();
        let mut items = Vec::new();
        for (key, object) in chosen {
            demands.check(named, object.open().object())?;
            self.remove(&mut storage, named, &id, &key, &object, demands.dry_run);
            // What is told is what was there.
            items.push(in_version(&object, named));
        }
        let metadata = json!({"resourceVersion": storage.revision.to_string()});
        Ok(Reply::json(200, list_of(named, metadata, &items)))
    }

    /// DeleteOptions, from the body or the query.
    fn demands(&mut self, body: &Bytes) -> Outcome<Demands> {
        self.info.query.number("gracePeriodSeconds")?;
        let options = WriteOptions::read(&self.info.query, "DeleteOptions", self.agent)?;
        let sent = match body.is_empty() {
            true => Value::Null,
            false => read_json(body)?,
        };
        check_kind(&sent)?;
        self.note_options(&sent);
        check_options(&sent, &self.info.query)?;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let dry_runs = sent["dryRun"].as_array().is_some_and(|runs| !runs.is_empty());
        Ok(Demands {
            dry_run: options.dry_run || dry_runs,
            uid: text(&sent["preconditions"]["uid"]),
            resource_version: text(&sent["preconditions"]["resourceVersion"]),
        })
    }

    /// Notes the options that came in a body, in the form in which the real server logs them.
    fn note_options(&mut self, sent: &Value) {
        if let Value::Object(sent) = sent {
            let mut options = sent.clone();
            options.insert("kind".into(), "DeleteOptions".into());
            options.insert("apiVersion".into(), "meta.k8s.io/__internal".into());
            self.entry.request(&Value::Object(options));
        }
    }

    /// Removes one object, or marks it as being deleted; then returns it as it remains.
    fn remove(
        &self,
        storage: &mut Storage,
        named: &Named,
        id: &ResourceId,
        key: &str,
        kept: &Kept,
        dry_run: bool,
    ) -> Option<Arc<Stored>> {
        let found = kept.open();
        let is_namespace = named.resource.family == Family::Namespace;
        let is_definition = named.resource.family == Family::Definition;
        let waits = is_namespace || is_definition || !meta::finalizers(found.object()).is_empty();
        if !waits && dry_run {
            return None;
        }
        if !waits {
            storage.remove(id, key);
            finish_deletions(storage, &self.server.time());
            return None;
        }
        if !found.object()["metadata"]["deletionTimestamp"].is_null() {
            return Some(in_version(kept, named));
        }
        let time = self.server.time();
        let mut object = found.object().clone();
        if is_namespace {
            object["metadata"]["deletionTimestamp"] = time.clone().into();
            object["status"]["phase"] = "Terminating".into();
        } else if is_definition {
            object["metadata"]["deletionTimestamp"] = time.clone().into();
            object["metadata"]["finalizers"] = json!([CLEANUP]);
            let why = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
            let why = ("InstanceDeletionPending", why);
            set_condition(&mut object["status"], "Terminating", "True", why, &time);
        } else {
            mark_deleted(&mut object, &time);
        }
        if dry_run {
            return Some(in_version(&Kept::new(object, found.revision, true), named));
        }
        let remaining = storage.put(id, key, object);
        let contents = match (is_namespace, is_definition) {
            (true, _) => storage.contents(key),
            (_, true) => defined(storage, found.object()),
            _ => return Some(in_version(&remaining, named)),
        };
        for (id, key) in contents {
            remove_content(storage, &id, &key, &time);
        }
        finish_deletions(storage, &time);
        Some(in_version(&remaining, named))
    }
}

/// The finalizer of a definition whose objects are being deleted.
const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Marks an object that waits for its finalizers.
fn mark_deleted(object: &mut Value, time: &str) {
    object["metadata"]["deletionTimestamp"] = time.into();
    object["metadata"]["deletionGracePeriodSeconds"] = 0.into();
    if let Some(generation) = object["metadata"]["generation"].as_i64() {
        object["metadata"]["generation"] = (generation + 1).into();
    }
}

/// What controllers do with each object in a namespace that goes, or of a definition that does.
fn remove_content(storage: &mut Storage, id: &ResourceId, key: &str, time: &str) {
    let Some(found) = storage.get(id, key) else {
        return;
    };
    if meta::finalizers(found.object()).is_empty() {
        storage.remove(id, key);
    } else if found.object()["metadata"]["deletionTimestamp"].is_null() {
        let mut object = found.object().clone();
        mark_deleted(&mut object, time);
        storage.put(id, key, object);
    }
}

impl Demands {
    fn check(&self, named: &Named, object: &Value) -> Outcome<()> {
        let name = meta::text(object, "name");
        let refuse = |why: String| Err(Failure::conflict(named.resource.qualified_kind(), name, &why));
        let (uid, version) = (meta::text(object, "uid"), meta::text(object, "resourceVersion"));
        if let Some(wanted) = self.uid.as_deref().filter(|wanted| *wanted != uid) {
            return refuse(format!(
                "the UID in the precondition ({wanted}) does not match the UID in record ({uid}). The object might \
                 have been deleted and then recreated"
            ));
        }
        if let Some(wanted) = self
            .resource_version
            .as_deref()
            .filter(|wanted| *wanted != version)
        {
            return refuse(format!(
                "the ResourceVersion in the precondition ({wanted}) does not match the ResourceVersion in record \
                 ({version}). The object might have been modified"
            ));
        }
        Ok(())
    }
}

/// The body of a deletion says what it is, or does not say.
fn check_kind(sent: &Value) -> Outcome<()> {
    let kind = sent["kind"].as_str().unwrap_or_default();
    if !matches!(kind, "" | "DeleteOptions") {
        let version = sent["apiVersion"].as_str().unwrap_or_default();
        return Err(Failure::bad_request(format!(
            "no kind \"{kind}\" is registered for version \"{version}\""
        )));
    }
    for (field, kind, is_good) in [
        ("gracePeriodSeconds", "int64", Value::is_i64 as fn(&Value) -> bool),
        ("orphanDependents", "bool", Value::is_boolean),
        ("propagationPolicy", "v1.DeletionPropagation", Value::is_string),
        ("preconditions", "v1.Preconditions", Value::is_object),
        ("dryRun", "[]string", Value::is_array),
    ] {
        if !sent[field].is_null() && !is_good(&sent[field]) {
            return Err(Failure::bad_request(format!(
                "json: cannot unmarshal into Go struct field DeleteOptions.{field} of type {kind}"
            )));
        }
    }
    Ok(())
}

/// What is wrong with DeleteOptions. How dependents fare is checked and then makes no difference: the lab has no
/// collector of garbage, so that nothing waits for it.
fn check_options(sent: &Value, query: &Query) -> Outcome<()> {
    let policy = match sent["propagationPolicy"].as_str() {
        Some(policy) => policy,
        None => query.get("propagationPolicy"),
    };
    let field = "propagationPolicy";
    let orphans = sent["orphanDependents"].is_boolean() || !query.get("orphanDependents").is_empty();
    let error = match policy {
        "" => return Ok(()),
        policy if orphans => {
            let why = "orphanDependents and deletionPropagation cannot be both set";
            FieldError::invalid_text(field, policy, why)
        }
        "Foreground" | "Background" | "Orphan" => return Ok(()),
        policy => {
            let supported = ["Foreground", "Background", "Orphan", "nil"].map(str::to_owned);
            FieldError::not_supported(field, &policy.into(), &supported)
        }
    };
    let subject = Qualified {
        group: "meta.k8s.io",
        resource: "DeleteOptions",
    };
    Err(Failure::invalid(subject, "", &[error]))
}

/// The resource of a definition's objects.
fn resource_of(definition: &Value) -> ResourceId {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let spec = &definition["spec"];
    (text(&spec["group"]), text(&spec["names"]["plural"]))
}

/// The keys of a definition's objects.
fn defined(storage: &Storage, definition: &Value) -> Vec<(ResourceId, String)> {
    let id = resource_of(definition);
    let table = storage.table(&id.0, &id.1).into_iter();
    let keys = table.flat_map(|table| table.list("").map(|(key, _)| (id.clone(), key.clone())));
    keys.collect()
}

/// Removes a definition and what was stored of it, at once and whatever waits.
pub(super) fn undefine(storage: &mut Storage, definition: &Value, time: &str) {
    for (id, key) in defined(storage, definition) {
        storage.remove(&id, &key);
    }
    storage.stop_serving(&resource_of(definition));
    storage.remove(&definitions(), meta::text(definition, "name"));
    settle(storage, &definition["spec"]["group"], time);
}

/// Removes namespaces and definitions that are being deleted and have become empty.
pub(super) fn finish_deletions(storage: &mut Storage, time: &str) {
    let namespaces = (String::new(), "namespaces".to_owned());
    for namespace in being_deleted(storage, &namespaces) {
        let name = meta::text(namespace.object(), "name");
        if meta::finalizers(namespace.object()).is_empty() && storage.contents(name).is_empty() {
            storage.remove(&namespaces, name);
        }
    }
    for definition in being_deleted(storage, &definitions()) {
        if defined(storage, definition.object()).is_empty() {
            undefine(storage, definition.object(), time);
            continue;
        }
        let mut status = definition.object()["status"].clone();
        let why = (
            "InstanceDeletionInProgress",
            "CustomResource deletion is in progress",
        );
        set_condition(&mut status, "Terminating", "True", why, time);
        if status != definition.object()["status"] {
            put_status(storage, definition.object(), status, time);
        }
    }
}

fn being_deleted(storage: &Storage, id: &ResourceId) -> Vec<Arc<Stored>> {
    let table = storage.table(&id.0, &id.1).into_iter();
    let all = table.flat_map(|table| table.list("").map(|(_, object)| object.open()));
    all.filter(|object| !object.object()["metadata"]["deletionTimestamp"].is_null())
        .collect()
}
