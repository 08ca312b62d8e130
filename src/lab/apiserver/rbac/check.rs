//! What roles and bindings may look like.

use serde_json::{Map, Value};

use super::GROUP;
use crate::lab::apiserver::field::{FieldError, quoted};
use crate::lab::apiserver::names;
use crate::lab::apiserver::resource::Resource;
use crate::lab::apiserver::value::{list, text};

/// What decoding fills in.
pub(in crate::lab::apiserver) fn set_defaults(object: &mut Map<String, Value>) {
    let subjects = object.get_mut("subjects").and_then(Value::as_array_mut);
    let subjects = subjects.into_iter().flatten();
    for subject in subjects.filter(|subject| matches!(text(subject, "kind"), "User" | "Group")) {
        set_group(subject);
    }
    object.get_mut("roleRef").map(set_group);
}

fn set_group(named: &mut Value) {
    if text(named, "apiGroup").is_empty() {
        named["apiGroup"] = GROUP.into();
    }
}

/// A role without rules tells so.
pub(in crate::lab::apiserver) fn set_rules(resource: &Resource, object: &mut Value) {
    if !resource.plural.ends_with("bindings") && list(object, "rules").is_empty() {
        object["rules"] = Value::Null;
    }
}

/// What is wrong with a role or a binding besides its metadata. `old` is what it replaces.
pub(in crate::lab::apiserver) fn check(
    resource: &Resource,
    new: &Value,
    old: Option<&Value>,
) -> Vec<FieldError> {
    if resource.plural.ends_with("bindings") {
        return check_binding(resource.namespaced, new, old);
    }
    let mut errors = Vec::new();
    for (i, rule) in list(new, "rules").iter().enumerate() {
        check_rule(&format!("rules[{i}]"), rule, resource.namespaced, &mut errors);
    }
    check_aggregation(&new["aggregationRule"], &mut errors);
    errors
}

fn check_binding(namespaced: bool, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut not_supported = |field: String, value: &str, supported: &[&str]| {
        if !supported.contains(&value) {
            errors.push(FieldError::not_supported(field, &value.into(), supported));
        }
    };
    let [group, kind, name] = ["apiGroup", "kind", "name"].map(|field| text(&new["roleRef"], field));
    let kinds = &["Role", "ClusterRole"][usize::from(!namespaced)..];
    not_supported("roleRef.apiGroup".to_owned(), group, &[GROUP]);
    not_supported("roleRef.kind".to_owned(), kind, kinds);
    let subjects = || list(new, "subjects").iter().enumerate();
    for (i, subject) in subjects() {
        let at = |field: &str| format!("subjects[{i}].{field}");
        let group = text(subject, "apiGroup");
        match text(subject, "kind") {
            "User" | "Group" => not_supported(at("apiGroup"), group, &[GROUP]),
            "ServiceAccount" => not_supported(at("apiGroup"), group, &[""]),
            kind => not_supported(at("kind"), kind, &["ServiceAccount", "User", "Group"]),
        }
    }
    check_name("roleRef.name", name, names::path_segment, &mut errors);
    for (i, subject) in subjects() {
        let is_account = text(subject, "kind") == "ServiceAccount";
        let rule = if is_account {
            names::dns_subdomain
        } else {
            |_: &str| Vec::new()
        };
        check_name(
            &format!("subjects[{i}].name"),
            text(subject, "name"),
            rule,
            &mut errors,
        );
        if is_account && !namespaced && text(subject, "namespace").is_empty() {
            errors.push(FieldError::required(format!("subjects[{i}].namespace"), ""));
        }
    }
    if old.is_some_and(|old| old["roleRef"] != new["roleRef"]) {
        let [group, kind, name] = [group, kind, name].map(quoted);
        let reference = format!(r#"{{"APIGroup":{group},"Kind":{kind},"Name":{name}}}"#);
        errors.push(FieldError::invalid_raw(
            "roleRef",
            &reference,
            "cannot change roleRef",
        ));
    }
    errors
}

fn check_name(at: &str, name: &str, rule: fn(&str) -> Vec<String>, errors: &mut Vec<FieldError>) {
    match name {
        "" => errors.push(FieldError::required(at, "")),
        name => errors.extend(FieldError::invalid_each(at, name, &rule(name))),
    }
}

fn check_rule(at: &str, rule: &Value, namespaced: bool, errors: &mut Vec<FieldError>) {
    let has = |field: &&str| !list(rule, field).is_empty();
    let about_others = has(&"nonResourceURLs");
    for (field, is_needed, why) in [
        ("verbs", true, "verbs must contain at least one value"),
        (
            "apiGroups",
            !about_others,
            "resource rules must supply at least one api group",
        ),
        (
            "resources",
            !about_others,
            "resource rules must supply at least one resource",
        ),
    ] {
        if is_needed && !has(&field) {
            errors.push(FieldError::required(format!("{at}.{field}"), why));
        }
    }
    let mut invalid = |why: &str| {
        let urls = &rule["nonResourceURLs"];
        errors.push(FieldError::invalid(format!("{at}.nonResourceURLs"), urls, why));
    };
    if about_others && namespaced {
        invalid("namespaced rules cannot apply to non-resource URLs");
    }
    if about_others && ["apiGroups", "resources", "resourceNames"].iter().any(has) {
        invalid("rules cannot apply to both regular resources and non-resource URLs");
    }
}

fn check_aggregation(aggregation: &Value, errors: &mut Vec<FieldError>) {
    let selectors = list(aggregation, "clusterRoleSelectors");
    if !aggregation.is_null() && selectors.is_empty() {
        let why = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        errors.push(FieldError::required("aggregationRule.clusterRoleSelectors", why));
    }
    for (i, selector) in selectors.iter().enumerate() {
        let at = format!("aggregationRule.clusterRoleSelectors[{i}]");
        let before = errors.len();
        for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
            let (at, value) = (format!("{at}.matchLabels"), value.as_str().unwrap_or_default());
            errors.extend(FieldError::invalid_each(&at, key, &names::label_key(key)));
            errors.extend(FieldError::invalid_each(&at, value, &names::label_value(value)));
        }
        for (j, expression) in list(selector, "matchExpressions").iter().enumerate() {
            check_expression(&format!("{at}.matchExpressions[{j}]"), expression, errors);
        }
        if errors.len() > before {
            errors.push(FieldError::invalid(at, &Value::Null, "invalid label selector."));
        }
    }
}

fn check_expression(at: &str, expression: &Value, errors: &mut Vec<FieldError>) {
    let has_values = !list(expression, "values").is_empty();
    match text(expression, "operator") {
        "In" | "NotIn" if !has_values => {
            let why = "must be specified when `operator` is 'In' or 'NotIn'";
            errors.push(FieldError::required(format!("{at}.values"), why));
        }
        "Exists" | "DoesNotExist" if has_values => {
            let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            errors.push(FieldError::forbidden(format!("{at}.values"), why));
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        other => {
            let why = "not a valid selector operator";
            errors.push(FieldError::invalid_text(format!("{at}.operator"), other, why));
        }
    }
    let key = text(expression, "key");
    errors.extend(FieldError::invalid_each(
        format!("{at}.key"),
        key,
        &names::label_key(key),
    ));
}
