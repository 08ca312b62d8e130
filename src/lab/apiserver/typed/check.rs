//! What is wrong with Events, Leases and Nodes besides their metadata.

use serde_json::Value;

use super::events::event_in;
use crate::lab::apiserver::field::{FieldError, quoted};
use crate::lab::apiserver::names;
use crate::lab::apiserver::resource::{Family, Resource};

/// The errors of an object. `old` is what it replaces.
pub(in crate::lab::apiserver) fn check(
    resource: &Resource,
    new: &Value,
    old: Option<&Value>,
) -> Vec<FieldError> {
    match resource.family {
        Family::Event => {
            let (new, old) = (event_in("", new), old.map(|old| event_in("", old)));
            let mut errors = check_event(&new);
            // The core group stays as lenient as it was.
            match old {
                _ if resource.group.is_empty() => {}
                None => errors.extend(check_new_event(&new)),
                Some(old) => errors.extend(check_event_update(&new, &old)),
            }
            errors
        }
        Family::Lease => check_lease(&new["spec"]),
        Family::Node => check_node(new, old),
        _ => Vec::new(),
    }
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_default()
}

fn check_event(event: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let namespace = text(&event["metadata"], "namespace");
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
        errors.push(FieldError::invalid_text("involvedObject.namespace", about, why));
    }
    if !is_new_style {
        return errors;
    }
    let controller = text(event, "reportingComponent");
    let wrong = names::label_key(controller);
    errors.extend(
        wrong
            .iter()
            .map(|why| FieldError::invalid_text("reportingController", controller, why)),
    );
    for (field, told, needed, longest) in [
        ("reportingComponent", "reportingController", true, usize::MAX),
        ("reportingInstance", "reportingInstance", true, 128),
        ("action", "action", true, 128),
        ("reason", "reason", true, 128),
        ("message", "message", false, 1024),
    ] {
        let value = text(event, field);
        if needed && value.is_empty() {
            errors.push(FieldError::required(told, ""));
        }
        if value.len() > longest {
            errors.push(FieldError::invalid_text(
                told,
                "",
                &format!("can have at most {longest} characters"),
            ));
        }
    }
    errors
}

/// What `events.k8s.io` demands of a new Event.
fn check_new_event(event: &Value) -> Vec<FieldError> {
    let mut errors = check_series(event);
    if event["eventTime"].is_null() {
        errors.push(FieldError::required("eventTime", ""));
    }
    let kind = text(event, "type");
    if !matches!(kind, "Normal" | "Warning") {
        errors.push(FieldError::invalid_text(
            "type",
            "",
            &format!("has invalid value: {kind}"),
        ));
    }
    for field in ["firstTimestamp", "lastTimestamp", "count", "source"] {
        let value = &event[field];
        if !value.is_null() && value.as_object().is_none_or(|fields| !fields.is_empty()) {
            errors.push(FieldError::invalid_text(field, "", "needs to be unset"));
        }
    }
    errors
}

/// Only the series of an Event goes on.
fn check_event_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = match new["series"] == old["series"] {
        true => Vec::new(),
        false => check_series(new),
    };
    for (field, told) in [
        ("involvedObject", "involvedObject"),
        ("reason", "reason"),
        ("message", "message"),
        ("source", "source"),
        ("firstTimestamp", "firstTimestamp"),
        ("lastTimestamp", "lastTimestamp"),
        ("count", "count"),
        ("type", "type"),
        ("eventTime", "eventTime"),
        ("action", "action"),
        ("related", "related"),
        ("reportingComponent", "reportingController"),
        ("reportingInstance", "reportingInstance"),
    ] {
        if new[field] != old[field] {
            errors.push(FieldError::invalid(told, &new[field], "field is immutable"));
        }
    }
    errors
}

fn check_series(event: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let series = &event["series"];
    if series.is_null() {
        return errors;
    }
    if series["count"].as_i64().unwrap_or_default() < 2 {
        errors.push(FieldError::invalid_text(
            "series.count",
            "",
            "should be at least 2",
        ));
    }
    if series["lastObservedTime"].is_null() {
        errors.push(FieldError::required("series.lastObservedTime", ""));
    }
    errors
}

fn check_lease(spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (field, least, why) in [
        ("leaseDurationSeconds", 1, "must be greater than 0"),
        ("leaseTransitions", 0, "must be greater than or equal to 0"),
    ] {
        if spec[field].as_i64().is_some_and(|number| number < least) {
            errors.push(FieldError::invalid(format!("spec.{field}"), &spec[field], why));
        }
    }
    errors
}

fn check_node(new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = check_taints(&new["spec"]["taints"]);
    for amounts in ["capacity", "allocatable"] {
        for (name, amount) in new["status"][amounts].as_object().into_iter().flatten() {
            let amount = amount.as_str().unwrap_or_default();
            let at = format!("status.{amounts}.{name}");
            if amount.starts_with('-') {
                let why = "must be greater than or equal to 0";
                errors.push(FieldError::invalid_text(&at, amount, why));
            }
            if comes_whole(name) && amount.ends_with(['m', 'u', 'n']) {
                errors.push(FieldError::invalid_text(&at, amount, "must be an integer"));
            }
        }
    }
    let Some(old) = old else { return errors };
    // The real server judges them once as those of a Node and once as those of a changed one.
    errors.extend(check_taints(&new["spec"]["taints"]));
    let addresses = new["status"]["addresses"].as_array();
    let addresses = addresses.map(Vec::as_slice).unwrap_or_default();
    for (i, address) in addresses
        .iter()
        .enumerate()
        .filter(|(i, address)| addresses[..*i].contains(address))
    {
        let told = format!(
            "{{\"Type\":{},\"Address\":{}}}",
            address["type"], address["address"]
        );
        errors.push(FieldError::duplicate_raw(
            format!("status.addresses[{i}]"),
            &told,
            "",
        ));
    }
    for (field, name) in [("podCIDRs", "podCIDR"), ("providerID", "providerID")] {
        let before = &old["spec"][field];
        if !before.is_null() && new["spec"][field] != *before {
            let why = format!("node updates may not change {name} except from \"\" to valid");
            errors.push(FieldError::forbidden(format!("spec.{field}"), &why));
        }
    }
    errors
}

/// Pods, and what somebody else than Kubernetes counts.
fn comes_whole(resource: &str) -> bool {
    resource == "pods"
        || resource
            .split_once('/')
            .is_some_and(|(domain, _)| !domain.ends_with("kubernetes.io"))
}

fn check_taints(taints: &Value) -> Vec<FieldError> {
    const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
    let mut errors = Vec::new();
    let taints = taints.as_array().map(Vec::as_slice).unwrap_or_default();
    for (i, taint) in taints.iter().enumerate() {
        let at = |field: &str| format!("metadata.taints[{i}].{field}");
        let [key, value, effect] = ["key", "value", "effect"].map(|field| text(taint, field));
        let wrong = names::label_key(key);
        errors.extend(
            wrong
                .iter()
                .map(|why| FieldError::invalid_text(at("key"), key, why)),
        );
        let wrong = names::label_value(value).join(";");
        if !wrong.is_empty() {
            errors.push(FieldError::invalid_text(at("value"), value, &wrong));
        }
        match effect {
            "" => errors.push(FieldError::required(at("effect"), "")),
            effect if EFFECTS.contains(&effect) => {}
            _ => errors.push(FieldError::not_supported(
                at("effect"),
                &taint["effect"],
                &EFFECTS.map(str::to_owned),
            )),
        }
        let alike = |other: &Value| text(other, "key") == key && text(other, "effect") == effect;
        if taints[..i].iter().any(alike) {
            let told = format!(
                "{{\"Key\":{},\"Value\":{},\"Effect\":{},\"TimeAdded\":{}}}",
                quoted(key),
                quoted(value),
                quoted(effect),
                taint["timeAdded"]
            );
            let why = "taints must be unique by key and effect pair";
            errors.push(FieldError::duplicate_raw(
                format!("metadata.taints[{i}]"),
                &told,
                why,
            ));
        }
    }
    errors
}
