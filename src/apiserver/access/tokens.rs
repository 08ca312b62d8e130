//! Service accounts' tokens: who may write the account's `token` gets one that opens the server in its name.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::json;

use super::user::User;
use crate::{
    access::token::new_token,
    fields::managed_fields::track,
    http::{body::Reply, context::Context},
    object::{
        field::Found,
        meta,
        status::{Failure, Outcome, Qualified, refuse},
        value::list,
    },
    store::{
        builtin,
        named::{Named, Target},
    },
};

/// What a token is asked to last for where nothing is asked for, and at least, in seconds.
const LASTS: i64 = 3600;
const SHORTEST: i64 = 600;
/// For whom tokens are.
pub(crate) const AUDIENCE: &str = "https://kubernetes.default.svc";

/// Whether a request asks for a service account's token.
pub(crate) fn is_token_request(target: &Target) -> bool {
    target.group.is_empty() && target.resource == "serviceaccounts" && target.subresource == "token"
}

impl Context<'_> {
    /// Gives out a token. It opens the server with the account's rights as long as the account is there; it does not
    /// expire: no world of the lab lasts that long.
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
        track(None, &mut request, &write);
        let spec = &mut request["spec"];
        // Told even where it is nothing.
        spec["boundObjectRef"] = spec["boundObjectRef"].take();
        if list(spec, "audiences").is_empty() {
            spec["audiences"] = json!([AUDIENCE]);
        }
        let mut user = User::account(&target.namespace, &target.name, uid);
        let credential = format!("JTI={}", self.state.new_uid());
        let said = "authentication.kubernetes.io/credential-id".to_owned();
        user.extra.insert(said, vec![credential]);
        let token = new_token();
        // Those for others do not open this server.
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
