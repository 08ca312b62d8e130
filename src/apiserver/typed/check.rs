//! Checks Events, Leases and Nodes, except their metadata.

use serde_json::Value;

use super::{events::event_in, messages::known, pod_ranges::check_ranges};
use crate::object::{
    field::{Errors, Found, Problem, quoted},
    meta, names,
    value::{fields, list, text},
};

/// Adds the errors of an Event that was sent to this group. `old` is what it replaces.
pub(crate) fn check_event(group: &str, new: &Value, old: Option<&Value>, errors: &mut Errors) {
    let (new, old) = (event_in("", new), old.map(|old| event_in("", old)));
    check_any_event(&new, errors);
    match old {
        // The core group accepts what it always accepted.
        _ if group.is_empty() => {}
        None => check_new_event(&new, errors),
        Some(old) => check_event_update(&new, &old, errors),
    }
}

/// The name of an Event's field in errors.
fn field_name(field: &str) -> &str {
    match field {
        "reportingComponent" => "reportingController",
        field => field,
    }
}

fn check_any_event(event: &Value, errors: &mut Errors) {
    let namespace = meta::text(event, "namespace");
    let about = text(&event["involvedObject"], "namespace");
    let is_new_style = !event["eventTime"].is_null();
    let agree = match (about, is_new_style) {
        ("", true) => matches!(namespace, "default" | "kube-system"),
        ("", false) => matches!(namespace, "" | "default"),
        (_, true) => true,
        (about, false) => about == namespace,
    };
    if !agree {
        let why = "does not match event.namespace";
        errors.invalid("involvedObject.namespace", about, why);
    }
    if !is_new_style {
        return;
    }
    let (at, controller) = ("reportingController", text(event, "reportingComponent"));
    errors.judge(at, controller, names::label_key);
    for (field, longest) in [
        ("reportingComponent", usize::MAX),
        ("reportingInstance", 128),
        ("action", 128),
        ("reason", 128),
        ("message", 1024),
    ] {
        let value = text(event, field);
        if value.is_empty() && field != "message" {
            errors.required(field_name(field), "");
        }
        if value.len() > longest {
            let why = format!("can have at most {longest} characters");
            errors.invalid(field_name(field), "", &why);
        }
    }
}

/// The requirements of `events.k8s.io` on a new Event.
fn check_new_event(event: &Value, errors: &mut Errors) {
    check_series(&event["series"], errors);
    if event["eventTime"].is_null() {
        errors.required("eventTime", "");
    }
    let kind = text(event, "type");
    if !matches!(kind, "Normal" | "Warning") {
        let why = format!("has invalid value: {kind}");
        errors.invalid("type", "", &why);
    }
    for field in ["firstTimestamp", "lastTimestamp", "count", "source"] {
        let value = &event[field];
        if !value.is_null() && value.as_object().is_none_or(|fields| !fields.is_empty()) {
            errors.invalid(field, "", "needs to be unset");
        }
    }
}

/// Only the series of an Event may change.
fn check_event_update(new: &Value, old: &Value, errors: &mut Errors) {
    if new["series"] != old["series"] {
        check_series(&new["series"], errors);
    }
    let fields = known("Event").fields.iter().map(|field| field.name);
    let others = fields.filter(|field| !matches!(*field, "metadata" | "series"));
    for field in others.filter(|field| new[field] != old[field]) {
        errors.invalid(field_name(field), &new[field], "field is immutable");
    }
}

fn check_series(series: &Value, errors: &mut Errors) {
    if series.is_null() {
        return;
    }
    if series["count"].as_i64().unwrap_or_default() < 2 {
        errors.invalid("series.count", "", "should be at least 2");
    }
    if series["lastObservedTime"].is_null() {
        errors.required("series.lastObservedTime", "");
    }
}

/// Adds the errors of a Lease.
pub(crate) fn check_lease(lease: &Value, errors: &mut Errors) {
    let spec = &lease["spec"];
    for (field, least, why) in [
        ("leaseDurationSeconds", 1, "must be greater than 0"),
        ("leaseTransitions", 0, "must be greater than or equal to 0"),
    ] {
        if spec[field].as_i64().is_some_and(|number| number < least) {
            errors.invalid(format!("spec.{field}"), &spec[field], why);
        }
    }
}

/// Adds the errors of a Node. `old` is what it replaces.
pub(crate) fn check_node(new: &Value, old: Option<&Value>, errors: &mut Errors) {
    check_taints(&new["spec"], errors);
    for amounts in ["capacity", "allocatable"] {
        for (name, amount) in fields(&new["status"], amounts) {
            let amount = amount.as_str().unwrap_or_default();
            let at = format!("status.{amounts}.{name}");
            let mut wrong = |why| errors.invalid(&at, amount, why);
            if amount.starts_with('-') {
                wrong("must be greater than or equal to 0");
            }
            if comes_whole(name) && amount.ends_with(['m', 'u', 'n']) {
                wrong("must be an integer");
            }
        }
    }
    check_ranges(&new["spec"], errors);
    let Some(old) = old else { return };
    // kube-apiserver checks taints twice on updates.
    check_taints(&new["spec"], errors);
    let addresses = list(&new["status"], "addresses");
    for (i, address) in addresses.iter().enumerate() {
        if addresses[..i].contains(address) {
            let at = format!("status.addresses[{i}]");
            let (kind, address) = (&address["type"], &address["address"]);
            let told = format!(r#"{{"Type":{kind},"Address":{address}}}"#);
            errors.note(Problem::Duplicate, at, Some(told), "");
        }
    }
    for (field, name) in [("podCIDRs", "podCIDR"), ("providerID", "providerID")] {
        let before = &old["spec"][field];
        if !before.is_null() && new["spec"][field] != *before {
            let why = format!("node updates may not change {name} except from \"\" to valid");
            errors.forbidden(format!("spec.{field}"), &why);
        }
    }
}

/// True for resources that are counted in whole numbers: pods and extended resources.
fn comes_whole(resource: &str) -> bool {
    let domain = resource.split_once('/').map(|(domain, _)| domain);
    resource == "pods" || domain.is_some_and(|domain| !domain.ends_with("kubernetes.io"))
}

fn check_taints(spec: &Value, errors: &mut Errors) {
    const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
    let taints = list(spec, "taints");
    for (i, taint) in taints.iter().enumerate() {
        let at = |field: &str| format!("metadata.taints[{i}]{field}");
        let [key, value, effect] = ["key", "value", "effect"].map(|field| text(taint, field));
        errors.judge(at(".key"), key, names::label_key);
        let wrong = names::label_value(value).join(";");
        if !wrong.is_empty() {
            errors.invalid(at(".value"), value, &wrong);
        }
        match effect {
            "" => errors.required(at(".effect"), ""),
            effect => errors.one_of(at(".effect"), effect, &EFFECTS),
        }
        let alike = |other: &Value| text(other, "key") == key && text(other, "effect") == effect;
        if taints[..i].iter().any(alike) {
            let [key, value, effect] = [key, value, effect].map(quoted);
            let added = &taint["timeAdded"];
            let taint = format!(r#"{{"Key":{key},"Value":{value},"Effect":{effect},"TimeAdded":{added}}}"#);
            let why = "taints must be unique by key and effect pair";
            errors.note(Problem::Duplicate, at(""), Some(taint), why);
        }
    }
}
