//! The manager label, and the name that it repeats.

use std::collections::{HashMap, HashSet};

use crate::{
    api::names,
    evidence::{Asked, Evidence, Kind, ObjectRef, Origin, Request, RequestBody, Requests},
    rules::{
        Finding, Findings,
        text::{ABSENT, is_label_value, shown, shown_or_absent},
    },
};

const LABEL_PATH: &str = "metadata.labels[x-k8s.io/cluster-manager]";
const NAME_PATH: &str = "spec.clusterManager.name";

/// Every profile has the manager label.
pub(in crate::rules) fn manager_label_present(evidence: &Evidence, findings: &mut Findings) {
    for profile in evidence.inventory() {
        findings.examine();
        if profile.label(names::LABEL_MANAGER).is_none() {
            findings.report(
                Finding::on(profile, "profile lacks the manager label")
                    .at(LABEL_PATH)
                    .expected(expected_value(profile.manager()))
                    .observed(ABSENT),
            );
        }
    }
}

/// The manager label's value is the manager's name.
///
/// A label that is absent and a name that no label can hold are the findings of other rules.
pub(in crate::rules) fn manager_label_matches(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable("no profile has both the manager label and a manager name that fits into it");
    for profile in evidence.inventory() {
        let manager = profile.manager();
        let Some(label) = profile.label(names::LABEL_MANAGER).filter(|_| is_usable(manager)) else {
            continue;
        };
        findings.examine();
        if label != manager {
            findings.report(
                Finding::on(profile, "manager label does not repeat the manager's name")
                    .at(LABEL_PATH)
                    .expected(manager)
                    .observed(shown(label)),
            );
        }
    }
}

/// The manager's name can be a label's value, so that the label can repeat it.
pub(in crate::rules) fn manager_name_usable(evidence: &Evidence, findings: &mut Findings) {
    for profile in evidence.inventory() {
        findings.examine();
        let manager = profile.manager();
        if is_usable(manager) {
            continue;
        }
        let message = match manager.is_empty() {
            true => "profile names no manager",
            false => "manager's name is no valid label value",
        };
        let name = profile
            .spec
            .cluster_manager
            .as_ref()
            .map(|manager| &*manager.name);
        findings.report(
            Finding::on(profile, message)
                .at(NAME_PATH)
                .expected("1 to 63 letters, digits, `-`, `_` or `.`, a letter or digit at both ends")
                .observed(shown_or_absent(name)),
        );
    }
}

/// The first version of a profile already has the manager label.
///
/// The watch shows first versions as they are stored. The audit log shows what was sent, to which a webhook may
/// have added: it speaks only of profiles whose creation the watch did not see.
pub(in crate::rules) fn manager_label_from_creation(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable("no profile was created in the window");
    let watched = matches!(evidence.asked(Kind::Timeline), Asked::Yes);
    let mut seen = HashSet::new();
    if watched {
        for history in evidence.histories() {
            if history.origin != Origin::Created {
                continue;
            }
            let first = history.first();
            seen.insert((&*first.metadata.namespace, &*first.metadata.name));
            findings.examine();
            if first.label(names::LABEL_MANAGER).is_none() {
                findings.report(unlabelled(first, first.manager()));
            }
        }
    }
    if let Some(requests) = &evidence.requests {
        judge_creations(evidence, requests, &seen, findings);
    }
}

/// Judges the creations that an audit log tells of, but for those in `seen`.
fn judge_creations(
    evidence: &Evidence,
    requests: &Requests,
    seen: &HashSet<(&str, &str)>,
    findings: &mut Findings,
) {
    let mut later_writes = HashMap::new();
    for event in requests.events.iter().filter(|event| event.is_write()) {
        if event.subresource.is_empty() && !super::owners::is_creation(event) {
            later_writes.insert((&*event.namespace, &*event.name), event.at);
        }
    }
    let stored: HashMap<_, _> = evidence
        .everyone()
        .map(|profile| ((&*profile.metadata.namespace, &*profile.metadata.name), profile))
        .collect();
    let mut bodiless = 0;
    for event in requests
        .events
        .iter()
        .filter(|event| super::owners::is_creation(event))
    {
        let name = super::owners::created_name(event);
        let key = (&*event.namespace, name);
        if seen.contains(&key) {
            continue;
        }
        let Some(body) = &event.body else {
            bodiless += 1;
            continue;
        };
        if !in_scope(evidence, event, body) {
            continue;
        }
        findings.examine();
        let added_on_the_way = stored
            .get(&key)
            .is_some_and(|profile| profile.label(names::LABEL_MANAGER).is_some())
            && later_writes.get(&key).is_none_or(|at| *at < event.at);
        if body.manager_label.is_none() && !added_on_the_way {
            let object = ObjectRef {
                kind: names::KIND.to_owned(),
                namespace: event.namespace.to_string(),
                name: name.to_owned(),
                ..ObjectRef::default()
            };
            findings.report(unlabelled(object, body.manager.as_deref().unwrap_or_default()));
        }
    }
    match (bodiless, findings.examined) {
        (0, _) => {}
        (_, 0) => {
            findings.cannot_tell("the audit log tells of creations, but not what was sent (level Request)")
        }
        (_, _) => findings.note(format!(
            "{bodiless} creations in the audit log could not be judged: it does not tell what was sent"
        )),
    }
}

fn unlabelled(object: impl Into<ObjectRef>, manager: &str) -> Finding {
    Finding::on(object, "profile was created without the manager label")
        .at(LABEL_PATH)
        .expected(expected_value(manager))
        .observed(ABSENT)
}

fn in_scope(evidence: &Evidence, event: &Request, body: &RequestBody) -> bool {
    let scope = &evidence.header.scope;
    let namespace = scope.namespaces.is_empty() || scope.namespaces.iter().any(|n| **n == *event.namespace);
    namespace
        && scope.cluster_manager.as_deref().is_none_or(|manager| {
            body.manager.as_deref() == Some(manager) || body.manager_label.as_deref() == Some(manager)
        })
}

fn expected_value(manager: &str) -> String {
    match manager {
        "" => "the name of the cluster manager".to_owned(),
        manager => shown(manager),
    }
}

/// Whether a manager's name is there and can be a label's value.
fn is_usable(manager: &str) -> bool {
    !manager.is_empty() && is_label_value(manager)
}
