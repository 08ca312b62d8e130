//! Defaults and checks of roles and bindings.

use serde_json::{Map, Value, json};

use super::GROUP;
use crate::{
    object::{
        field::{Errors, Found},
        meta, names,
        requirement::check_values,
        value::{list, text},
    },
    store::resource::Resource,
};

/// Fills in defaults.
pub(crate) fn set_defaults(object: &mut Map<String, Value>) {
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

/// A role without rules shows `rules: null`.
pub(crate) fn set_rules(resource: &Resource, object: &mut Value) {
    if !resource.plural.ends_with("bindings") && list(object, "rules").is_empty() {
        object["rules"] = Value::Null;
    }
}

/// Adds the errors of a role or binding, except those of its metadata. `old` is the object it replaces.
pub(crate) fn check(resource: &Resource, new: &Value, old: Option<&Value>, errors: &mut Errors) {
    if resource.plural.ends_with("bindings") {
        return check_binding(resource.namespaced, new, old, errors);
    }
    for (i, rule) in list(new, "rules").iter().enumerate() {
        check_rule(&format!("rules[{i}]"), rule, resource.namespaced, errors);
    }
    check_aggregation(&new["aggregationRule"], errors);
}

fn check_binding(namespaced: bool, new: &Value, old: Option<&Value>, errors: &mut Errors) {
    let [group, kind, name] = ["apiGroup", "kind", "name"].map(|field| text(&new["roleRef"], field));
    let kinds = &["Role", "ClusterRole"][usize::from(!namespaced)..];
    errors.one_of("roleRef.apiGroup", group, &[GROUP]);
    errors.one_of("roleRef.kind", kind, kinds);
    check_name("roleRef.name", name, names::path_segment, errors);
    for (i, subject) in list(new, "subjects").iter().enumerate() {
        check_subject(&format!("subjects[{i}]"), subject, namespaced, errors);
    }
    if old.is_some_and(|old| old["roleRef"] != new["roleRef"]) {
        let reference = json!({"APIGroup": group, "Kind": kind, "Name": name});
        errors.invalid("roleRef", reference, "cannot change roleRef");
    }
}

fn check_subject(at: &str, subject: &Value, namespaced: bool, errors: &mut Errors) {
    let [group, kind, name] = ["apiGroup", "kind", "name"].map(|field| text(subject, field));
    let is_account = kind == "ServiceAccount";
    let (rule, group_wanted): (fn(&str) -> _, _) = if is_account {
        (names::dns_subdomain, "")
    } else {
        (|_| Vec::new(), GROUP)
    };
    check_name(&format!("{at}.name"), name, rule, errors);
    let kinds = ["ServiceAccount", "User", "Group"];
    if kinds.contains(&kind) {
        errors.one_of(format!("{at}.apiGroup"), group, &[group_wanted])
    } else {
        errors.not_supported(format!("{at}.kind"), kind, &kinds)
    }
    if is_account && !namespaced && text(subject, "namespace").is_empty() {
        errors.required(format!("{at}.namespace"), "");
    }
}

fn check_name(at: &str, name: &str, rule: fn(&str) -> Vec<String>, errors: &mut Errors) {
    match name {
        "" => errors.required(at, ""),
        name => errors.judge(at, name, rule),
    }
}

fn check_rule(at: &str, rule: &Value, namespaced: bool, errors: &mut Errors) {
    let has = |field: &str| !list(rule, field).is_empty();
    let mut require = |field: &str, why: &str| {
        if !has(field) {
            errors.required(format!("{at}.{field}"), why);
        }
    };
    require("verbs", "verbs must contain at least one value");
    if !has("nonResourceURLs") {
        require("apiGroups", "resource rules must supply at least one api group");
        require("resources", "resource rules must supply at least one resource");
        return;
    }
    let mut invalid = |why: &str| {
        let urls = &rule["nonResourceURLs"];
        errors.invalid(format!("{at}.nonResourceURLs"), urls, why);
    };
    if namespaced {
        invalid("namespaced rules cannot apply to non-resource URLs");
    }
    if has("apiGroups") || has("resources") || has("resourceNames") {
        invalid("rules cannot apply to both regular resources and non-resource URLs");
    }
}

fn check_aggregation(aggregation: &Value, errors: &mut Errors) {
    let selectors = list(aggregation, "clusterRoleSelectors");
    if !aggregation.is_null() && selectors.is_empty() {
        let why = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        errors.required("aggregationRule.clusterRoleSelectors", why);
    }
    for (i, selector) in selectors.iter().enumerate() {
        let at = format!("aggregationRule.clusterRoleSelectors[{i}]");
        let before = errors.len();
        meta::validate_labels(selector, "matchLabels", &format!("{at}.matchLabels"), errors);
        for (j, expression) in list(selector, "matchExpressions").iter().enumerate() {
            check_expression(&format!("{at}.matchExpressions[{j}]"), expression, errors);
        }
        if errors.len() > before {
            errors.invalid(at, (), "invalid label selector.");
        }
    }
}

fn check_expression(at: &str, expression: &Value, errors: &mut Errors) {
    if !check_values(at, expression, errors) {
        let why = "not a valid selector operator";
        errors.invalid(format!("{at}.operator"), &expression["operator"], why);
    }
    errors.judge(format!("{at}.key"), text(expression, "key"), names::label_key);
}
