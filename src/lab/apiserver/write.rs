//! Decoding what is sent, and creating objects.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::accepting::{self, settle};
use super::body::Reply;
use super::context::{Context, Named};
use super::embedded::coerce_embedded;
use super::family;
use super::managed_fields::track;
use super::meta;
use super::options::{FieldValidation, WriteOptions};
use super::read::{as_stored, in_version, namespace};
use super::request::Target;
use super::resource::Family;
use super::schema::{apply_defaults, drop_nulls, prune};
use super::status::{Failure, Outcome, Qualified};
use super::storage::{Kept, Storage, key};
use super::typed::{self, event_in};

/// An object as it was sent, made to fit its schema.
pub(super) struct Decoded {
    pub(super) object: Value,
    /// What is said of fields that stand twice.
    pub(super) repeated: Vec<String>,
    /// Paths that the schema does not know.
    pub(super) unknown: Vec<String>,
}

impl Decoded {
    /// Whether even a strict decoder has nothing to say.
    pub(super) fn is_strictly_good(&self) -> bool {
        self.repeated.is_empty() && self.unknown.is_empty()
    }

    /// What strict decoding says.
    pub(super) fn strict_error(&self) -> String {
        format!("strict decoding error: {}", self.complaints().join(", "))
    }

    /// What is told when it is only warned about.
    pub(super) fn warnings(&self, validation: FieldValidation) -> Vec<String> {
        match validation {
            FieldValidation::Warn => self.complaints(),
            FieldValidation::Ignore | FieldValidation::Strict => Vec::new(),
        }
    }

    fn complaints(&self) -> Vec<String> {
        let unknown = self
            .unknown
            .iter()
            .map(|path| format!("unknown field \"{path}\""));
        self.repeated.iter().cloned().chain(unknown).collect()
    }
}

/// The refusal of a body in which nothing is recognized.
pub(super) fn unrecognized(wanted: &str, why: &str, body: &[u8]) -> String {
    format!(
        "the object provided is unrecognized (must be of type {wanted}): {why} ({})",
        summary(body)
    )
}

/// The beginning of a body, as refusals show it.
fn summary(body: &[u8]) -> String {
    let (start, more) = match body.get(..30) {
        Some(start) if body.len() > 30 => (start, " ..."),
        _ => (body, ""),
    };
    match start {
        [] => "<empty>".to_owned(),
        [b'{', ..] => format!("{}{more}", String::from_utf8_lossy(start)),
        _ => {
            let hex: String = start.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{hex}{more}")
        }
    }
}

/// Numbers without a fraction are integers, however they are written.
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

/// What becomes of nulls that mean nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Nulls {
    Dropped,
    Kept,
}

/// Makes an object fit: metadata coerced, unknown fields pruned, meaningless nulls dropped, defaults filled in.
/// The error says what a decoder would.
pub(super) fn fit(named: &Named, mut object: Map<String, Value>, nulls: Nulls) -> Result<Decoded, String> {
    let (resource, version) = (&named.resource, named.version());
    let unknown = match resource.message() {
        Some(message) => typed::decode(message, &mut object)?,
        None => {
            object.values_mut().for_each(make_integral);
            let mut unknown = typed::coerce_metadata(&mut object)?;
            let mut whole = Value::Object(object);
            // The definition's schemas are data, in which nothing is unknown.
            unknown.extend(prune(&mut whole, &version.schema));
            if nulls == Nulls::Dropped {
                drop_nulls(&mut whole, &version.schema);
            }
            if version.schema.has_embedded() {
                unknown.extend(coerce_embedded(&mut whole, &version.schema, "")?);
            }
            family::check_types(resource, version, &whole)?;
            apply_defaults(&mut whole, &version.schema);
            object = match whole {
                Value::Object(fields) => fields,
                _ => Map::new(),
            };
            unknown
        }
    };
    family::set_defaults(resource.family, &mut object);
    Ok(Decoded {
        object: Value::Object(object),
        repeated: Vec::new(),
        unknown,
    })
}

impl Context<'_> {
    /// Decodes the body of a create or an update.
    pub(super) fn decode(&mut self, named: &Named, options: &WriteOptions, body: &Bytes) -> Outcome<Value> {
        let kind = &named.resource.kind;
        let media_type = self.content_type.split(';').next().unwrap_or_default().trim();
        let is_yaml = media_type == "application/yaml";
        if !is_yaml && !matches!(media_type, "" | "application/json") {
            return Err(Failure::unsupported_media_type(&[
                "application/json",
                "application/yaml",
            ]));
        }
        let unrecognized = |why: &str| Failure::bad_request(unrecognized(kind, why, body));
        let document = match is_yaml {
            true => super::json::read_yaml(body),
            false => super::json::read(body).map_err(|error| error.to_string()),
        };
        let document = document.map_err(|error| {
            unrecognized(&format!("couldn't get version/kind; json parse error: {error}"))
        })?;
        let Value::Object(mut object) = document.value else {
            return Err(unrecognized(
                "couldn't get version/kind; json parse error: not an object",
            ));
        };
        let api_version = named.api_version();
        if named.resource.family != Family::Custom {
            object.entry("kind").or_insert_with(|| kind.clone().into());
            object
                .entry("apiVersion")
                .or_insert_with(|| api_version.clone().into());
        }
        let text = |object: &Map<String, Value>, field: &str| {
            let value = object.get(field).and_then(Value::as_str);
            value.unwrap_or_default().to_owned()
        };
        let (sent_kind, sent_version) = (text(&object, "kind"), text(&object, "apiVersion"));
        if sent_kind.is_empty() {
            let body = String::from_utf8_lossy(body);
            return Err(unrecognized(&format!("Object 'Kind' is missing in '{body}'")));
        }
        if sent_version != api_version {
            return Err(Failure::bad_request(format!(
                "the API version in the data ({sent_version}) does not match the expected API version \
                 ({api_version})"
            )));
        }
        let cannot = |why: &str| {
            let version = &named.version().name;
            Failure::bad_request(format!(
                "{sent_kind} in version \"{version}\" cannot be handled as a {kind}: {why}"
            ))
        };
        if named.resource.family != Family::Custom && sent_kind != *kind {
            return Err(cannot(&format!("no kind \"{sent_kind}\" is registered here")));
        }
        let mut decoded = fit(named, object, Nulls::Dropped).map_err(|why| cannot(&why))?;
        decoded.repeated = match document.repeated {
            lines if is_yaml && options.field_validation == FieldValidation::Strict && !lines.is_empty() => {
                vec![super::json::yaml_error(&lines)]
            }
            repeated => repeated,
        };
        if options.field_validation == FieldValidation::Strict && !decoded.is_strictly_good() {
            return Err(cannot(&decoded.strict_error()));
        }
        self.warnings.extend(decoded.warnings(options.field_validation));
        Ok(decoded.object)
    }

    pub(super) fn create(&mut self, named: &Named, target: &Target, body: &Bytes) -> Outcome<Reply> {
        let options = WriteOptions::read(&self.info.query, "CreateOptions", self.agent)?;
        let mut object = self.decode(named, &options, body)?;
        self.entry.object(&object);
        if !matches!(meta::text(&object, "resourceVersion"), "" | "0") {
            // The real server does not blame the client.
            let why = "resourceVersion should not be set on objects to be created";
            return Err(Failure::new(500, "", why));
        }
        wipe_system_fields(&mut object);
        ensure_namespace(&mut object, namespace(named, target))?;
        track(None, &mut object, &self.writer(named, "", &options));
        let mut storage = self.server.storage();
        self.insert(&mut storage, named, target, &options, object)
    }

    /// Adds an object whose owners are told already.
    pub(super) fn insert(
        &mut self,
        storage: &mut Storage,
        named: &Named,
        target: &Target,
        options: &WriteOptions,
        mut object: Value,
    ) -> Outcome<Reply> {
        let time = self.server.time();
        check_namespace(storage, named, &object)?;
        self.check_escalation(storage, named, target, &object, None)?;
        check_definition(storage, named, &object)?;
        self.name(storage, named, &mut object);
        object["metadata"]["uid"] = self.server.new_uid().into();
        object["metadata"]["creationTimestamp"] = time.clone().into();
        family::prepare_create(&named.resource, named.version(), &mut object);
        check_new(named, &object)?;
        let warnings = family::warnings(named.resource.family, &object, None);
        self.warnings.extend(warnings);
        let name = meta::text(&object, "name").to_owned();
        let key = key(meta::text(&object, "namespace"), &name);
        let id = named.resource.id();
        if let Some(existing) = storage.get(&id, &key) {
            let mut failure = Failure::already_exists(named.resource.qualified(), &name);
            if !existing.object()["metadata"]["deletionTimestamp"].is_null() {
                failure.message = format!("object is being deleted: {}", failure.message);
            }
            return Err(failure);
        }
        if options.dry_run {
            return Ok(Reply::value(201, &object));
        }
        let stored = store(storage, named, &key, object);
        if named.resource.family == Family::Definition {
            settle(storage, &stored.open().object()["spec"]["group"], &time);
        }
        Ok(Reply::json(201, in_version(&stored, named).bytes()))
    }

    /// Makes a name where only the beginning of one was given.
    fn name(&self, storage: &Storage, named: &Named, object: &mut Value) {
        let stem = meta::text(object, "generateName").to_owned();
        if stem.is_empty() || !meta::text(object, "name").is_empty() {
            return;
        }
        let stem: String = stem.chars().take(58).collect();
        loop {
            let name = format!("{stem}{}", self.server.name_suffix());
            let taken = storage.get(&named.resource.id(), &key(meta::text(object, "namespace"), &name));
            if taken.is_none() {
                object["metadata"]["name"] = name.into();
                return;
            }
        }
    }
}

/// Top-level fields that a write to `subresource` cannot change.
pub(super) fn ignored_fields(named: &Named, subresource: &str) -> &'static [&'static str] {
    match (subresource, named.resource.family) {
        ("status", _) if named.resource.message().is_some() => &["spec"],
        ("status", _) => &["metadata", "spec"],
        (_, Family::Namespace) => &["status"],
        _ if named.version().status_subresource => &["status"],
        _ => &[],
    }
}

/// Stores an object in its resource's storage version.
pub(super) fn store(storage: &mut Storage, named: &Named, key: &str, object: Value) -> Arc<Kept> {
    let resource = &named.resource;
    let version = resource.storage_version();
    let object = match version.name == named.version().name {
        _ if resource.family == Family::Event => event_in("", &object),
        true => object,
        false => as_stored(&object, resource, version),
    };
    storage.put(&resource.id(), key, object)
}

/// What is not the client's to say of a new object.
pub(super) fn wipe_system_fields(object: &mut Value) {
    if let Value::Object(fields) = object {
        let metadata = meta::metadata_mut(fields);
        for field in [
            "creationTimestamp",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "uid",
            "selfLink",
            "generation",
        ] {
            metadata.remove(field);
        }
    }
}

/// The namespace in the object and the one in the path agree, or one of them is left out.
pub(super) fn ensure_namespace(object: &mut Value, namespace: &str) -> Outcome<()> {
    let sent = meta::text(object, "namespace").to_owned();
    if sent == namespace {
        return Ok(());
    }
    if !sent.is_empty() && !namespace.is_empty() {
        return Err(Failure::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    let Value::Object(fields) = object else {
        return Ok(());
    };
    let metadata = meta::metadata_mut(fields);
    match namespace {
        "" => metadata.remove("namespace"),
        namespace => metadata.insert("namespace".into(), namespace.into()),
    };
    Ok(())
}

/// Nothing new comes to what is about to be undefined.
fn check_definition(storage: &Storage, named: &Named, object: &Value) -> Outcome<()> {
    if named.resource.family != Family::Custom {
        return Ok(());
    }
    let name = named.resource.qualified().to_string();
    match storage.get(&accepting::definitions(), &name) {
        Some(definition) if !definition.object()["metadata"]["deletionTimestamp"].is_null() => {
            let why = "create not allowed while custom resource definition is terminating";
            let name = meta::text(object, "name");
            Err(Failure::forbidden(named.resource.qualified(), name, why))
        }
        _ => Ok(()),
    }
}

/// New objects need a namespace that exists and stays.
fn check_namespace(storage: &Storage, named: &Named, object: &Value) -> Outcome<()> {
    let namespace = meta::text(object, "namespace");
    if namespace.is_empty() {
        return Ok(());
    }
    let namespaces = (String::new(), "namespaces".to_owned());
    let subject = Qualified {
        group: "",
        resource: "namespaces",
    };
    let found = storage.get(&namespaces, namespace);
    let found = found.ok_or_else(|| Failure::not_found(subject, namespace))?;
    if found.object()["metadata"]["deletionTimestamp"].is_null() {
        return Ok(());
    }
    let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
    let name = meta::text(object, "name");
    let mut failure = Failure::forbidden(named.resource.qualified(), name, &why);
    let cause = json!({
        "reason": "NamespaceTerminating",
        "message": format!("namespace {namespace} is being terminated"),
        "field": "metadata.namespace",
    });
    if let Some(details) = &mut failure.details {
        details["causes"] = json!([cause]);
    }
    Err(failure)
}

fn check_new(named: &Named, object: &Value) -> Outcome<()> {
    let (resource, version) = (&named.resource, named.version());
    let mut errors = family::check_type(resource, version, object);
    if errors.is_empty() {
        let rule = family::name_rule(resource.family);
        errors.extend(meta::validate(object, resource.namespaced, rule, "metadata"));
        family::check(resource, version, object, None, "", &mut errors);
    }
    match errors.as_slice() {
        [] => Ok(()),
        errors => Err(Failure::invalid(
            family::kind_of(resource, object),
            meta::text(object, "name"),
            errors,
        )),
    }
}
