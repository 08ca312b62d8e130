//! Server-side apply: a client tells the fields that it wants, and owns them from then on. What it owned and tells no
//! more goes, unless others own it too; what others own and it wants otherwise is a conflict.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::body::Reply;
use super::context::{Context, Named};
use super::family;
use super::field::quoted;
use super::field_set::FieldSet;
use super::json;
use super::managed_fields::{Entry, Operation, Writer, conflicts, lose, read_entries, update, write_entries};
use super::merge::{Type, compare_objects, fields_of, merge, remove, with_named};
use super::merge_errors::errors;
use super::meta;
use super::options::{FieldValidation, WriteOptions};
use super::rbac::{self, Act};
use super::read::namespace;
use super::request::{RequestInfo, Target};
use super::status::{Failure, Outcome};
use super::update::{check_name, current};
use super::write::{Nulls, ensure_namespace, fit, ignored_fields, wipe_system_fields};

/// The manager whose applies follow those that a client computed itself.
const KUBECTL: &str = "kubectl";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

impl Context<'_> {
    pub(super) fn apply(
        &mut self,
        named: &Named,
        target: &Target,
        options: &WriteOptions,
        body: &Bytes,
    ) -> Outcome<Reply> {
        let undecodable = |why: &str| Failure::bad_request(format!("error decoding YAML: {why}"));
        let document = json::read_yaml(body).map_err(|why| undecodable(&why))?;
        self.entry.request(&document.value);
        let config = match document.value {
            Value::Null => json!({}),
            config if config.is_object() => config,
            _ => return Err(undecodable("json: cannot unmarshal into a map")),
        };
        let mut blank = family::blank(&named.resource);
        blank["apiVersion"] = named.api_version().into();
        blank["kind"] = named.resource.kind.clone().into();
        let writer = Writer {
            manager: &options.field_manager,
            named,
            subresource: &target.subresource,
            time: &self.server.time(),
        };
        let mut storage = self.server.storage();
        let found = current(&storage, named, target);
        let live = found.as_ref().map_or(&blank, |found| found.object());
        let mut object = applied(live, &config, &blank, &writer, options.force)?;
        match options.field_validation {
            FieldValidation::Strict if !document.repeated.is_empty() => {
                let why = json::yaml_error(&document.repeated);
                let why = format!("error strict decoding YAML: error converting YAML to JSON: {why}");
                return Err(Failure::bad_request(why));
            }
            FieldValidation::Warn => self.warnings.extend(document.repeated),
            FieldValidation::Strict | FieldValidation::Ignore => {}
        }
        if let Err(missing) = &found {
            let uid = meta::text(&object, "uid");
            if !uid.is_empty() {
                let why = format!(
                    "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                );
                return Err(Failure::conflict(named.resource.qualified(), &target.name, &why));
            }
            if !target.subresource.is_empty() {
                return Err(missing.clone());
            }
            wipe_system_fields(&mut object);
        }
        ensure_namespace(&mut object, namespace(named, target))?;
        check_name(&object, &target.name)?;
        if let Ok(current) = found {
            let stored = self.replace(&mut storage, named, target, options, current, object)?;
            return Ok(Reply::json(200, stored.bytes()));
        }
        let creation = RequestInfo {
            verb: "create",
            ..self.info.clone()
        };
        let act = Act::of(&creation);
        let decision = rbac::authorize(&storage, self.user, &act);
        if !decision.allowed {
            return Err(rbac::forbidden(self.user, &act, &decision.reason));
        }
        self.insert(&mut storage, named, target, options, object)
    }
}

/// What becomes of `live` when `config` is applied to it, with its owners. `blank` is an object before it is created.
fn applied(live: &Value, config: &Value, blank: &Value, writer: &Writer<'_>, force: bool) -> Outcome<Value> {
    let of = Type::object(Some(&writer.named.version().schema));
    check(config, of, writer)?;
    let mut entries = read_entries(Some(live));
    if entries.is_empty() {
        let manager = "before-first-apply";
        update(&mut entries, blank, live, &Writer { manager, ..*writer });
    }
    let mut fields = fields_of(config, of);
    fields.exclude(ignored_fields(writer.named, writer.subresource));
    let mut own = Entry::new(writer, Operation::Apply, fields);
    let last = entries
        .iter()
        .position(|entry| entry.is_of(writer, Operation::Apply));
    let last = last.map(|place| entries.remove(place));
    let mut merged = merge(live, config, of);
    if let Some(last) = &last {
        let all: Vec<&Entry> = entries.iter().chain([&own]).collect();
        merged = give_up(&merged, last, &all, writer).unwrap_or(merged);
    }
    if !force {
        check_conflicts(&entries, live, &merged, of, writer)?;
    }
    lose(&mut entries, live, &merged, writer);
    own.fields.strip();
    let is_changed = merged != *live;
    if !is_changed {
        own.time = last.map(|last| last.time).unwrap_or_default();
    }
    entries.push(own);
    let mut object = live.clone();
    if is_changed && let Value::Object(merged) = merged {
        let fitting = fit(writer.named, merged, Nulls::Kept);
        object = fitting.map_err(|why| Failure::new(500, "", why))?.object;
    }
    write_entries(&mut object, entries);
    let annotation = annotations(&mut object).and_then(|annotations| annotations.get_mut(LAST_APPLIED));
    if writer.manager == KUBECTL
        && let Some(annotation) = annotation.filter(|text| *text != "")
    {
        let mut config = config.clone();
        annotations(&mut config).map(|annotations| annotations.remove(LAST_APPLIED));
        *annotation = format!("{config}\n").into();
    }
    Ok(object)
}

fn annotations(object: &mut Value) -> Option<&mut Map<String, Value>> {
    object.pointer_mut("/metadata/annotations")?.as_object_mut()
}

/// What cannot be applied at all.
fn check(config: &Value, of: Type<'_>, writer: &Writer<'_>) -> Outcome<()> {
    let text = |field: &str| config[field].as_str().unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let slash = if api_version.contains('/') { "" } else { "/" };
    let told_kind = format!("{slash}{api_version}, Kind={kind}");
    if (api_version, kind) != (&writer.named.api_version(), &writer.named.resource.kind) {
        return Err(Failure::bad_request(format!("invalid object type: {told_kind}")));
    }
    if config["metadata"]["managedFields"].is_array() {
        return Err(Failure::bad_request("metadata.managedFields must be nil"));
    }
    let wrong = errors(config, of);
    let wrong = match wrong.as_slice() {
        [] => return Ok(()),
        [only] => only.clone(),
        several => format!("errors:\n  {}", several.join("\n  ")),
    };
    // The real server does not blame the client.
    let [namespace, name] = ["namespace", "name"].map(|field| meta::text(config, field));
    let why = format!("failed to create typed patch object ({namespace}/{name}; {told_kind}): {wrong}");
    Err(Failure::new(500, "", why))
}

/// Takes from `merged` what the applier owned, tells no more, and nobody else owns. `None` when it owned that in a
/// version that is no more.
fn give_up(merged: &Value, last: &Entry, entries: &[&Entry], writer: &Writer<'_>) -> Option<Value> {
    let fields_in = |value: &Value, version: &str| {
        let of = writer.of(version)?;
        Some(with_named(&fields_of(&*writer.convert(value, version)?, of), of))
    };
    let gone = |left: &Value, version: &str| {
        let mut gone = fields_in(merged, version)?;
        gone.subtract(&fields_in(left, version)?);
        Some(gone)
    };
    let without = |fields: &FieldSet, value: &Value, version: &str| {
        Some(remove(
            &*writer.convert(value, version)?,
            fields,
            writer.of(version)?,
        ))
    };
    let first = last.api_version.as_str();
    let owned_before = with_named(&last.fields, writer.of(first)?);
    let mut left = without(&owned_before, merged, first)?;
    let mut versions: BTreeMap<&str, FieldSet> = BTreeMap::new();
    for entry in entries {
        let owned = versions.entry(&entry.api_version).or_default();
        owned.union(&entry.fields);
    }
    // Whatever somebody owns comes back, in the version in which it was owned first.
    let owned_first = versions.remove_entry(first);
    for (version, owned) in owned_first.into_iter().chain(versions) {
        let Some(mut gone) = gone(&left, version) else {
            continue;
        };
        gone.subtract(&with_named(&owned, writer.of(version)?));
        left = without(&gone, merged, version)?;
    }
    // And so does what the applier never owned.
    let gone = gone(&left, first)?.intersection(&owned_before);
    let left = without(&gone, merged, first)?;
    let left = writer.convert(&left, &writer.named.api_version())?;
    Some(left.into_owned())
}

/// Refuses to change what others own.
fn check_conflicts(
    entries: &[Entry],
    live: &Value,
    merged: &Value,
    of: Type<'_>,
    writer: &Writer<'_>,
) -> Outcome<()> {
    let mut found = conflicts(entries, live, merged, writer);
    if writer.manager == KUBECTL
        && let Some(own) = applied_by_client(live, of, writer)
    {
        found.retain_mut(|(_, fields)| {
            fields.subtract(&own);
            !fields.is_empty()
        });
    }
    found.sort_by(|(a, _), (b, _)| a.rank().cmp(&b.rank()));
    let owners = found.iter().map(|(owner, fields)| (owner.told(), fields.paths()));
    let owners: Vec<(String, Vec<String>)> = owners.collect();
    let causes = owners.iter().flat_map(|(owner, paths)| {
        let message = format!("conflict with {owner}");
        let cause = move |path| json!({"reason": "FieldManagerConflict", "message": message, "field": path});
        paths.iter().map(cause)
    });
    let causes: Vec<Value> = causes.collect();
    let why = match (owners.as_slice(), causes.len()) {
        (_, 0) => return Ok(()),
        ([(owner, paths)], 1) => format!("1 conflict: conflict with {owner}: {}", paths[0]),
        (_, count) => {
            let told = owners
                .iter()
                .map(|(owner, paths)| format!("conflicts with {owner}:\n- {}", paths.join("\n- ")));
            format!("{count} conflicts: {}", told.collect::<Vec<_>>().join("\n"))
        }
    };
    let mut failure = Failure::new(409, "Conflict", format!("Apply failed with {why}"));
    failure.details = Some(json!({"causes": causes}));
    Err(failure)
}

impl Entry {
    /// Its place among others in messages.
    fn rank(&self) -> impl Ord {
        let version = (self.operation == Operation::Update).then_some(&self.api_version);
        let (manager, subresource) = (&self.manager, &self.subresource);
        (
            manager,
            self.operation,
            version,
            subresource.is_empty(),
            subresource,
        )
    }

    /// As messages name an owner: those who apply by their name alone.
    fn told(&self) -> String {
        let mut told = quoted(&self.manager);
        if !self.subresource.is_empty() {
            told = format!("{told} with subresource {}", quoted(&self.subresource));
        }
        match self.operation {
            Operation::Update => format!("{told} using {}", self.api_version),
            Operation::Apply => told,
        }
    }
}

/// What kubectl has applied by itself before, as far as it is still so: it may go on to own that.
fn applied_by_client(live: &Value, of: Type<'_>, writer: &Writer<'_>) -> Option<FieldSet> {
    let text = live["metadata"]["annotations"][LAST_APPLIED].as_str()?;
    let config: Value = serde_json::from_str(text).ok()?;
    if config["apiVersion"] != writer.named.api_version() || !errors(&config, of).is_empty() {
        return None;
    }
    let mut fields = fields_of(&config, of);
    let since = compare_objects(&config, live, of, &[]);
    fields.subtract(&since.taken);
    fields.subtract(&since.removed);
    Some(fields)
}
