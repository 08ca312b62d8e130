//! What the runner may do, by the hub's own word (SelfSubjectAccessReview).

use evidence::{Permission, api::names};
use futures::future::join_all;
use http::Method;
use serde_json::{Value, json};

use super::call::{TimedClient, call};

/// The hub's answers.
#[derive(Clone, Debug, Default)]
pub(super) struct Permissions(Vec<Permission>);

const CRD_GROUP: &str = "apiextensions.k8s.io";
const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

impl Permissions {
    /// Asks for all that the suite may use, in each of the namespaces or, where there are none, in all; for writes only
    /// where they are `wanted`.
    pub async fn ask(client: &TimedClient, namespaces: &[String], writes_wanted: bool) -> Self {
        let everywhere = [String::new()];
        let namespaces = if namespaces.is_empty() {
            &everywhere[..]
        } else {
            namespaces
        };
        let mut questions = vec![
            question("list", "", "namespaces", ""),
            question("watch", "", "namespaces", ""),
            question("list", "", "secrets", ""),
            question("get", CRD_GROUP, "customresourcedefinitions", ""),
        ];
        for namespace in namespaces {
            for verb in ["get", "list", "watch", "update", "patch"] {
                questions.push(question(verb, names::GROUP, names::PLURAL, namespace));
            }
            if writes_wanted {
                let status = format!("{}/status", names::PLURAL);
                questions.push(question("create", names::GROUP, names::PLURAL, namespace));
                questions.push(question("delete", names::GROUP, names::PLURAL, namespace));
                questions.push(question("patch", names::GROUP, &status, namespace));
            }
            if !namespace.is_empty() {
                questions.push(question("get", "", "namespaces", namespace));
                questions.push(question("list", "", "secrets", namespace));
            }
        }
        let answers = join_all(questions.into_iter().map(|question| answer(client, question))).await;
        Self(answers.into_iter().flatten().collect())
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

    /// All answers, for the evidence.
    pub fn into_inner(self) -> Vec<Permission> {
        self.0
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
    let review: Value = call(client, Method::POST, REVIEWS, Some(&review)).await.ok()?;
    let allowed = review["status"]["allowed"].as_bool()?;
    Some(Permission { allowed, ..question })
}
