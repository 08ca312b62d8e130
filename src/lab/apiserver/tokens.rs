//! Service accounts' tokens: who may write the account's `token` gets one that opens the server in its name.

use bytes::Bytes;
use serde_json::{Value, json};

use super::auth::User;
use super::body::Reply;
use super::builtin;
use super::context::{Context, Named};
use super::field::FieldError;
use super::managed_fields::track;
use super::options::WriteOptions;
use super::request::Target;
use super::status::{Failure, Outcome, Qualified};
use super::storage::key;
use crate::lab::token::new_token;

/// What a token is asked to last for where nothing is asked for, and at least, in seconds.
const LASTS: i64 = 3600;
const SHORTEST: i64 = 600;
/// For whom tokens are.
pub(super) const AUDIENCE: &str = "https://kubernetes.default.svc";

/// Whether a request asks for a service account's token.
pub(super) fn is_token_request(target: &Target) -> bool {
    (
        target.group.as_str(),
        target.resource.as_str(),
        target.subresource.as_str(),
    ) == ("", "serviceaccounts", "token")
}

impl Context<'_> {
    /// Gives out a token. It opens the server with the account's rights as long as the account is there; it does not
    /// expire: no world of the lab lasts that long.
    pub(super) fn give_token(&mut self, target: &Target, body: &Bytes) -> Outcome<Reply> {
        let named = Named::only(builtin::token_request());
        let options = WriteOptions::read(&self.info.query, "CreateOptions", self.agent)?;
        let mut request = self.decode(&named, &options, body)?;
        let subject = Qualified {
            group: "",
            resource: "serviceaccounts",
        };
        let id = (String::new(), "serviceaccounts".to_owned());
        let account = self
            .server
            .storage()
            .get(&id, &key(&target.namespace, &target.name))
            .ok_or_else(|| Failure::not_found(subject, &target.name))?;
        let uid = account.object()["metadata"]["uid"].as_str().unwrap_or_default();
        let spec = &mut request["spec"];
        let seconds = spec["expirationSeconds"].as_i64().unwrap_or(LASTS);
        spec["expirationSeconds"] = seconds.into();
        if seconds < SHORTEST {
            let why = "may not specify a duration less than 10 minutes";
            let error = FieldError::invalid("spec.expirationSeconds", &seconds.into(), why);
            return Err(Failure::invalid(named.resource.qualified_kind(), "", &[error]));
        }
        let writer = self.writer(&named, &target.subresource, &options);
        track(None, &mut request, &writer);
        let spec = &mut request["spec"];
        if spec["audiences"].as_array().is_none_or(Vec::is_empty) {
            spec["audiences"] = json!([AUDIENCE]);
        }
        let mut user = User::account(&target.namespace, &target.name, uid);
        let credential = format!("JTI={}", self.server.new_uid());
        let said = "authentication.kubernetes.io/credential-id".to_owned();
        user.extra.insert(said, vec![credential]);
        let token = new_token();
        let audiences = request["spec"]["audiences"].as_array();
        // Those for others do not open this server.
        if audiences.is_some_and(|audiences| audiences.contains(&AUDIENCE.into())) {
            self.server.add_token(&token, user);
        }
        let metadata = &mut request["metadata"];
        metadata["name"] = target.name.clone().into();
        metadata["namespace"] = target.namespace.clone().into();
        metadata["uid"] = uid.into();
        metadata["creationTimestamp"] = self.server.time().into();
        // Told even where it is nothing.
        if let Value::Object(spec) = &mut request["spec"] {
            spec.entry("boundObjectRef").or_insert(Value::Null);
        }
        request["status"] = json!({"token": token, "expirationTimestamp": self.server.time_in(seconds)});
        Ok(Reply::value(201, &request))
    }
}
