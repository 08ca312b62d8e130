//! What the hub lets the consumer's user do.

use std::collections::BTreeSet;

use evidence::{AllowedWrite, ConsumerRights, api::names};

use super::Session;
use crate::{
    connect::failure::Failure,
    hub::reviews::{MAY_NOT_ASK, Question, ask_all},
};

/// The writes on profiles that no consumer needs. It may set the display name and finalizers, so that it may update a profile.
const WRITES: [&str; 3] = ["create", "delete", "deletecollection"];
/// The same for the status of profiles.
const STATUS_WRITES: [&str; 2] = ["update", "patch"];
const STATUS: &str = "status";
const SECRETS: &str = "secrets";

impl Session<'_> {
    /// Asks the hub what it lets the consumer's user do, if the user is named.
    pub async fn ask_rights(&self) {
        let user = &*self.plan.claims.user;
        if user.is_empty() {
            return;
        }
        let namespaces = self.plan.namespaces();
        let mut questions = Vec::new();
        for namespace in &namespaces {
            let on_profiles = Question {
                user,
                group: names::GROUP,
                resource: names::PLURAL,
                namespace,
                ..Question::default()
            };
            questions.extend(WRITES.map(|verb| Question { verb, ..on_profiles }));
            questions.extend(STATUS_WRITES.map(|verb| Question {
                verb,
                subresource: STATUS,
                ..on_profiles
            }));
        }
        questions.push(Question {
            user,
            verb: "list",
            resource: SECRETS,
            ..Question::default()
        });
        match rights(ask_all(self.context.client, &questions).await) {
            Ok(rights) => self.state().rights = Some(rights),
            Err(failure) => {
                let why = match failure.code() {
                    403 => MAY_NOT_ASK.to_owned(),
                    _ => failure.to_string(),
                };
                self.warn(&format!("the hub did not say what the user {user} may do: {why}"));
            }
        }
    }
}

fn rights(answers: Vec<(&Question<'_>, Result<bool, Failure>)>) -> Result<ConsumerRights, Failure> {
    let mut rights = ConsumerRights::default();
    for (question, is_allowed) in answers {
        if !is_allowed? {
            continue;
        }
        let write = || AllowedWrite {
            namespace: question.namespace.to_owned(),
            verb: question.verb.to_owned(),
        };
        let put = |into: &mut BTreeSet<_>| _ = into.insert(write());
        match (question.resource, question.subresource) {
            (SECRETS, _) => rights.all_secrets = true,
            (_, STATUS) => put(&mut rights.statuses),
            _ => put(&mut rights.profiles),
        }
    }
    Ok(rights)
}
