//! Service accounts' tokens: who may write the account's `token` gets one that opens the server in its name.

use serde_json::{Value, json};

use super::auth::User;
use super::body::Reply;
use super::context::Context;
use super::request::Target;
use super::status::{Failure, Outcome, Qualified};
use super::storage::key;
use crate::lab::token::new_token;

/// What a token is asked to last for where nothing is asked for, in seconds.
const LASTS: i64 = 3600;

/// Whether a request asks for a service account's token.
pub(super) fn is_token_request(target: &Target) -> bool {
    (
        target.group.as_str(),
        target.resource.as_str(),
        target.subresource.as_str(),
    ) == ("", "serviceaccounts", "token")
}

impl Context<'_> {
    /// Gives out a token. It opens the server, and nothing in it: accounts have no rights. It does not expire: no world
    /// of the lab lasts that long.
    pub(super) fn give_token(&self, target: &Target, mut request: Value) -> Outcome<Reply> {
        let subject = Qualified {
            group: "",
            resource: "serviceaccounts",
        };
        let id = (String::new(), "serviceaccounts".to_owned());
        let account = self
            .server
            .storage()
            .get(&id, &key(&target.namespace, &target.name))
            .cloned()
            .ok_or_else(|| Failure::not_found(subject, &target.name))?;
        let user = User {
            name: format!("system:serviceaccount:{}:{}", target.namespace, target.name),
            groups: vec![
                "system:serviceaccounts".to_owned(),
                format!("system:serviceaccounts:{}", target.namespace),
            ],
            rules: Vec::new(),
        };
        let token = new_token();
        self.server.add_token(&token, user);
        let seconds = request["spec"]["expirationSeconds"].as_i64().unwrap_or(LASTS);
        request["kind"] = "TokenRequest".into();
        request["apiVersion"] = "authentication.k8s.io/v1".into();
        request["metadata"] = json!({
            "name": target.name, "namespace": target.namespace,
            "uid": account.object["metadata"]["uid"], "creationTimestamp": self.server.time(),
        });
        request["spec"]["expirationSeconds"] = seconds.into();
        request["status"] = json!({"token": token, "expirationTimestamp": self.server.time_in(seconds)});
        Ok(Reply::value(201, &request))
    }
}
