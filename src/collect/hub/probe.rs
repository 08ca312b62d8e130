//! Tries to change a profile's manager by dry runs: the hub answers, and stores nothing.

use std::collections::BTreeSet;

use evidence::{
    Asked, Gap, Kind, ObjectRef, Probe, ProbeMethod, ProbeOutcome,
    api::{ClusterProfile, names},
};
use http::Method;
use serde_json::{Value, json};

use super::{missing::NO_DRY_RUN, permissions::Permissions, target::Target};
use crate::{
    clock::Clock,
    connect::{
        call::{TimedClient, get, once, segment},
        failure::{Failure, Refusal},
    },
    hub::wanted::Wish,
};

/// At most so many managers are probed, each with one profile: all fall under the same rules of the hub.
const MOST: usize = 5;
/// How often a change is tried when the manager keeps writing in between.
const ATTEMPTS: usize = 3;
/// Stored nowhere, sent as who would own the field.
const QUERY: &str = "dryRun=All&fieldManager=clusterprofile-conformance";
/// The longest value of a label: the hub must refuse the change, not the value.
const LONGEST: usize = 63;

/// Whether to make the probe, and what of it is unavailable.
pub(crate) fn asked(wish: &Wish, permissions: &Permissions, scope: &[String]) -> (Asked, Option<Gap>) {
    let everywhere = [String::new()];
    let namespaces = if scope.is_empty() { &everywhere[..] } else { scope };
    // Only where the hub says so: a probe that is refused for want of rights tells nothing.
    let allowed = namespaces.iter().any(|namespace| may(permissions, namespace));
    match wish {
        Wish::No(reason) => (Asked::No(reason.clone()), None),
        Wish::Asked if !allowed => (Asked::Yes, Some(Gap::of(Kind::Probe, NO_DRY_RUN))),
        Wish::IfAllowed if !allowed => (Asked::No(NO_DRY_RUN), None),
        Wish::Asked | Wish::IfAllowed => (Asked::Yes, None),
    }
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
        let manager = another_name(profile.manager());
        for method in [ProbeMethod::MergePatch, ProbeMethod::Update] {
            let at = clock.now();
            let answer = match method {
                ProbeMethod::MergePatch => patch(client, &path, &manager).await,
                ProbeMethod::Update => update(client, &path, &manager).await,
            };
            probes.push(Probe {
                at,
                object: ObjectRef::from(profile),
                method,
                outcome: outcome(answer, &manager),
            });
        }
    }
    probes
}

async fn patch(client: &TimedClient, path: &str, manager: &str) -> Result<Value, Failure> {
    let mut body = json!({});
    change(&mut body, manager);
    let path = format!("{path}?{QUERY}");
    once(
        client,
        Method::PATCH,
        &path,
        "application/merge-patch+json",
        Some(&body),
    )
    .await
}

async fn update(client: &TimedClient, path: &str, manager: &str) -> Result<Value, Failure> {
    let mut attempt = 1;
    loop {
        let mut object: Value = get(client, path).await?;
        if !object.is_object() {
            return Err(Failure::broken("what the hub answered is no profile"));
        }
        change(&mut object, manager);
        let answer = once(
            client,
            Method::PUT,
            &format!("{path}?{QUERY}"),
            "application/json",
            Some(&object),
        )
        .await;
        match answer {
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
        Err(Failure::Status(refusal)) if is_about_the_manager(&refusal) => {
            let Refusal { code, status, .. } = *refusal;
            let causes = status.details.map(|details| details.causes).unwrap_or_default();
            ProbeOutcome::Refused {
                code,
                reason: status.reason,
                message: status.message,
                fields: causes
                    .into_iter()
                    .map(|cause| cause.field)
                    .filter(|field| !field.is_empty())
                    .collect(),
            }
        }
        Err(failure) => ProbeOutcome::Unanswered {
            code: failure.code(),
            message: failure.to_string(),
        },
    }
}

/// Whether a refusal is for what the probe changes. The schema names the field; an admission policy or webhook
/// has only its words.
fn is_about_the_manager(refusal: &Refusal) -> bool {
    let status = &refusal.status;
    let causes = status
        .details
        .as_ref()
        .map(|details| details.causes.as_slice())
        .unwrap_or_default();
    let field = causes.iter().any(|cause| {
        cause.field == "spec"
            || cause.field == "spec.clusterManager"
            || cause.field.starts_with("spec.clusterManager.")
    });
    let message = status.message.to_lowercase();
    // What RBAC says names the profile, which may be called anything.
    let rights = message.contains("cannot patch resource") || message.contains("cannot update resource");
    let causes = causes.iter().map(|cause| cause.message.to_lowercase());
    let words = causes.chain([message]).any(|text| {
        ["clustermanager", "cluster manager", "immutable"]
            .iter()
            .any(|word| text.contains(word))
    });
    match refusal.code {
        422 => field || words,
        400 | 403 => words && !rights,
        _ => false,
    }
}

/// Another name of which nothing but the change can be wrong.
fn another_name(name: &str) -> String {
    const SUFFIX: &str = "-conformance-probe";
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let stem: String = name
        .chars()
        .filter(|c| fits(*c))
        .take(LONGEST - SUFFIX.len())
        .collect();
    let stem = stem.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    let another = format!("{}{SUFFIX}", if stem.is_empty() { "x" } else { stem });
    if another == name {
        format!("x{}", &another[1..]).replacen("xx", "yx", 1)
    } else {
        another
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: u16, message: &str, fields: &[&str]) -> bool {
        let causes: Vec<Value> = fields
            .iter()
            .map(|field| json!({"field": field, "message": "m"}))
            .collect();
        let status = json!({"code": code, "reason": "r", "message": message, "details": {"causes": causes}});
        let refusal = Refusal {
            code,
            status: serde_json::from_value(status).expect("a status"),
            retry_after: None,
        };
        matches!(
            outcome(Err(Failure::Status(Box::new(refusal))), "m"),
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

    #[test]
    fn sends_a_name_of_which_only_the_change_is_wrong() {
        let long = "a".repeat(63);
        let taken = format!("{}-conformance-probe", "x".repeat(45));
        for name in ["m", "", "-.", "ünïcode/slash", &long, &taken] {
            let another = another_name(name);
            assert_ne!(another, name);
            assert!(another.len() <= LONGEST && another.is_ascii(), "{another}");
            let ends = [another.chars().next(), another.chars().last()];
            assert!(
                ends.iter().flatten().all(char::is_ascii_alphanumeric),
                "{another}"
            );
        }
    }
}
