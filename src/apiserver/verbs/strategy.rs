//! The strategy of each resource: its defaults, warnings and checks.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Map, Value, json};

use crate::{
    access::rbac,
    object::{
        field::{Errors, Found},
        meta, names,
        status::Qualified,
        value::{take, text, texts},
    },
    schema::{check_lists, check_rules, embedded::check_embedded, validate},
    store::{
        definition,
        named::Named,
        resource::{Family, Resource},
        scale,
    },
    typed,
};

/// The rule for names of this family.
pub(crate) fn name_rule(family: Family) -> fn(&str) -> Vec<String> {
    match family {
        Family::Namespace => names::dns_label,
        Family::Event | Family::Access => names::path_segment,
        _ => names::dns_subdomain,
    }
}

/// Fills in defaults.
pub(crate) fn set_defaults(family: Family, object: &mut Map<String, Value>) {
    match family {
        Family::Namespace => {
            let name = object["metadata"]["name"].clone();
            if name.is_string() {
                object["metadata"]["labels"]["kubernetes.io/metadata.name"] = name;
            }
        }
        Family::Secret => {
            if let Some(Value::Object(texts)) = object.remove("stringData") {
                let data = object.entry("data").or_insert_with(|| json!({}));
                for (key, text) in texts {
                    data[key] = STANDARD.encode(text.as_str().unwrap_or_default()).into();
                }
            }
            object.entry("type").or_insert_with(|| "Opaque".into());
        }
        Family::Definition => definition::set_defaults(object),
        Family::Node => {
            typed::agree_on_ranges(&mut object["spec"]);
            let status = &mut object["status"];
            if status["allocatable"].is_null() && !status["capacity"].is_null() {
                status["allocatable"] = status["capacity"].clone();
            }
        }
        Family::Access => rbac::set_defaults(object),
        _ => {}
    }
}

/// Warnings about what is new: unknown formats, and finalizers whose names may collide.
pub(crate) fn warnings(family: Family, new: &Value, old: Option<&Value>) -> Vec<String> {
    match family {
        Family::Definition => {
            let before = old.map(definition::unknown_formats).unwrap_or_default();
            let mut now = definition::unknown_formats(new);
            now.retain(|format| !before.contains(format));
            let warning = |format| format!("unrecognized format {format:?}");
            now.iter().map(warning).collect()
        }
        Family::Custom => {
            let mut added = meta::added_finalizers(new, old);
            added.retain(|name| !name.contains('/') && !meta::STANDARD_FINALIZERS.contains(name));
            let warning = |name: &&str| {
                let path = name.contains('.').then_some("including a path (/) ");
                let path = path.unwrap_or_default();
                format!(
                    "metadata.finalizers: \"{name}\": prefer a domain-qualified finalizer name {path}to avoid \
                     accidental conflicts with other finalizer writers"
                )
            };
            added.iter().map(warning).collect()
        }
        _ => Vec::new(),
    }
}

/// Sets the server's fields of a new object.
pub(crate) fn prepare_create(named: &Named, object: &mut Value) {
    let resource = &named.resource;
    prepare(resource, object);
    match resource.family {
        Family::Namespace => {
            object["status"] = json!({"phase": "Active"});
            let finalizers = &mut object["spec"]["finalizers"];
            add_unless(finalizers, "kubernetes".into(), |other| other == "kubernetes");
        }
        Family::Definition => {
            object["status"] = definition::new_status(object);
            object["metadata"]["generation"] = 1.into();
        }
        Family::Custom => {
            if named.version().status_subresource
                && let Value::Object(fields) = object
            {
                fields.remove("status");
            }
            object["metadata"]["generation"] = 1.into();
        }
        // A new Node is tainted until it reports to be ready.
        Family::Node => {
            let taint = json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"});
            let alike = |other: &Value| ["key", "effect"].iter().all(|part| other[part] == taint[part]);
            add_unless(&mut object["spec"]["taints"], taint.clone(), alike);
        }
        _ => {}
    }
}

/// Adds `item` to a list, unless a similar one is in it.
fn add_unless(list: &mut Value, item: Value, is_alike: impl Fn(&Value) -> bool) {
    match list.as_array_mut() {
        Some(items) if items.iter().any(is_alike) => {}
        Some(items) => items.push(item),
        None => *list = json!([item]),
    }
}

/// Drops fields that are not stored as sent.
fn prepare(resource: &Resource, object: &mut Value) {
    match resource.family {
        // Only the names of Secrets are kept.
        Family::ServiceAccount => {
            let secrets = object.get_mut("secrets").and_then(Value::as_array_mut);
            for secret in secrets.into_iter().flatten() {
                *secret = json!({"name": secret["name"]});
            }
        }
        Family::Access => rbac::set_rules(resource, object),
        // Coordinated leases are behind a feature gate that is off.
        Family::Lease => {
            if let Some(spec) = object["spec"].as_object_mut() {
                spec.retain(|name, _| !matches!(name.as_str(), "strategy" | "preferredHolder"));
            }
        }
        _ => {}
    }
}

/// Restores what such a write cannot change, and increments the generation if the rest changed.
pub(crate) fn prepare_update(named: &Named, new: &mut Value, old: &Value) {
    let resource = &named.resource;
    prepare(resource, new);
    let kept: &[&str] = match resource.family {
        Family::Namespace => &["spec", "status"],
        _ if named.version().status_subresource => &["status"],
        _ => &[],
    };
    for field in kept {
        take(new, field, old);
    }
    let counted = match resource.family {
        Family::Custom => !same_but_metadata(new, old),
        Family::Definition => {
            definition::note_storage(new);
            new["spec"] != old["spec"]
        }
        _ => return,
    };
    let generation = old["metadata"]["generation"].as_i64().unwrap_or(1);
    new["metadata"]["generation"] = (generation + i64::from(counted)).into();
}

/// True if two objects differ at most in their metadata.
fn same_but_metadata(a: &Value, b: &Value) -> bool {
    let (Some(a), Some(b)) = (a.as_object(), b.as_object()) else {
        return a == b;
    };
    let same = |(name, value): (&String, &Value)| name == "metadata" || b.get(name) == Some(value);
    a.len() == b.len() && a.iter().all(same)
}

/// Adds the errors of the finalizers' names. Most built-in kinds accept only standard finalizers and those with a domain.
pub(crate) fn check_finalizers(resource: &Resource, object: &Value, errors: &mut Errors) {
    let accepts_any = match resource.family {
        Family::Custom | Family::Definition | Family::Lease => true,
        Family::Event => resource.group.is_empty(),
        _ => false,
    };
    for (i, finalizer) in meta::finalizers(object).into_iter().enumerate() {
        if !accepts_any {
            meta::check_finalizer(format!("metadata.finalizers[{i}]"), finalizer, errors);
        }
    }
}

/// Adds the errors of updated metadata that kube-apiserver finds besides the usual ones. Many repeat those.
pub(crate) fn check_updated_metadata(named: &Named, new: &Value, old: &Value, errors: &mut Errors) {
    let resource = &named.resource;
    let family = resource.family;
    if family == Family::Event && resource.group.is_empty() {
        return;
    }
    meta::validate_update(new, old, errors);
    check_finalizers(resource, new, errors);
    // These are checked like new objects, too.
    let is_new_like = matches!(
        family,
        Family::Secret
            | Family::ConfigMap
            | Family::ServiceAccount
            | Family::Access
            | Family::Node
            | Family::Namespace
    );
    if is_new_like && named.target.subresource.is_empty() {
        meta::validate(new, resource.namespaced, name_rule(family), "metadata", errors);
        check_finalizers(resource, new, errors);
    }
}

/// Adds the errors of an object, except those of its metadata. `old` is the object it replaces.
pub(crate) fn check(named: &Named, new: &Value, old: Option<&Value>, errors: &mut Errors) {
    let resource = &named.resource;
    match resource.family {
        Family::Custom => check_custom(named, new, old, errors),
        Family::Secret => typed::check_secret(new, old, errors),
        Family::ConfigMap => typed::check_config_map(new, old, errors),
        Family::Definition if named.target.subresource.is_empty() => {
            errors.extend(definition::check(new, old));
        }
        Family::Definition => definition::check_status(new, errors),
        Family::Event => typed::check_event(&resource.group, new, old, errors),
        Family::Lease => typed::check_lease(new, errors),
        Family::Node => typed::check_node(new, old, errors),
        Family::Access => rbac::check(resource, new, old, errors),
        Family::Namespace => {
            for finalizer in texts(&new["spec"], "finalizers") {
                errors.judge("spec.finalizers", finalizer, names::label_key);
                meta::check_finalizer("spec.finalizers", finalizer, errors);
            }
            check_phase(named, new, errors);
        }
        Family::ServiceAccount | Family::Review | Family::Other => {}
    }
}

/// The phase of a Namespace must agree with its deletion.
fn check_phase(named: &Named, namespace: &Value, errors: &mut Errors) {
    let phase = text(&namespace["status"], "phase");
    let (wanted, state) = if meta::is_deleted(namespace) {
        ("Terminating", "not empty")
    } else {
        ("Active", "empty")
    };
    if named.target.subresource == "status" && phase != wanted {
        let why = format!("may only be '{wanted}' if `deletionTimestamp` is {state}");
        errors.invalid("status.Phase", phase, &why);
    }
}

/// How messages name an object: by its own kind.
pub(crate) fn kind_of<'a>(resource: &'a Resource, object: &'a Value) -> Qualified<'a> {
    let group = match resource.family {
        // Events of both groups are checked in the core group.
        Family::Event => "",
        _ => &resource.group,
    };
    Qualified::new(group, object["kind"].as_str().unwrap_or(&resource.kind))
}

/// Checks `apiVersion` and `kind`. If they are wrong, nothing else is checked.
pub(crate) fn check_type(named: &Named, object: &Value) -> Errors {
    let mut errors = Vec::new();
    for (field, wanted) in [
        ("kind", &named.resource.kind),
        ("apiVersion", &named.api_version()),
    ] {
        let seen = text(object, field);
        if seen != wanted {
            let why = format!("must be {wanted}");
            errors.invalid(field, seen, &why);
        }
    }
    errors
}

fn check_custom(named: &Named, new: &Value, old: Option<&Value>, errors: &mut Errors) {
    let (version, subresource) = (named.version(), named.target.subresource.as_str());
    let schema = &version.schema;
    match (subresource, schema.field("status"), new.get("status")) {
        ("status", Some(status), Some(value)) => {
            let old = old.and_then(|old| old.get("status"));
            errors.extend(validate(value, old, status, "status"));
        }
        ("status", _, _) => {}
        _ => errors.extend(validate(new, old, schema, "")),
    }
    if subresource.is_empty() {
        check_embedded(new, schema, errors);
    }
    if old.is_none_or(|old| check_lists(old, schema).is_empty()) {
        errors.extend(check_lists(new, schema));
    }
    scale::check(new, version, errors);
    if !schema.has_rules {
        return;
    }
    if errors.iter().any(|error| error.problem.blocks_rules()) {
        let why = "some validation rules were not checked because the object was invalid; correct the existing \
                   errors to complete validation";
        errors.invalid("", &Value::Null, why);
    } else {
        check_rules(new, old, schema, errors);
    }
}
