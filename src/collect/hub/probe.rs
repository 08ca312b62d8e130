//! Tries to change a profile's manager by dry runs: the hub answers, and stores nothing.

use std::collections::BTreeSet;

use evidence::{
    ObjectRef, Probe, ProbeMethod, ProbeOutcome,
    api::{ClusterProfile, ObjectKind, names},
};
use http::Method;
use kube::core::{Status, response::StatusCause};
use serde_json::{Value, json};

use super::{
    permissions::{Permissions, places},
    target::HubTarget,
};
use crate::{
    clock::Clock,
    connect::{RequestFailure, TimedClient, once, segment},
};

/// At most so many managers are probed, each with one profile: all fall under the same rules of the hub.
const MOST: usize = 5;
/// Stored nowhere, sent as who would own the field.
const QUERY: &str = "dryRun=All&fieldManager=clusterprofile-conformance";
/// The names that a profile's manager is changed to: the first that is not its own. Only the change can be wrong.
const OTHER_MANAGERS: [&str; 2] = ["conformance-probe", "conformance-probe-2"];

/// Whether the runner may try the change. Only if the hub says so: a probe that RBAC refuses shows nothing.
pub(crate) fn is_allowed(permissions: &Permissions, scope: &[String]) -> bool {
    let mut places = places(scope).into_iter();
    places.any(|namespace| may_patch(permissions, namespace))
}

fn may_patch(permissions: &Permissions, namespace: &str) -> bool {
    permissions.allows("patch", names::GROUP, names::PLURAL, namespace) == Some(true)
}

pub(crate) async fn probe<'a>(
    client: &TimedClient,
    clock: Clock,
    target: &HubTarget,
    permissions: &Permissions,
    profiles: impl Iterator<Item = &'a ClusterProfile>,
) -> Vec<Probe> {
    let mut managers = BTreeSet::new();
    let mut probes = Vec::new();
    for profile in profiles {
        let metadata = &profile.metadata;
        let is_probed = managers.len() < MOST
            && metadata.deletion_timestamp.is_none()
            && may_patch(permissions, &metadata.namespace)
            && managers.insert(profile.manager());
        if !is_probed {
            continue;
        }
        let collection = target.collection(ObjectKind::ClusterProfile, &metadata.namespace);
        let path = format!("{collection}/{}?{QUERY}", segment(&metadata.name));
        let mut names = OTHER_MANAGERS.into_iter();
        let manager = names
            .find(|other| *other != profile.manager())
            .unwrap_or_default();
        let patch = change(manager);
        let at = clock.now();
        let answer = once(client, Method::PATCH, &path, Some(&patch));
        probes.push(Probe {
            at,
            object: ObjectRef::from(profile),
            method: ProbeMethod::MergePatch,
            outcome: outcome(answer.await, manager),
        });
    }
    probes
}

/// A patch that changes the manager of a profile, and the label with it: otherwise a policy that compares the two would
/// refuse the change on a hub that allows it.
fn change(manager: &str) -> Value {
    json!({
        "metadata": {"labels": {(names::LABEL_MANAGER): manager}},
        "spec": {"clusterManager": {"name": manager}},
    })
}

fn outcome(answer: Result<Value, RequestFailure>, manager: &str) -> ProbeOutcome {
    match answer {
        Ok(object) if object["spec"]["clusterManager"]["name"] == manager => ProbeOutcome::Accepted,
        Ok(_) => ProbeOutcome::Unanswered {
            code: 200,
            message: "the hub accepted the request, but answered with another manager than the one sent"
                .to_owned(),
        },
        Err(RequestFailure::Status { status, .. }) if is_about_the_manager(&status) => {
            let fields = causes(&status).iter().map(|cause| cause.field.clone());
            ProbeOutcome::Refused {
                code: status.code,
                fields: fields.filter(|field| !field.is_empty()).collect(),
                reason: status.reason,
                message: status.message,
            }
        }
        Err(failure) => ProbeOutcome::Unanswered {
            code: failure.code(),
            message: failure.to_string(),
        },
    }
}

fn causes(status: &Status) -> &[StatusCause] {
    let details = status.details.as_ref();
    details.map_or(&[], |details| &details.causes)
}

/// Whether a refusal is for what the probe changes. The schema names the field; an admission policy or webhook has only
/// its message.
fn is_about_the_manager(status: &Status) -> bool {
    let causes = causes(status);
    let has_field = causes.iter().any(|cause| {
        matches!(&*cause.field, "spec" | "spec.clusterManager")
            || cause.field.starts_with("spec.clusterManager.")
    });
    let message = status.message.to_lowercase();
    // RBAC's message names the profile, which may be called anything.
    let is_rbac = message.contains("cannot patch resource") || message.contains("cannot update resource");
    let messages = causes.iter().map(|cause| cause.message.to_lowercase());
    let has_words = messages.chain([message]).any(|text| {
        ["clustermanager", "cluster manager", "immutable"]
            .iter()
            .any(|word| text.contains(word))
    });
    match status.code {
        422 => has_field || has_words,
        400 | 403 => has_words && !is_rbac,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connect::failure::read_status;

    fn refused(code: u16, message: &str, fields: &[&str]) -> bool {
        let causes: Vec<Value> = fields
            .iter()
            .map(|field| json!({"field": field, "message": "m"}))
            .collect();
        let status = json!({"code": code, "reason": "r", "message": message, "details": {"causes": causes}});
        let status = Box::new(read_status(&status.to_string()));
        let retry_after = None;
        matches!(
            outcome(Err(RequestFailure::Status { status, retry_after }), "m"),
            ProbeOutcome::Refused { .. }
        )
    }

    #[test]
    fn counts_only_refusals_of_the_change_itself() {
        let webhook = |words: &str| format!("admission webhook \"w\" {words}");
        let denied = |words: &str| webhook(&format!("denied the request: {words}"));
        let policy = "policy 'p' denied request: clusterManager may not change";
        assert!(refused(422, "is invalid", &["spec.clusterManager"]));
        let fields = ["status.conditions", "spec.clusterManager.name"];
        assert!(refused(422, "is invalid", &fields));
        assert!(refused(422, policy, &[""]));
        assert!(refused(403, &denied("field is immutable"), &[]));
        assert!(refused(400, &denied("spec.clusterManager"), &[]));

        assert!(!refused(422, "is invalid", &["status.conditions[0].reason"]));
        let rights =
            r#""immutable" is forbidden: User "u" cannot patch resource "clusterprofiles" in API group"#;
        assert!(!refused(403, rights, &[]));
        assert!(!refused(400, &webhook("does not support dry run"), &[]));
        assert!(!refused(409, "clusterManager: the object has been modified", &[]));
        assert!(!refused(500, "clusterManager", &[]));
        let silent = outcome(Err(RequestFailure::broken("gone")), "m");
        assert!(matches!(silent, ProbeOutcome::Unanswered { code: 0, .. }));
    }

    #[test]
    fn tells_an_accepted_change_from_one_that_was_undone() {
        let answer = |name: &str| Ok(json!({"spec": {"clusterManager": {"name": name}}}));
        assert_eq!(outcome(answer("m"), "m"), ProbeOutcome::Accepted);
        assert!(matches!(
            outcome(answer("other"), "m"),
            ProbeOutcome::Unanswered { code: 200, .. }
        ));
    }
}
