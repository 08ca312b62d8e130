//! Replaces objects, for updates and for patches.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use super::{delete::finish_deletions, read::current, strategy, write::store};
use crate::{
    context::Context,
    fields::managed_fields::{Write, same_but_times, track},
    object::{
        field::{FieldError, Found},
        json::take,
        meta, names,
        status::{Failure, Outcome, refuse},
    },
    request::Reply,
    store::{
        named::Named,
        resource::Family,
        storage::{Storage, Stored},
    },
};

impl Context<'_> {
    pub(crate) fn update(&mut self, named: &Named, body: &Bytes) -> Outcome<Reply> {
        let (write, mut object) = self.decode(named, "UpdateOptions", body)?;
        check_name(&object, &named.target.name)?;
        let mut storage = self.state.storage();
        let found = match current(&storage, named) {
            Err(_) if named.resource.allows_create_on_update() => None,
            found => Some(found?),
        };
        let sent = meta::text(&object, "uid");
        let known = found.as_ref().map_or("", |it| meta::text(it.object(), "uid"));
        if !sent.is_empty() && sent != known {
            let why =
                format!("Precondition failed: UID in precondition: {sent}, UID in object meta: {known}");
            return Err(Failure::conflict(
                named.resource.qualified(),
                &named.target.name,
                &why,
            ));
        }
        track(found.as_ref().map(|it| it.object()), &mut object, &write);
        let Some(current) = found else {
            return self.insert(&mut storage, &write, object);
        };
        let stored = self.replace(&mut storage, &write, current, object)?;
        Ok(Reply::json(200, stored.bytes()))
    }

    /// Replaces `current` by `object`, whose owners are set already. Returns the stored object in the request's
    /// version.
    pub(crate) fn replace(
        &mut self,
        storage: &mut Storage,
        write: &Write<'_>,
        current: Arc<Stored>,
        mut object: Value,
    ) -> Outcome<Arc<Stored>> {
        let (named, time) = (write.named, &write.time);
        let old = current.object();
        check_resource_version(named, &mut object, old)?;
        prepare(named, &mut object, old);
        self.check(named, &object, old)?;
        if same_but_times(&object, old) {
            return Ok(current);
        }
        let key = named.key();
        let waits = matches!(named.resource.family, Family::Namespace | Family::Definition);
        let is_last = meta::is_deleted(old) && !waits && meta::finalizers(&object).is_empty();
        if is_last && !write.dry_run {
            storage.remove(&named.resource.id(), &key);
            finish_deletions(storage, time);
        }
        if is_last || write.dry_run {
            return Ok(Arc::new(Stored::new(object, current.revision)));
        }
        store(storage, write, &key, object)
    }

    /// Validates the new object. Tolerated errors become warnings.
    fn check(&mut self, named: &Named, object: &Value, old: &Value) -> Outcome<()> {
        let resource = &named.resource;
        let mut errors = Vec::new();
        meta::validate(
            object,
            resource.namespaced,
            names::path_segment,
            "metadata",
            &mut errors,
        );
        meta::validate_update(object, old, &mut errors);
        let mut more = strategy::check_type(named, object);
        if more.is_empty() {
            // kube-apiserver checks changed metadata twice.
            meta::validate_update(object, old, &mut more);
            strategy::check(named, object, Some(old), &mut more);
        }
        errors.extend(more);
        let (tolerated, errors): (Vec<_>, Vec<_>) = errors.into_iter().partition(|error| error.tolerated);
        self.warnings.extend(tolerated.iter().map(FieldError::to_string));
        let kind = strategy::kind_of(resource, object);
        refuse(kind, meta::text(object, "name"), &errors)
    }
}

/// Checks that the object has the name in the path.
pub(crate) fn check_name(object: &Value, name: &str) -> Outcome<()> {
    match meta::text(object, "name") {
        "" => Err(Failure::bad_request(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        ))),
        sent if sent != name => Err(Failure::bad_request(format!(
            "the name of the object ({sent}) does not match the name on the URL ({name})"
        ))),
        _ => Ok(()),
    }
}

/// Optimistic locking: the resourceVersion must be the current one.
fn check_resource_version(named: &Named, object: &mut Value, old: &Value) -> Outcome<()> {
    let known = meta::text(old, "resourceVersion");
    let sent = meta::text(object, "resourceVersion");
    let (resource, name) = (&named.resource, &named.target.name);
    match sent {
        "" | "0" if resource.allows_unconditional_update() => {
            object["metadata"]["resourceVersion"] = known.into();
            Ok(())
        }
        "" | "0" => {
            let mut errors = Vec::new();
            errors.invalid("metadata.resourceVersion", 0, "must be specified for an update");
            // kube-apiserver puts the resource where the kind belongs.
            refuse(resource.qualified(), name, &errors)
        }
        sent if sent == known => Ok(()),
        sent if sent.parse::<u64>().is_err() => {
            let why = format!("strconv.ParseUint: parsing \"{sent}\": invalid syntax");
            Err(Failure::internal(why))
        }
        _ => {
            let why =
                "the object has been modified; please apply your changes to the latest version and try again";
            Err(Failure::conflict(resource.qualified(), name, why))
        }
    }
}

/// Restores what such a write cannot change.
fn prepare(named: &Named, object: &mut Value, old: &Value) {
    let is_status = named.target.subresource == "status";
    if is_status && named.resource.decode.is_none() {
        // Only the status and its owners change.
        let sent = std::mem::replace(object, old.clone());
        take(object, "status", &sent);
        return take(&mut object["metadata"], "managedFields", &sent["metadata"]);
    }
    let is_deleted = meta::is_deleted(old);
    let is_sent = !meta::text(object, "uid").is_empty();
    let (metadata, known) = (&mut object["metadata"], &old["metadata"]);
    for (field, is_taken) in [
        ("generation", true),
        ("creationTimestamp", true),
        // It is never set any more.
        ("selfLink", true),
        ("uid", !is_sent),
        ("deletionTimestamp", is_deleted),
        ("deletionGracePeriodSeconds", is_deleted),
    ] {
        if is_taken {
            take(metadata, field, known);
        }
    }
    if is_status {
        // Status writes may change metadata of built-in kinds.
        take(object, "spec", old)
    } else {
        strategy::prepare_update(named, object, old)
    }
}
