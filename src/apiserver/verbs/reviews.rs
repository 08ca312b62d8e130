//! Answers what is not stored: access reviews, and requests for tokens of service accounts (subresource `token`).

use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    access::{
        rbac,
        rbac::RbacAction,
        user::{User, new_token},
    },
    context::Context,
    fields::managed_fields::track,
    object::{
        field::ErrorCollector,
        json::{list, text, texts},
        meta,
        status::{HandlerResult, Qualified, StatusFailure, refuse},
    },
    request::Reply,
    store::{
        builtin,
        route::{RequestTarget, Route},
    },
};

impl Context<'_> {
    /// Answers a review.
    pub(crate) fn review(&mut self, route: &Route, body: &Bytes) -> HandlerResult<Reply> {
        let (write, mut review) = self.decode(route, "CreateOptions", body)?;
        track(None, &mut review, &write);
        let kind = route.resource.kind.as_str();
        let mut answer = match kind {
            "SelfSubjectReview" => json!({
                "metadata": {"creationTimestamp": self.state.time()},
                "status": {"userInfo": self.user},
            }),
            "SelfSubjectRulesReview" => self.review_rules(&review)?,
            kind => self.review_access(kind, review)?,
        };
        answer["kind"] = kind.into();
        answer["apiVersion"] = route.api_version().into();
        Ok(Reply::value(201, &answer))
    }

    /// Answers whether an action is allowed to the requester, or to the user in the review.
    fn review_access(&self, kind: &str, mut review: Value) -> HandlerResult<Value> {
        check_access(kind, &review)?;
        let spec = &review["spec"];
        let user = match kind {
            "SelfSubjectAccessReview" => self.user,
            _ => &User {
                name: text(spec, "user").to_owned(),
                groups: texts(spec, "groups"),
                ..User::default()
            },
        };
        let decision = self.state.authorize(user, &action(spec));
        let mut status = json!({"allowed": decision.allowed});
        if !decision.reason.is_empty() {
            status["reason"] = decision.reason.into();
        }
        review["status"] = status;
        Ok(review)
    }

    /// Lists what the requester may do in a namespace.
    fn review_rules(&self, review: &Value) -> HandlerResult<Value> {
        let namespace = text(&review["spec"], "namespace");
        if namespace.is_empty() {
            return Err(StatusFailure::bad_request("no namespace on request"));
        }
        let storage = self.state.storage();
        let (mut about_resources, mut about_others) = (Vec::new(), Vec::new());
        for (rule, _) in rbac::rules(&storage, self.user, namespace) {
            let mut rule = rule.clone();
            let urls = std::mem::take(&mut rule.non_resource_urls);
            if !urls.is_empty() {
                about_others.push(json!({"verbs": rule.verbs, "nonResourceURLs": urls}));
            }
            if !rule.resources.is_empty() {
                about_resources.push(rule);
            }
        }
        let mut status = json!({
            "resourceRules": about_resources, "nonResourceRules": about_others, "incomplete": false,
        });
        let complaint = rbac::missing(&storage, self.user, namespace);
        if !complaint.is_empty() {
            status["evaluationError"] = complaint.into();
        }
        Ok(json!({"metadata": {}, "spec": {}, "status": status}))
    }
}

/// The action in a review.
fn action(spec: &Value) -> RbacAction<'_> {
    match &spec["resourceAttributes"] {
        Value::Null => RbacAction {
            verb: text(&spec["nonResourceAttributes"], "verb"),
            path: Some(text(&spec["nonResourceAttributes"], "path")),
            ..RbacAction::default()
        },
        asked => RbacAction::deserialize(asked).unwrap_or_default(),
    }
}

/// Checks that an access review has one subject and one action.
fn check_access(kind: &str, review: &Value) -> HandlerResult<()> {
    let (spec, mut errors) = (&review["spec"], Vec::new());
    if spec["resourceAttributes"].is_null() == spec["nonResourceAttributes"].is_null() {
        let why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        errors.invalid("spec.resourceAttributes", (), why);
    }
    if kind == "SubjectAccessReview" && text(spec, "user").is_empty() && list(spec, "groups").is_empty() {
        let why = "at least one of user or group must be specified";
        errors.invalid("spec.user", "", why);
    }
    refuse(Qualified::new("authorization.k8s.io", ""), "", &errors)
}

/// The default lifetime of a token and the minimum, in seconds.
const LASTS: i64 = 3600;
const SHORTEST: i64 = 600;
/// The audience of tokens.
const AUDIENCE: &str = "https://kubernetes.default.svc";

/// True if a request asks for a service account's token.
pub(crate) fn is_token_request(target: &RequestTarget) -> bool {
    target.group.is_empty() && target.resource == "serviceaccounts" && target.subresource == "token"
}

impl Context<'_> {
    /// Issues a token with the account's rights. It is valid while the account exists; it does not expire.
    pub(crate) fn give_token(&mut self, target: &Arc<RequestTarget>, body: &Bytes) -> HandlerResult<Reply> {
        let route = Route::only(builtin::token_request(), target);
        let (write, mut request) = self.decode(&route, "CreateOptions", body)?;
        let account = self.state.service_account(&target.namespace, &target.name);
        let subject = Qualified::new("", "serviceaccounts");
        let account = account.ok_or_else(|| StatusFailure::not_found(subject, &target.name))?;
        let uid = meta::text(account.object(), "uid");
        let spec = &mut request["spec"];
        let seconds = spec["expirationSeconds"].as_i64().unwrap_or(LASTS);
        spec["expirationSeconds"] = seconds.into();
        let mut errors = Vec::new();
        if seconds < SHORTEST {
            let why = "may not specify a duration less than 10 minutes";
            errors.invalid("spec.expirationSeconds", seconds, why);
        }
        refuse(route.resource.qualified_kind(), "", &errors)?;
        if !spec["boundObjectRef"].is_null() {
            let why = "this server does not bind tokens to objects";
            return Err(StatusFailure::new(501, "NotImplemented", why));
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
