//! Asks the hub what the consumers of placements may do (SubjectAccessReviews).

use std::collections::BTreeSet;

use evidence::{
    AllowedWrite, Asked, ConsumerAccess, Kind, ReadableNamespace, Reason, ReasonId, Tracked as _,
    api::{ObjectKind, names::GROUP},
};

use super::state::Run;
use crate::hub::reviews::{MAY_NOT_ASK, Question, ask_all};

/// The writes that no consumer needs.
const WRITES: [&str; 5] = ["create", "update", "patch", "delete", "deletecollection"];
/// The most questions of a run.
const MOST: usize = 1000;

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
            let question = |namespace, verb, kind: ObjectKind| Question {
                user,
                namespace,
                verb,
                group: GROUP,
                resource: kind.plural(),
                ..Question::default()
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
        let answering = ask_all(&client, &questions);
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
            let namespace = question.namespace.to_owned();
            if question.resource == ObjectKind::ClusterProfile.plural() {
                of_user.profiles.push(ReadableNamespace {
                    namespace,
                    readable: is_allowed,
                });
            } else if is_allowed {
                of_user.writes.insert(AllowedWrite {
                    namespace,
                    verb: question.verb.to_owned(),
                });
            }
        }
        self.evidence.consumer_access = access;
        if let Some(failure) = failed {
            let reason = match failure.code() {
                403 => Reason::known(ReasonId::ReadForbidden, MAY_NOT_ASK),
                _ => format!("the hub did not say what consumers may do: {failure}").into(),
            };
            self.gap(Kind::ConsumerAccess, reason);
        }
    }
}
