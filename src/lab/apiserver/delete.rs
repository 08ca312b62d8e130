//! Deleting: at once, after the finalizers, or with everything inside.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};

use super::body::Reply;
use super::context::{Context, Named, read_json};
use super::definition;
use super::field::FieldError;
use super::meta;
use super::options::WriteOptions;
use super::read::{Page, in_version, namespace, object_key};
use super::request::{Query, Target};
use super::resource::Family;
use super::status::{Failure, Outcome, Qualified, details};
use super::storage::{ResourceId, Storage, Stored};

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
        let found = storage.get(&id, &key).cloned();
        let found = found.ok_or_else(|| Failure::not_found(named.resource.qualified(), &target.name))?;
        demands.check(named, &found.object)?;
        let deleted = self.remove(&mut storage, named, &id, &key, &found, demands.dry_run);
        Ok(match deleted {
            // Waiting for finalizers, or for what is inside.
            Some(remaining) => Reply::json(200, in_version(&remaining, named).bytes()),
            None => {
                let mut about = details(named.resource.qualified(), &target.name);
                about["uid"] = found.object["metadata"]["uid"].clone();
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
        let chosen: Vec<(String, Arc<Stored>)> = table
            .list(namespace(named, target))
            .filter(|(_, object)| selector.matches(&in_version(object, named).object))
            .map(|(key, object)| (key.clone(), object.clone()))
            .collect();
        let mut items = Vec::new();
        for (key, object) in chosen {
            let remaining = self.remove(&mut storage, named, &id, &key, &object, demands.dry_run);
            let told = remaining.unwrap_or(object);
            items.push(in_version(&told, named));
        }
        let page = Page::whole(storage.revision, items);
        Ok(Reply::json(200, page.to_json(named)))
    }

    /// DeleteOptions, from the body or the query.
    fn demands(&mut self, body: &Bytes) -> Outcome<Demands> {
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
        found: &Arc<Stored>,
        dry_run: bool,
    ) -> Option<Arc<Stored>> {
        let is_namespace = named.resource.family == Family::Namespace;
        let is_definition = named.resource.family == Family::Definition;
        let waits = is_namespace || is_definition || !meta::finalizers(&found.object).is_empty();
        if !waits && dry_run {
            return None;
        }
        if !waits {
            storage.remove(id, key);
            finish_namespaces(storage);
            return None;
        }
        if !found.object["metadata"]["deletionTimestamp"].is_null() {
            return Some(found.clone());
        }
        let mut object = found.object.clone();
        object["metadata"]["deletionTimestamp"] = self.server.time().into();
        if is_namespace {
            object["status"]["phase"] = "Terminating".into();
        } else if is_definition {
            definition::mark_terminating(&mut object, &self.server.time());
        } else {
            object["metadata"]["deletionGracePeriodSeconds"] = 0.into();
            if let Some(generation) = object["metadata"]["generation"].as_i64() {
                object["metadata"]["generation"] = (generation + 1).into();
            }
        }
        if dry_run {
            return Some(Arc::new(Stored::new(object, found.revision)));
        }
        let remaining = storage.put(id, key, object);
        if is_definition {
            remove_defined(storage, &found.object);
            storage.remove(id, key);
        }
        if is_namespace {
            for (id, key) in storage.contents(key) {
                self.remove_content(storage, &id, &key);
            }
            finish_namespaces(storage);
        }
        Some(remaining)
    }

    /// What the namespace controller does with each object in a namespace that goes.
    fn remove_content(&self, storage: &mut Storage, id: &ResourceId, key: &str) {
        let Some(found) = storage.get(id, key).cloned() else {
            return;
        };
        if meta::finalizers(&found.object).is_empty() {
            storage.remove(id, key);
        } else if found.object["metadata"]["deletionTimestamp"].is_null() {
            let mut object = found.object.clone();
            object["metadata"]["deletionTimestamp"] = self.server.time().into();
            object["metadata"]["deletionGracePeriodSeconds"] = 0.into();
            storage.put(id, key, object);
        }
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

/// With a definition go its objects.
pub(super) fn remove_defined(storage: &mut Storage, definition: &Value) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let id = (
        text(&definition["spec"]["group"]),
        text(&definition["spec"]["names"]["plural"]),
    );
    let keys: Vec<String> = storage
        .table(&id.0, &id.1)
        .into_iter()
        .flat_map(|table| table.list("").map(|(key, _)| key.clone()))
        .collect();
    for key in keys {
        storage.remove(&id, &key);
    }
    storage.stop_serving(&id);
}

/// Removes namespaces that are being deleted and have become empty.
pub(super) fn finish_namespaces(storage: &mut Storage) {
    let id = (String::new(), "namespaces".to_owned());
    let Some(table) = storage.table("", "namespaces") else {
        return;
    };
    let terminating: Vec<String> = table
        .list("")
        .filter(|(_, object)| !object.object["metadata"]["deletionTimestamp"].is_null())
        .map(|(key, _)| key.clone())
        .collect();
    for name in terminating {
        let finalizers = storage
            .get(&id, &name)
            .map_or(0, |found| meta::finalizers(&found.object).len());
        if finalizers == 0 && storage.contents(&name).is_empty() {
            storage.remove(&id, &name);
        }
    }
}
