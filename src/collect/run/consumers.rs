//! Asks the hub what the consumers of placements may do (SubjectAccessReviews).

use std::collections::BTreeSet;

use evidence::{
    AllowedWrite, Asked, ConsumerAccess, Kind, ReadableNamespace, Reason, ReasonId, Tracked as _,
    api::ObjectKind,
};
use futures::{FutureExt as _, StreamExt as _, stream};
use serde_json::{Value, json};

use super::state::Run;
use crate::connect::{
    call::{TimedClient, ask},
    failure::Failure,
};

const REVIEWS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
/// The writes that no consumer needs.
const WRITES: [&str; 5] = ["create", "update", "patch", "delete", "deletecollection"];
/// How many questions are asked at a time.
const AT_ONCE: usize = 8;
/// The most questions of a run.
const MOST: usize = 1000;

/// One question about a consumer.
struct Question<'a> {
    user: &'a str,
    namespace: &'a str,
    verb: &'static str,
    kind: ObjectKind,
}

impl Run<'_> {
    /// Asks which writes on decisions the named consumers may send, and whether they may read the profiles that the
    /// decisions refer to.
    pub(super) async fn consumer_access(&mut self) {
        if *self.evidence.asked(Kind::ConsumerAccess) != Asked::Yes {
            return;
        }
        self.progress.phase("asking what consumers may do");
        let users = self.plan.claim.consumer_users.clone();
        let slices: Vec<_> = self.evidence.slices().collect();
        let own: BTreeSet<String> = slices
            .iter()
            .map(|slice| slice.metadata().namespace.to_string())
            .collect();
        let references = slices.iter().flat_map(|slice| slice.references());
        let referred: BTreeSet<String> = references.map(|to| to.namespace.to_string()).collect();
        let mut questions = Vec::new();
        for user in &users {
            let question = |namespace, verb, kind| Question {
                user,
                namespace,
                verb,
                kind,
            };
            for namespace in &own {
                questions.extend(WRITES.map(|verb| question(namespace, verb, ObjectKind::PlacementDecision)));
            }
            let readable = referred
                .iter()
                .map(|name| question(name, "get", ObjectKind::ClusterProfile));
            questions.extend(readable);
        }
        if questions.len() > MOST {
            let reason = format!(
                "{} questions on the rights of consumers are too many: only {MOST} were asked; name fewer namespaces",
                questions.len()
            );
            questions.truncate(MOST);
            self.gap(Kind::ConsumerAccess, reason);
        }
        let client = self.client();
        let answering = async {
            let asked = questions
                .iter()
                .map(|question| answer(&client, question).map(move |answer| (question, answer)));
            stream::iter(asked).buffered(AT_ONCE).collect::<Vec<_>>().await
        };
        let answers = match self.patience.within(self.patience.list, answering).await {
            Ok(answers) => answers,
            Err(unfinished) => return self.gap(Kind::ConsumerAccess, unfinished.to_string()),
        };
        let mut access: Vec<ConsumerAccess> = users
            .iter()
            .map(|user| ConsumerAccess {
                user: user.clone(),
                ..ConsumerAccess::default()
            })
            .collect();
        let mut failed = None;
        for (question, answer) in answers {
            let is_allowed = match answer {
                Ok(is_allowed) => is_allowed,
                Err(failure) => {
                    failed.get_or_insert(failure);
                    continue;
                }
            };
            let Some(of_user) = access.iter_mut().find(|access| access.user == question.user) else {
                continue;
            };
            match question.kind {
                ObjectKind::ClusterProfile => of_user.profiles.push(ReadableNamespace {
                    namespace: question.namespace.to_owned(),
                    readable: is_allowed,
                }),
                ObjectKind::PlacementDecision if is_allowed => {
                    _ = of_user.writes.insert(AllowedWrite {
                        namespace: question.namespace.to_owned(),
                        verb: question.verb.to_owned(),
                    })
                }
                ObjectKind::PlacementDecision => {}
            }
        }
        self.evidence.consumer_access = access;
        if let Some(failure) = failed {
            let reason = match failure.code() {
                403 => Reason::known(
                    ReasonId::MayNotRead,
                    "the runner may not ask for others' rights: grant create on subjectaccessreviews",
                ),
                _ => format!("the hub did not say what consumers may do: {failure}").into(),
            };
            self.gap(Kind::ConsumerAccess, reason);
        }
    }
}

async fn answer(client: &TimedClient, question: &Question<'_>) -> Result<bool, Failure> {
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {
            "user": question.user,
            "groups": groups(question.user),
            "resourceAttributes": {
                "verb": question.verb, "group": evidence::api::names::GROUP, "version": "*",
                "resource": question.kind.plural(), "namespace": question.namespace,
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
