//! Tries to change a profile's manager by dry runs: the hub answers, and stores nothing.

use std::collections::BTreeSet;

use evidence::{
    Asked, Gap, Kind, ObjectRef, Probe, ProbeMethod, ProbeOutcome,
    api::{ClusterProfile, names},
};
use http::Method;
use kube::core::{Status, response::StatusCause};
use serde_json::{Value, json};

use super::{missing::NO_DRY_RUN, permissions::Permissions, target::Target};
use crate::{
    clock::Clock,
    connect::{
        call::{TimedClient, get, once, segment},
        failure::Failure,
    },
    hub::missing::Wish,
};

/// At most so many managers are probed, each with one profile: all fall under the same rules of the hub.
const MOST: usize = 5;
/// How often a change is tried when the manager keeps writing in between.
const ATTEMPTS: usize = 3;
/// Stored nowhere, sent as who would own the field.
const QUERY: &str = "dryRun=All&fieldManager=clusterprofile-conformance";
/// The names that a profile's manager is changed to: the first that is not its own. Nothing but the change can be wrong.
const OTHER_MANAGERS: [&str; 2] = ["conformance-probe", "conformance-probe-2"];

/// Whether to make the probe, and what of it is unavailable.
pub(crate) fn asked(wish: &Wish, permissions: &Permissions, scope: &[String]) -> (Asked, Option<Gap>) {
    let everywhere = [String::new()];
    let namespaces = if scope.is_empty() { &everywhere[..] } else { scope };
    // Only where the hub says so: a probe that RBAC refuses shows nothing.
    let allowed = namespaces.iter().any(|namespace| may(permissions, namespace));
    wish.asked(allowed, Kind::Probe, NO_DRY_RUN)
}

fn may(permissions: &Permissions, namespace: &str) -> bool {
    ["get", "update", "patch"]
        .iter()
        .all(|verb| permissions.allows(verb, names::GROUP, names::PLURAL, namespace) == Some(true))
}

/// Probes one profile of each manager, in two ways.
pub(crate) async fn probe<'a>(
    client: &TimedClient,
    clock: Clock,
    target: &Target,
    permissions: &Permissions,
    profiles: impl Iterator<Item = &'a ClusterProfile>,
) -> Vec<Probe> {
    let mut managers = BTreeSet::new();
    let mut probes = Vec::new();
    for profile in profiles {
        let chosen = managers.len() < MOST
            && profile.metadata.deletion_timestamp.is_none()
            && may(permissions, &profile.metadata.namespace)
            && managers.insert(profile.manager());
        if !chosen {
            continue;
        }
        let metadata = &profile.metadata;
        let path = format!(
            "{}/{}",
            target.profiles(Some(&metadata.namespace)),
            segment(&metadata.name)
        );
        let manager = if profile.manager() == OTHER_MANAGERS[0] {
            OTHER_MANAGERS[1]
        } else {
            OTHER_MANAGERS[0]
        };
        for method in [ProbeMethod::MergePatch, ProbeMethod::Update] {
            let at = clock.now();
            let answer = dry_run(client, &path, manager, method).await;
            probes.push(Probe {
                at,
                object: ObjectRef::from(profile),
                method,
                outcome: outcome(answer, manager),
            });
        }
    }
    probes
}

/// Tries the change in one way. An update is tried again if the profile was written to since it was read.
async fn dry_run(
    client: &TimedClient,
    path: &str,
    manager: &str,
    method: ProbeMethod,
) -> Result<Value, Failure> {
    let target = format!("{path}?{QUERY}");
    let mut object = json!({});
    if method == ProbeMethod::MergePatch {
        change(&mut object, manager);
        return once(
            client,
            Method::PATCH,
            &target,
            "application/merge-patch+json",
            Some(&object),
        )
        .await;
    }
    let mut attempt = 1;
    loop {
        object = Value::Object(get(client, path).await?);
        change(&mut object, manager);
        match once(client, Method::PUT, &target, "application/json", Some(&object)).await {
            Err(failure) if failure.code() == 409 && attempt < ATTEMPTS => attempt += 1,
            answer => return answer,
        }
    }
}

/// Changes the manager of a profile or of a patch, and the label with it: otherwise a policy that compares the two would
/// refuse the change on a hub that allows it.
fn change(object: &mut Value, manager: &str) {
    *field(object, &["metadata", "labels", names::LABEL_MANAGER]) = json!(manager);
    *field(object, &["spec", "clusterManager"]) = json!({"name": manager});
}

/// The field at a path, made if it is missing.
fn field<'v>(object: &'v mut Value, path: &[&str]) -> &'v mut Value {
    path.iter().fold(object, |object, name| {
        if !object.is_object() {
            *object = json!({});
        }
        &mut object[name]
    })
}

fn outcome(answer: Result<Value, Failure>, manager: &str) -> ProbeOutcome {
    match answer {
        Ok(object) if object["spec"]["clusterManager"]["name"] == manager => ProbeOutcome::Accepted,
        Ok(_) => ProbeOutcome::Unanswered {
            code: 200,
            message: "the hub accepted the request, but answered with another manager than the one sent"
                .to_owned(),
        },
        Err(Failure::Status { status, .. }) if is_about_the_manager(&status) => {
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
            outcome(Err(Failure::Status { status, retry_after }), "m"),
            ProbeOutcome::Refused { .. }
        )
    }

    #[test]
    fn counts_only_refusals_of_the_change_itself() {
        assert!(refused(422, "is invalid", &["spec.clusterManager"]));
        assert!(refused(
            422,
            "is invalid",
            &["status.conditions", "spec.clusterManager.name"]
        ));
        assert!(refused(
            422,
            "policy 'p' denied request: clusterManager may not change",
            &[""]
        ));
        assert!(refused(
            403,
            "admission webhook \"w\" denied the request: field is immutable",
            &[]
        ));
        assert!(refused(
            400,
            "admission webhook \"w\" denied the request: spec.clusterManager",
            &[]
        ));

        assert!(!refused(422, "is invalid", &["status.conditions[0].reason"]));
        let rights =
            r#""immutable" is forbidden: User "u" cannot patch resource "clusterprofiles" in API group"#;
        assert!(!refused(403, rights, &[]));
        assert!(!refused(
            400,
            "admission webhook \"w\" does not support dry run",
            &[]
        ));
        assert!(!refused(409, "clusterManager: the object has been modified", &[]));
        assert!(!refused(500, "clusterManager", &[]));
        let silent = outcome(Err(Failure::broken("gone")), "m");
        assert!(matches!(silent, ProbeOutcome::Unanswered { code: 0, .. }));
    }

    #[test]
    fn changes_the_label_with_the_manager_and_leaves_the_rest() {
        let mut object = json!({
            "metadata": {"name": "a", "labels": {"tier": "gold", (names::LABEL_MANAGER): "m"}},
            "spec": {"displayName": "A", "clusterManager": {"name": "m"}},
        });
        change(&mut object, "other");
        let changed = json!({
            "metadata": {"name": "a", "labels": {"tier": "gold", (names::LABEL_MANAGER): "other"}},
            "spec": {"displayName": "A", "clusterManager": {"name": "other"}},
        });
        assert_eq!(object, changed);
        let mut bare = json!({"spec": null});
        change(&mut bare, "other");
        assert_eq!(bare["spec"]["clusterManager"]["name"], "other");
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
