//! Decodes bodies, and creates objects.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::{
    crd_controller::{self, settle},
    read::{as_stored, in_version},
    strategy,
};
use crate::{
    access::{rbac, rbac::RbacAction},
    context::Context,
    fields::managed_fields::{FieldValidation, WriteRequest, track},
    object::{
        json,
        json::{DecodeError, ParsedBody, unrecognized},
        meta,
        status::{HandlerResult, Qualified, StatusFailure, details, refuse},
    },
    request::{PROTOBUF, Reply, read_self_review},
    schema::{apply_defaults, drop_nulls, prune},
    store::{
        resource::{Family, id},
        route::Route,
        storage::{Storage, Stored, key},
    },
    typed,
    typed::event_in,
};

/// Turns numbers without a fraction into integers.
fn make_integral(value: &mut Value) {
    match value {
        Value::Number(number) => {
            let whole = number
                .as_f64()
                .filter(|float| number.is_f64() && float.fract() == 0.0 && float.abs() < 9e15);
            if let Some(float) = whole {
                *value = (float as i64).into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(make_integral),
        Value::Object(fields) => fields.values_mut().for_each(make_integral),
        _ => {}
    }
}

/// What happens to meaningless nulls.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nulls {
    Dropped,
    Kept,
}

/// Fits an object to its resource: coerces metadata, prunes unknown fields, drops meaningless nulls, fills in defaults.
/// Returns the complaints of a strict decoder, too.
pub(crate) fn fit(
    route: &Route,
    mut object: Map<String, Value>,
    nulls: Nulls,
) -> Result<(Value, Vec<String>), DecodeError> {
    let (resource, version) = (&route.resource, route.version());
    let unknown = match resource.decode {
        Some(decode) => typed::decode(decode, &mut object)?,
        None => {
            object.values_mut().for_each(make_integral);
            let mut unknown = typed::coerce_metadata(&mut object)?;
            let mut whole = Value::Object(object);
            unknown.extend(prune(&mut whole, &version.schema));
            if nulls == Nulls::Dropped {
                drop_nulls(&mut whole, &version.schema);
            }
            if resource.family == Family::Definition {
                unknown.extend(typed::prune_definition(&mut whole)?);
            }
            apply_defaults(&mut whole, &version.schema);
            object = match whole {
                Value::Object(fields) => fields,
                _ => Map::new(),
            };
            unknown
        }
    };
    strategy::set_defaults(resource.family, &mut object);
    let complaints = unknown.iter().map(|path| format!("unknown field \"{path}\""));
    Ok((Value::Object(object), complaints.collect()))
}

impl Context<'_> {
    /// Fails, warns, or ignores the complaints of a strict decoder, as the request asks.
    pub(crate) fn complain(
        &mut self,
        how: FieldValidation,
        complaints: Vec<String>,
    ) -> Result<(), DecodeError> {
        match how {
            FieldValidation::Strict if !complaints.is_empty() => return Err(complaints.join(", ").into()),
            FieldValidation::Warn => self.warnings.extend(complaints),
            FieldValidation::Strict | FieldValidation::Ignore => {}
        }
        Ok(())
    }

    /// Refuses bodies that are neither JSON nor YAML.
    pub(crate) fn check_content_type(&self) -> HandlerResult<()> {
        let supported = ["application/json", "application/yaml"];
        if self.content_type.is_empty() || supported.contains(&self.content_type) {
            return Ok(());
        }
        Err(StatusFailure::unsupported_media_type(&supported))
    }

    /// The body as JSON or YAML. Reviews may be in protobuf.
    fn readable(&self, route: &Route, body: &Bytes) -> HandlerResult<Bytes> {
        if self.content_type == PROTOBUF
            && route.resource.family == Family::Review
            && let Some(review) = read_self_review(body)
        {
            return Ok(review.to_string().into());
        }
        self.check_content_type()?;
        Ok(body.clone())
    }

    /// Decodes the body of a create or an update. `options` is the kind of its options.
    pub(crate) fn decode<'n>(
        &mut self,
        route: &'n Route,
        options: &str,
        body: &Bytes,
    ) -> HandlerResult<(WriteRequest<'n>, Value)> {
        let write = self.write_of(route, options)?;
        let (kind, is_custom) = (&route.resource.kind, route.resource.family == Family::Custom);
        let body = &self.readable(route, body)?;
        let is_yaml = self.content_type == "application/yaml";
        let unrecognized = |why: &str| StatusFailure::bad_request(unrecognized(kind, why));
        let unreadable =
            |why: &str| unrecognized(&format!("couldn't get version/kind; json parse error: {why}"));
        let document = json::read(body, is_yaml);
        let ParsedBody { value, mut repeated } = document.map_err(|error| unreadable(&error.to_string()))?;
        let Value::Object(mut object) = value else {
            return Err(unreadable("not an object"));
        };
        let api_version = route.api_version();
        if !is_custom {
            object.entry("kind").or_insert_with(|| kind.as_str().into());
            object
                .entry("apiVersion")
                .or_insert_with(|| api_version.as_str().into());
        }
        let text = |field: &str| {
            let value = object.get(field).and_then(Value::as_str);
            value.unwrap_or_default().to_owned()
        };
        let (sent_kind, sent_version) = (text("kind"), text("apiVersion"));
        if sent_kind.is_empty() {
            let body = String::from_utf8_lossy(body);
            return Err(unrecognized(&format!("Object 'Kind' is missing in '{body}'")));
        }
        if sent_version != api_version {
            return Err(StatusFailure::bad_request(format!(
                "the API version in the data ({sent_version}) does not match the expected API version \
                 ({api_version})"
            )));
        }
        let cannot = |why: DecodeError| {
            let version = &route.version().name;
            StatusFailure::bad_request(format!(
                "{sent_kind} in version \"{version}\" cannot be handled as a {kind}: {why}"
            ))
        };
        if !is_custom && sent_kind != *kind {
            return Err(cannot(
                format!("no kind \"{sent_kind}\" is registered here").into(),
            ));
        }
        let (mut object, unknown) = fit(route, object, Nulls::Dropped).map_err(cannot)?;
        repeated.extend(unknown);
        let complained = self.complain(write.field_validation, repeated);
        complained.map_err(|why| cannot(format!("strict decoding error: {why}").into()))?;
        self.entry.object(&object);
        ensure_namespace(&mut object, route.namespace())?;
        Ok((write, object))
    }

    pub(crate) fn create(&mut self, route: &Route, body: &Bytes) -> HandlerResult<Reply> {
        let (write, mut object) = self.decode(route, "CreateOptions", body)?;
        if !matches!(meta::text(&object, "resourceVersion"), "" | "0") {
            let why = "resourceVersion should not be set on objects to be created";
            return Err(StatusFailure::internal(why));
        }
        wipe_system_fields(&mut object);
        track(None, &mut object, &write);
        self.insert(&mut self.state.storage(), &write, object)
    }

    /// Creates an object whose owners are set already.
    pub(crate) fn insert(
        &mut self,
        storage: &mut Storage,
        write: &WriteRequest<'_>,
        mut object: Value,
    ) -> HandlerResult<Reply> {
        let route = write.route;
        let resource = &route.resource;
        // Creating by an apply or an update needs the right to create, too.
        let action = RbacAction {
            verb: "create",
            ..RbacAction::of(self.info)
        };
        if self.info.verb != action.verb {
            let decision = rbac::authorize(storage, self.user, &action);
            if !decision.allowed {
                return Err(rbac::forbidden(self.user, &action, &decision.reason));
            }
        }
        check_namespace(storage, route, &object)?;
        check_definition(storage, route, &object)?;
        self.name(storage, route, &mut object);
        object["metadata"]["uid"] = self.state.new_uid().into();
        object["metadata"]["creationTimestamp"] = write.time.clone().into();
        // selfLink is known for compatibility, and never kept.
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("selfLink");
        }
        strategy::prepare_create(route, &mut object);
        check_new(route, &object)?;
        let name = meta::text(&object, "name");
        let key = key(meta::text(&object, "namespace"), name);
        if let Some(existing) = storage.get(&resource.id(), &key) {
            let mut failure = StatusFailure::already_exists(resource.qualified(), name);
            if meta::is_deleted(existing.object()) {
                failure.message = format!("object is being deleted: {}", failure.message);
            }
            return Err(failure);
        }
        if write.dry_run {
            return Ok(Reply::value(201, &object));
        }
        Ok(Reply::json(201, store(storage, write, &key, object)?.bytes()))
    }

    /// Generates a name from `generateName`.
    fn name(&self, storage: &Storage, route: &Route, object: &mut Value) {
        let stem: String = meta::text(object, "generateName").chars().take(58).collect();
        if stem.is_empty() || !meta::text(object, "name").is_empty() {
            return;
        }
        let (id, namespace) = (route.resource.id(), meta::text(object, "namespace"));
        let mut names = std::iter::repeat_with(|| format!("{stem}{}", self.state.name_suffix()));
        let free = names.find(|name| storage.entry_of(&id, &key(namespace, name)).is_none());
        object["metadata"]["name"] = free.into();
    }
}

/// Stores an object in the storage version. Returns it in the request's version.
pub(crate) fn store(
    storage: &mut Storage,
    write: &WriteRequest<'_>,
    key: &str,
    object: Value,
) -> HandlerResult<Arc<Stored>> {
    let route = write.route;
    let resource = &route.resource;
    let version = resource.storage_version();
    let object = if resource.family == Family::Event {
        event_in("", &object)
    } else if version.name == route.version().name {
        object
    } else {
        as_stored(&object, resource, version)
    };
    let stored = storage.put_bounded(&resource.id(), key, object);
    let stored = stored.ok_or_else(|| StatusFailure::internal("etcdserver: request is too large"))?;
    if resource.family == Family::Definition {
        settle(storage, &stored.open().object()["spec"]["group"], &write.time);
    }
    Ok(in_version(&stored, route))
}

/// Removes metadata that clients cannot set on a new object.
pub(crate) fn wipe_system_fields(object: &mut Value) {
    const FIELDS: [&str; 4] = [
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "uid",
    ];
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.retain(|name, _| !FIELDS.contains(&name.as_str()));
    }
}

/// Checks that the object and the path have the same namespace, if both have one.
pub(crate) fn ensure_namespace(object: &mut Value, namespace: &str) -> HandlerResult<()> {
    let namespace_in_body = meta::text(object, "namespace");
    if namespace_in_body == namespace {
        return Ok(());
    }
    if !namespace_in_body.is_empty() && !namespace.is_empty() {
        return Err(StatusFailure::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    if let Value::Object(fields) = object {
        let metadata = meta::metadata_mut(fields);
        match namespace {
            "" => metadata.remove("namespace"),
            namespace => metadata.insert("namespace".into(), namespace.into()),
        };
    }
    Ok(())
}

/// Refuses new objects of a CRD that is being deleted.
fn check_definition(storage: &Storage, route: &Route, object: &Value) -> HandlerResult<()> {
    let subject = route.resource.qualified();
    if route.resource.family == Family::Custom
        && let Some(definition) = storage.get(&crd_controller::definitions(), &subject.to_string())
        && meta::is_deleted(definition.object())
    {
        let why = "create not allowed while custom resource definition is terminating";
        return Err(StatusFailure::forbidden(subject, meta::text(object, "name"), why));
    }
    Ok(())
}

/// Refuses new objects in a namespace that is missing or being deleted.
fn check_namespace(storage: &Storage, route: &Route, object: &Value) -> HandlerResult<()> {
    let namespace = meta::text(object, "namespace");
    if namespace.is_empty() {
        return Ok(());
    }
    let stored = storage.get(&id("", "namespaces"), namespace);
    let stored =
        stored.ok_or_else(|| StatusFailure::not_found(Qualified::new("", "namespaces"), namespace))?;
    if !meta::is_deleted(stored.object()) {
        return Ok(());
    }
    let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
    let (subject, name) = (route.resource.qualified(), meta::text(object, "name"));
    let mut about = details(subject, name);
    about["causes"] = json!([{
        "reason": "NamespaceTerminating",
        "message": format!("namespace {namespace} is being terminated"),
        "field": "metadata.namespace",
    }]);
    Err(StatusFailure::forbidden(subject, name, &why).with(about))
}

fn check_new(route: &Route, object: &Value) -> HandlerResult<()> {
    let resource = &route.resource;
    let mut errors = strategy::check_type(route, object);
    if errors.is_empty() {
        let rule = strategy::name_rule(resource.family);
        meta::validate(object, resource.namespaced, rule, "metadata", &mut errors);
        strategy::check(route, object, None, &mut errors);
    }
    let subject = strategy::kind_of(resource, object);
    refuse(subject, meta::text(object, "name"), &errors)
}
