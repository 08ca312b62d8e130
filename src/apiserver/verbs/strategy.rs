//! The strategy of each resource: its defaults, warnings and checks.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Map, Value, json};

use crate::{
    access::rbac,
    object::{
        field::{ErrorCollector, Errors},
        json::{take, text, texts},
        names,
        status::Qualified,
    },
    schema::{check_lists, check_rules, validate},
    store::{
        definition,
        resource::{Family, Resource},
        route::Route,
    },
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
        Family::Access => rbac::set_defaults(object),
        _ => {}
    }
}

/// Sets the server's fields of a new object.
pub(crate) fn prepare_create(route: &Route, object: &mut Value) {
    let resource = &route.resource;
    match resource.family {
        Family::Namespace => {
            object["status"] = json!({"phase": "Active"});
            let mut finalizers: Vec<Value> = texts(&object["spec"], "finalizers");
            if !finalizers.contains(&"kubernetes".into()) {
                finalizers.push("kubernetes".into());
            }
            object["spec"]["finalizers"] = finalizers.into();
        }
        Family::Definition => {
            object["status"] = definition::new_status(object);
            object["metadata"]["generation"] = 1.into();
        }
        Family::Custom => {
            if route.version().status_subresource
                && let Value::Object(fields) = object
            {
                fields.remove("status");
            }
            object["metadata"]["generation"] = 1.into();
        }
        Family::Access => rbac::set_rules(resource, object),
        _ => {}
    }
}

/// Restores what such a write cannot change, and increments the generation if the rest changed.
pub(crate) fn prepare_update(route: &Route, new: &mut Value, old: &Value) {
    let resource = &route.resource;
    let fields: &[&str] = match resource.family {
        Family::Namespace => &["spec", "status"],
        _ if route.version().status_subresource => &["status"],
        _ => &[],
    };
    for field in fields {
        take(new, field, old);
    }
    let is_new_generation = match resource.family {
        Family::Custom => !same_but_metadata(new, old),
        Family::Definition => {
            definition::note_storage(new);
            new["spec"] != old["spec"]
        }
        Family::Access => return rbac::set_rules(resource, new),
        _ => return,
    };
    let generation = old["metadata"]["generation"].as_i64().unwrap_or(1);
    new["metadata"]["generation"] = (generation + i64::from(is_new_generation)).into();
}

/// True if two objects differ at most in their metadata.
fn same_but_metadata(a: &Value, b: &Value) -> bool {
    let (Some(a), Some(b)) = (a.as_object(), b.as_object()) else {
        return a == b;
    };
    let is_same = |(name, value): (&String, &Value)| name == "metadata" || b.get(name) == Some(value);
    a.len() == b.len() && a.iter().all(is_same)
}

/// Adds the errors of an object, except those of its metadata. `old` is the object it replaces. Built-in kinds are only
/// decoded.
pub(crate) fn check(route: &Route, new: &Value, old: Option<&Value>, errors: &mut Errors) {
    match route.resource.family {
        Family::Custom => check_custom(route, new, old, errors),
        Family::Definition if route.target.subresource.is_empty() => {
            errors.extend(definition::check(new, old));
        }
        Family::Definition => definition::check_status(new, errors),
        _ => {}
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
pub(crate) fn check_type(route: &Route, object: &Value) -> Errors {
    let mut errors = Vec::new();
    for (field, expected) in [
        ("kind", &route.resource.kind),
        ("apiVersion", &route.api_version()),
    ] {
        let actual = text(object, field);
        if actual != expected {
            let why = format!("must be {expected}");
            errors.invalid(field, actual, &why);
        }
    }
    errors
}

fn check_custom(route: &Route, new: &Value, old: Option<&Value>, errors: &mut Errors) {
    let (version, subresource) = (route.version(), route.target.subresource.as_str());
    let schema = &version.schema;
    match (subresource, schema.field("status"), new.get("status")) {
        ("status", Some(status), Some(value)) => {
            let old = old.and_then(|old| old.get("status"));
            errors.extend(validate(value, old, status, "status"));
        }
        ("status", _, _) => {}
        _ => errors.extend(validate(new, old, schema, "")),
    }
    if old.is_none_or(|old| check_lists(old, schema).is_empty()) {
        errors.extend(check_lists(new, schema));
    }
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
