//! What the runner may do, by the hub's own word (SelfSubjectAccessReview).

use std::time::Duration;

use evidence::{
    Permission,
    api::{ObjectKind, Role, names},
};
use futures::{StreamExt as _, future::ready, stream};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::connect::{TimedClient, ask};

#[derive(Clone, Debug, Default)]
pub(crate) struct Permissions(Vec<Permission>);

const AT_ONCE: usize = 32;
/// How long the answers may take: in all, and more for each question, as a scope may have hundreds.
const ANSWERS: Duration = Duration::from_secs(10);
const ANSWER: Duration = Duration::from_millis(50);

pub(crate) const CRD_GROUP: &str = "apiextensions.k8s.io";
const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

impl Permissions {
    /// Asks for all that the suite may use, in each of the namespaces or, where there are none, in all; for writes only
    /// to the objects of `written_roles`.
    pub async fn ask(client: &TimedClient, namespaces: &[String], written_roles: &[Role]) -> Self {
        let mut questions = vec![
            question("list", "", "namespaces", ""),
            question("watch", "", "namespaces", ""),
            question("list", "", "secrets", ""),
            question("get", CRD_GROUP, "customresourcedefinitions", ""),
        ];
        for namespace in places(namespaces) {
            let mut add = |verb: &str, resource: &str| {
                questions.push(question(verb, names::GROUP, resource, namespace));
            };
            for verb in ["get", "list", "watch", "patch"] {
                add(verb, names::PLURAL);
            }
            for kind in written_roles.iter().map(|role| role.objects()) {
                add("create", kind.plural());
                add("delete", kind.plural());
                match kind {
                    ObjectKind::ClusterProfile => add("patch", &format!("{}/status", kind.plural())),
                    ObjectKind::PlacementDecision => add("patch", kind.plural()),
                }
            }
            if !namespace.is_empty() {
                questions.push(question("get", "", "namespaces", namespace));
                questions.push(question("list", "", "secrets", namespace));
            }
        }
        let count = u32::try_from(questions.len()).unwrap_or(u32::MAX);
        let mut answers = Vec::new();
        let asking = stream::iter(questions).map(|question| answer(client, question));
        let asking = asking.buffered(AT_ONCE).for_each(|answer| {
            answers.extend(answer);
            ready(())
        });
        // What is answered in time counts.
        let _ = timeout(ANSWERS + ANSWER.saturating_mul(count), asking).await;
        Self(answers)
    }

    /// Whether something is allowed in a namespace, or in all where that is empty; none: the hub did not say.
    pub fn allows(&self, verb: &str, group: &str, resource: &str, namespace: &str) -> Option<bool> {
        let mut answers = self
            .0
            .iter()
            .filter(|answer| answer.verb == verb && answer.group == group && answer.resource == resource);
        let exactly = answers.clone().find(|answer| answer.namespace == namespace);
        // What is allowed everywhere is allowed here.
        let everywhere = answers.find(|answer| answer.namespace.is_empty() && answer.allowed);
        exactly.or(everywhere).map(|answer| answer.allowed)
    }

    pub fn into_inner(self) -> Vec<Permission> {
        self.0
    }
}

/// The namespaces of a scope as [`Permissions::allows`] takes them: one empty name if the scope is the whole hub.
pub(crate) fn places(scope: &[String]) -> Vec<&str> {
    match scope {
        [] => vec![""],
        namespaces => namespaces.iter().map(String::as_str).collect(),
    }
}

fn question(verb: &str, group: &str, resource: &str, namespace: &str) -> Permission {
    Permission {
        verb: verb.to_owned(),
        group: group.to_owned(),
        resource: resource.to_owned(),
        namespace: namespace.to_owned(),
        allowed: false,
    }
}

async fn answer(client: &TimedClient, question: Permission) -> Option<Permission> {
    let (resource, subresource) = question
        .resource
        .split_once('/')
        .unwrap_or((&question.resource, ""));
    let mut attributes = json!({
        "verb": question.verb, "group": question.group, "resource": resource, "subresource": subresource,
        "namespace": question.namespace, "version": "*",
    });
    if question.resource == "customresourcedefinitions" {
        // The smallest role allows this one alone.
        attributes["name"] = json!(format!("{}.{}", names::PLURAL, names::GROUP));
    }
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    });
    // A hub that answers no such questions is asked for the things themselves.
    let review: Value = ask(client, REVIEWS, &review).await.ok()?;
    let allowed = review["status"]["allowed"].as_bool()?;
    Some(Permission { allowed, ..question })
}
