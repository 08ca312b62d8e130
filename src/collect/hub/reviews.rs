//! Asks the hub what somebody else may do (SubjectAccessReview).

use futures::{FutureExt as _, StreamExt as _, stream};
use serde_json::{Value, json};

use crate::connect::{
    call::{TimedClient, ask},
    failure::Failure,
};

const REVIEWS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
/// How many questions are asked at a time.
const AT_ONCE: usize = 8;

/// What the runner lacks where the hub refuses to answer.
pub(crate) const MAY_NOT_ASK: &str =
    "the runner may not ask for others' rights: grant create on subjectaccessreviews";

/// One question about a user.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Question<'a> {
    pub user: &'a str,
    pub verb: &'a str,
    pub group: &'a str,
    pub resource: &'a str,
    pub subresource: &'a str,
    /// Empty for all namespaces.
    pub namespace: &'a str,
}

/// Asks all of these, and gives each answer with its question.
pub(crate) async fn ask_all<'q, 'a>(
    client: &TimedClient,
    questions: &'q [Question<'a>],
) -> Vec<(&'q Question<'a>, Result<bool, Failure>)> {
    let asked = questions
        .iter()
        .map(|question| is_allowed(client, question).map(move |answer| (question, answer)));
    stream::iter(asked).buffered(AT_ONCE).collect().await
}

async fn is_allowed(client: &TimedClient, question: &Question<'_>) -> Result<bool, Failure> {
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {
            "user": question.user,
            "groups": groups(question.user),
            "resourceAttributes": {
                "verb": question.verb, "group": question.group, "version": "*", "resource": question.resource,
                "subresource": question.subresource, "namespace": question.namespace,
            },
        },
    });
    let review: Value = ask(client, REVIEWS, &review).await?;
    let allowed = review["status"]["allowed"].as_bool();
    allowed.ok_or_else(|| Failure::broken("the hub's review has no status"))
}

/// The groups that the hub adds to a user by itself: a role may be bound to them.
fn groups(user: &str) -> Vec<String> {
    let mut groups = vec!["system:authenticated".to_owned()];
    let account = user.strip_prefix("system:serviceaccount:");
    if let Some((namespace, _)) = account.and_then(|account| account.split_once(':')) {
        groups.push("system:serviceaccounts".to_owned());
        groups.push(format!("system:serviceaccounts:{namespace}"));
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_account_has_its_groups() {
        assert_eq!(groups("jane"), ["system:authenticated"]);
        let expected = [
            "system:authenticated",
            "system:serviceaccounts",
            "system:serviceaccounts:argocd",
        ];
        assert_eq!(groups("system:serviceaccount:argocd:controller"), expected);
    }
}
