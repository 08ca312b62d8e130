//! Issues tokens of service accounts, by their subresource `token`.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::{
    access::user::{User, new_token},
    context::request::Context,
    fields::managed_fields::track,
    object::{
        field::Found,
        meta,
        status::{Failure, Outcome, Qualified, refuse},
        value::list,
    },
    request::reply::Reply,
    store::{
        builtin,
        named::{Named, Target},
    },
};

/// The default lifetime of a token and the minimum, in seconds.
const LASTS: i64 = 3600;
const SHORTEST: i64 = 600;
/// The audience of tokens.
const AUDIENCE: &str = "https://kubernetes.default.svc";

/// True if a request asks for a service account's token.
pub(crate) fn is_token_request(target: &Target) -> bool {
    target.group.is_empty() && target.resource == "serviceaccounts" && target.subresource == "token"
}

impl Context<'_> {
    /// Issues a token with the account's rights. It is valid while the account exists; it does not expire.
    pub(crate) fn give_token(&mut self, target: &Arc<Target>, body: &Bytes) -> Outcome<Reply> {
        let named = Named::only(builtin::token_request(), target);
        let (write, mut request) = self.decode(&named, "CreateOptions", body)?;
        let account = self.state.service_account(&target.namespace, &target.name);
        let subject = Qualified::new("", "serviceaccounts");
        let account = account.ok_or_else(|| Failure::not_found(subject, &target.name))?;
        let uid = meta::text(account.object(), "uid");
        let spec = &mut request["spec"];
        let seconds = spec["expirationSeconds"].as_i64().unwrap_or(LASTS);
        spec["expirationSeconds"] = seconds.into();
        let mut errors = Vec::new();
        if seconds < SHORTEST {
            let why = "may not specify a duration less than 10 minutes";
            errors.invalid("spec.expirationSeconds", seconds, why);
        }
        refuse(named.resource.qualified_kind(), "", &errors)?;
        if !spec["boundObjectRef"].is_null() {
            let why = "this server does not bind tokens to objects";
            return Err(Failure::new(501, "NotImplemented", why));
        }
        track(None, &mut request, &write);
        let spec = &mut request["spec"];
        // Written though it is null.
        spec["boundObjectRef"] = Value::Null;
        if list(spec, "audiences").is_empty() {
            spec["audiences"] = json!([AUDIENCE]);
        }
        let mut user = User::account(&target.namespace, &target.name, uid);
        let credential = format!("JTI={}", self.state.new_uid());
        let key = "authentication.kubernetes.io/credential-id".to_owned();
        user.extra.insert(key, vec![credential]);
        let token = new_token();
        // Tokens for other audiences are not valid here.
        if list(spec, "audiences").contains(&AUDIENCE.into()) {
            self.state.add_token(&token, user);
        }
        let metadata = &mut request["metadata"];
        metadata["name"] = target.name.clone().into();
        metadata["namespace"] = target.namespace.clone().into();
        metadata["uid"] = uid.into();
        metadata["creationTimestamp"] = write.time.into();
        request["status"] = json!({"token": token, "expirationTimestamp": self.state.time_in(seconds)});
        Ok(Reply::value(201, &request))
    }
}
