//! Replaces objects, for updates and for patches.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use super::{delete::finish_deletions, read::current, strategy, write::store};
use crate::{
    context::Context,
    fields::managed_fields::{WriteRequest, same_but_times, track},
    object::{
        field::{ErrorCollector, FieldError},
        json::take,
        meta, names,
        status::{HandlerResult, StatusFailure, refuse},
    },
    request::Reply,
    store::{
        resource::Family,
        route::Route,
        storage::{Storage, Stored},
    },
};

impl Context<'_> {
    pub(crate) fn update(&mut self, route: &Route, body: &Bytes) -> HandlerResult<Reply> {
        let (write, mut object) = self.decode(route, "UpdateOptions", body)?;
        check_name(&object, &route.target.name)?;
        let mut storage = self.state.storage();
        let previous = match current(&storage, route) {
            Err(_) if route.resource.allows_create_on_update() => None,
            previous => Some(previous?),
        };
        let uid = meta::text(&object, "uid");
        let stored_uid = previous.as_ref().map_or("", |it| meta::text(it.object(), "uid"));
        if !uid.is_empty() && uid != stored_uid {
            let why =
                format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {stored_uid}");
            return Err(StatusFailure::conflict(
                route.resource.qualified(),
                &route.target.name,
                &why,
            ));
        }
        track(previous.as_ref().map(|it| it.object()), &mut object, &write);
        let Some(current) = previous else {
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
        write: &WriteRequest<'_>,
        current: Arc<Stored>,
        mut object: Value,
    ) -> HandlerResult<Arc<Stored>> {
        let (route, time) = (write.route, &write.time);
        let old = current.object();
        check_resource_version(route, &mut object, old)?;
        prepare(route, &mut object, old);
        self.check(route, &object, old)?;
        if same_but_times(&object, old) {
            return Ok(current);
        }
        let key = route.key();
        let waits = matches!(route.resource.family, Family::Namespace | Family::Definition);
        let is_last = meta::is_deleted(old) && !waits && meta::finalizers(&object).is_empty();
        if is_last && !write.dry_run {
            storage.remove(&route.resource.id(), &key);
            finish_deletions(storage, time);
        }
        if is_last || write.dry_run {
            return Ok(Arc::new(Stored::new(object, current.revision)));
        }
        store(storage, write, &key, object)
    }

    /// Validates the new object. Tolerated errors become warnings.
    fn check(&mut self, route: &Route, object: &Value, old: &Value) -> HandlerResult<()> {
        let resource = &route.resource;
        let mut errors = Vec::new();
        meta::validate(
            object,
            resource.namespaced,
            names::path_segment,
            "metadata",
            &mut errors,
        );
        meta::validate_update(object, old, &mut errors);
        let mut more = strategy::check_type(route, object);
        if more.is_empty() {
            // kube-apiserver checks changed metadata twice.
            meta::validate_update(object, old, &mut more);
            strategy::check(route, object, Some(old), &mut more);
        }
        errors.extend(more);
        let (tolerated, errors): (Vec<_>, Vec<_>) = errors.into_iter().partition(|error| error.tolerated);
        self.warnings.extend(tolerated.iter().map(FieldError::to_string));
        let kind = strategy::kind_of(resource, object);
        refuse(kind, meta::text(object, "name"), &errors)
    }
}

/// Checks that the object has the name in the path.
pub(crate) fn check_name(object: &Value, name: &str) -> HandlerResult<()> {
    match meta::text(object, "name") {
        "" => Err(StatusFailure::bad_request(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        ))),
        sent if sent != name => Err(StatusFailure::bad_request(format!(
            "the name of the object ({sent}) does not match the name on the URL ({name})"
        ))),
        _ => Ok(()),
    }
}

/// Optimistic locking: the resourceVersion must be the current one.
fn check_resource_version(route: &Route, object: &mut Value, old: &Value) -> HandlerResult<()> {
    let stored_version = meta::text(old, "resourceVersion");
    let version = meta::text(object, "resourceVersion");
    let (resource, name) = (&route.resource, &route.target.name);
    match version {
        "" | "0" if resource.allows_unconditional_update() => {
            object["metadata"]["resourceVersion"] = stored_version.into();
            Ok(())
        }
        "" | "0" => {
            let mut errors = Vec::new();
            errors.invalid("metadata.resourceVersion", 0, "must be specified for an update");
            // kube-apiserver puts the resource where the kind belongs.
            refuse(resource.qualified(), name, &errors)
        }
        version if version == stored_version => Ok(()),
        version if version.parse::<u64>().is_err() => {
            let why = format!("strconv.ParseUint: parsing \"{version}\": invalid syntax");
            Err(StatusFailure::internal(why))
        }
        _ => {
            let why =
                "the object has been modified; please apply your changes to the latest version and try again";
            Err(StatusFailure::conflict(resource.qualified(), name, why))
        }
    }
}

/// Restores what such a write cannot change.
fn prepare(route: &Route, object: &mut Value, old: &Value) {
    let is_status = route.target.subresource == "status";
    if is_status && route.resource.decode.is_none() {
        // Only the status and its owners change.
        let new = std::mem::replace(object, old.clone());
        take(object, "status", &new);
        return take(&mut object["metadata"], "managedFields", &new["metadata"]);
    }
    let is_deleted = meta::is_deleted(old);
    let is_sent = !meta::text(object, "uid").is_empty();
    let (metadata, stored) = (&mut object["metadata"], &old["metadata"]);
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
            take(metadata, field, stored);
        }
    }
    if is_status {
        // Status writes may change metadata of built-in kinds.
        take(object, "spec", old)
    } else {
        strategy::prepare_update(route, object, old)
    }
}
