//! What roles and bindings may look like.

use serde_json::{Map, Value, json};

use super::GROUP;
use super::authorize::text;
use crate::lab::apiserver::field::{FieldError, quoted};
use crate::lab::apiserver::names;
use crate::lab::apiserver::resource::Resource;

/// What decoding fills in and leaves out.
pub(in crate::lab::apiserver) fn set_defaults(object: &mut Map<String, Value>) {
    object
        .retain(|field, value| field != "subjects" || value.as_array().is_some_and(|list| !list.is_empty()));
    if let Some(reference) = object.get_mut("roleRef")
        && text(reference, "apiGroup").is_empty()
    {
        reference["apiGroup"] = GROUP.into();
    }
    for subject in object
        .get_mut("subjects")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        if matches!(text(subject, "kind"), "User" | "Group") && text(subject, "apiGroup").is_empty() {
            subject["apiGroup"] = GROUP.into();
        }
    }
    for rule in object
        .get_mut("rules")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        if let Value::Object(lists) = rule {
            lists
                .retain(|name, list| name == "verbs" || list.as_array().is_some_and(|list| !list.is_empty()));
        }
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
    let mut errors = Vec::new();
    if !resource.plural.ends_with("bindings") {
        for (i, rule) in list(new, "rules").iter().enumerate() {
            check_rule(&format!("rules[{i}]"), rule, resource.namespaced, &mut errors);
        }
        check_aggregation(&new["aggregationRule"], &mut errors);
        return errors;
    }
    let reference = &new["roleRef"];
    let mut not_supported = |field: &str, value: &str, supported: &[&str]| {
        if !supported.contains(&value) {
            let supported: Vec<String> = supported.iter().map(|text| (*text).to_owned()).collect();
            errors.push(FieldError::not_supported(field, &value.into(), &supported));
        }
    };
    let kinds: &[&str] = match resource.namespaced {
        true => &["Role", "ClusterRole"],
        false => &["ClusterRole"],
    };
    not_supported("roleRef.apiGroup", text(reference, "apiGroup"), &[GROUP]);
    not_supported("roleRef.kind", text(reference, "kind"), kinds);
    for (i, subject) in list(new, "subjects").iter().enumerate() {
        let at = |field: &str| format!("subjects[{i}].{field}");
        let (kind, group) = (text(subject, "kind"), text(subject, "apiGroup"));
        match kind {
            "User" | "Group" => not_supported(&at("apiGroup"), group, &[GROUP]),
            "ServiceAccount" => not_supported(&at("apiGroup"), group, &[""]),
            kind => not_supported(&at("kind"), kind, &["ServiceAccount", "User", "Group"]),
        }
    }
    check_name(
        "roleRef.name",
        text(reference, "name"),
        names::path_segment,
        &mut errors,
    );
    for (i, subject) in list(new, "subjects").iter().enumerate() {
        let is_account = text(subject, "kind") == "ServiceAccount";
        let rule: fn(&str) -> Vec<String> = match is_account {
            true => names::dns_subdomain,
            false => |_| Vec::new(),
        };
        check_name(
            &format!("subjects[{i}].name"),
            text(subject, "name"),
            rule,
            &mut errors,
        );
        if is_account && !resource.namespaced && text(subject, "namespace").is_empty() {
            errors.push(FieldError::required(format!("subjects[{i}].namespace"), ""));
        }
    }
    if old.is_some_and(|old| old["roleRef"] != *reference) {
        let part = |field: &str| quoted(text(reference, field));
        let (group, kind, name) = (part("apiGroup"), part("kind"), part("name"));
        let value = format!("{{\"APIGroup\":{group},\"Kind\":{kind},\"Name\":{name}}}");
        errors.push(FieldError::invalid_raw(
            "roleRef",
            &value,
            "cannot change roleRef",
        ));
    }
    errors
}

fn list<'a>(object: &'a Value, field: &str) -> &'a [Value] {
    object[field].as_array().map_or(&[], Vec::as_slice)
}

fn check_name(at: &str, name: &str, rule: fn(&str) -> Vec<String>, errors: &mut Vec<FieldError>) {
    if name.is_empty() {
        errors.push(FieldError::required(at, ""));
        return;
    }
    errors.extend(
        rule(name)
            .iter()
            .map(|why| FieldError::invalid_text(at, name, why)),
    );
}

fn check_rule(at: &str, rule: &Value, namespaced: bool, errors: &mut Vec<FieldError>) {
    let has = |field: &str| !list(rule, field).is_empty();
    let mut required =
        |field: &str, why: &str| errors.push(FieldError::required(format!("{at}.{field}"), why));
    if !has("verbs") {
        required("verbs", "verbs must contain at least one value");
    }
    if !has("nonResourceURLs") {
        if !has("apiGroups") {
            required("apiGroups", "resource rules must supply at least one api group");
        }
        if !has("resources") {
            required("resources", "resource rules must supply at least one resource");
        }
        return;
    }
    let mut invalid = |why: &str| {
        let urls = &rule["nonResourceURLs"];
        errors.push(FieldError::invalid(format!("{at}.nonResourceURLs"), urls, why));
    };
    if namespaced {
        invalid("namespaced rules cannot apply to non-resource URLs");
    }
    if ["apiGroups", "resources", "resourceNames"]
        .iter()
        .any(|field| has(field))
    {
        invalid("rules cannot apply to both regular resources and non-resource URLs");
    }
}

fn check_aggregation(aggregation: &Value, errors: &mut Vec<FieldError>) {
    if aggregation.is_null() {
        return;
    }
    let selectors = list(aggregation, "clusterRoleSelectors");
    if selectors.is_empty() {
        let why = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        errors.push(FieldError::required("aggregationRule.clusterRoleSelectors", why));
    }
    for (i, selector) in selectors.iter().enumerate() {
        let at = format!("aggregationRule.clusterRoleSelectors[{i}]");
        let before = errors.len();
        for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
            let value = value.as_str().unwrap_or_default();
            let labels = format!("{at}.matchLabels");
            let wrong = names::label_key(key).into_iter().map(|why| (key.as_str(), why));
            let wrong = wrong.chain(names::label_value(value).into_iter().map(|why| (value, why)));
            errors.extend(wrong.map(|(text, why)| FieldError::invalid_text(&labels, text, &why)));
        }
        for (j, expression) in list(selector, "matchExpressions").iter().enumerate() {
            check_expression(&format!("{at}.matchExpressions[{j}]"), expression, errors);
        }
        if errors.len() > before {
            errors.push(FieldError::invalid(&at, &json!(null), "invalid label selector."));
        }
    }
}

fn check_expression(at: &str, expression: &Value, errors: &mut Vec<FieldError>) {
    let values = list(expression, "values");
    match text(expression, "operator") {
        "In" | "NotIn" if values.is_empty() => {
            let why = "must be specified when `operator` is 'In' or 'NotIn'";
            errors.push(FieldError::required(format!("{at}.values"), why));
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
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
    let wrong = names::label_key(key).into_iter();
    errors.extend(wrong.map(|why| FieldError::invalid_text(format!("{at}.key"), key, &why)));
}
