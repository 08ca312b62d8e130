//! Answers access reviews and token reviews, which are not stored.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    access::{rbac, rbac::Act, user::User},
    context::request::Context,
    fields::managed_fields::track,
    object::{
        field::Found,
        meta,
        status::{Failure, Outcome, Qualified, refuse},
        value::{fields, list, text, texts},
    },
    request::reply::Reply,
    store::named::Named,
    verbs::{review_selectors, token_request::AUDIENCE},
};

impl Context<'_> {
    /// Answers a review.
    pub(crate) fn review(&mut self, named: &Named, body: &Bytes) -> Outcome<Reply> {
        let (write, mut review) = self.decode(named, "CreateOptions", body)?;
        track(None, &mut review, &write);
        let kind = named.resource.kind.as_str();
        let mut answer = match kind {
            "SelfSubjectReview" => json!({
                "metadata": {"creationTimestamp": self.state.time()},
                "status": {"userInfo": self.user},
            }),
            "SelfSubjectRulesReview" => self.review_rules(&review)?,
            "TokenReview" => self.review_token(review)?,
            kind => self.review_access(kind, review)?,
        };
        answer["kind"] = kind.into();
        answer["apiVersion"] = named.api_version().into();
        Ok(Reply::value(201, &answer))
    }

    /// Answers whether an action is allowed to the requester, or to the user in the review.
    fn review_access(&self, kind: &str, mut review: Value) -> Outcome<Value> {
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
        let decision = self.state.authorize(user, &act(spec));
        let mut status = json!({"allowed": decision.allowed});
        if !decision.reason.is_empty() {
            status["reason"] = decision.reason.into();
        }
        let ignored = review_selectors::ignored(&spec["resourceAttributes"]);
        if !ignored.is_empty() {
            status["evaluationError"] = ignored.join("; ").into();
        }
        review["status"] = status;
        Ok(review)
    }

    /// Lists what the requester may do in a namespace.
    fn review_rules(&self, review: &Value) -> Outcome<Value> {
        let namespace = text(&review["spec"], "namespace");
        if namespace.is_empty() {
            return Err(Failure::bad_request("no namespace on request"));
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
        let missing = rbac::missing(&storage, self.user, namespace);
        if !missing.is_empty() {
            status["evaluationError"] = missing.into();
        }
        Ok(json!({"metadata": {}, "spec": {}, "status": status}))
    }

    /// Answers a TokenReview.
    fn review_token(&self, mut review: Value) -> Outcome<Value> {
        let spec = &review["spec"];
        let token = text(spec, "token");
        if token.is_empty() {
            let why = "token is required for TokenReview in authentication";
            return Err(Failure::bad_request(why));
        }
        let audiences: Vec<&str> = texts(spec, "audiences");
        let is_ours = audiences.is_empty() || audiences.contains(&AUDIENCE);
        let user = self.state.user_of(token).filter(|_| is_ours);
        review["status"] = match user {
            Some(user) => json!({"authenticated": true, "user": user, "audiences": [AUDIENCE]}),
            None => json!({"user": {}, "error": "invalid bearer token"}),
        };
        Ok(review)
    }
}

/// The action in a review.
fn act(spec: &Value) -> Act<'_> {
    match &spec["resourceAttributes"] {
        Value::Null => Act {
            verb: text(&spec["nonResourceAttributes"], "verb"),
            path: Some(text(&spec["nonResourceAttributes"], "path")),
            ..Act::default()
        },
        asked => Act::deserialize(asked).unwrap_or_default(),
    }
}

/// Checks an access review. As in kube-apiserver, messages omit the kind.
fn check_access(kind: &str, review: &Value) -> Outcome<()> {
    let (spec, mut errors) = (&review["spec"], Vec::new());
    let (asked, other) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    let is_local = kind == "LocalSubjectAccessReview";
    let path = json!({"Path": text(other, "path"), "Verb": text(other, "verb")});
    if !asked.is_null() && !other.is_null() {
        let why = "cannot be specified in combination with resourceAttributes";
        errors.invalid("spec.nonResourceAttributes", &path, why);
    }
    if asked.is_null() && other.is_null() {
        let why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        errors.invalid("spec.resourceAttributes", (), why);
    }
    if !kind.starts_with("Self") && text(spec, "user").is_empty() && list(spec, "groups").is_empty() {
        let why = "at least one of user or group must be specified";
        errors.invalid("spec.user", "", why);
    }
    review_selectors::check(asked, &mut errors);
    let mut said = fields(review, "metadata").map(|(field, _)| field);
    if said.any(|field| field != "managedFields" && !(is_local && field == "namespace")) {
        let but = if is_local { " except for namespace" } else { "" };
        let why = format!("must be empty{but}");
        errors.invalid("metadata", &review["metadata"], &why);
    }
    let within = text(asked, "namespace");
    if is_local && !asked.is_null() && within != meta::text(review, "namespace") {
        let why = "must match metadata.namespace";
        errors.invalid("spec.resourceAttributes.namespace", within, why);
    }
    if is_local && !other.is_null() {
        let why = "disallowed on this kind of request";
        errors.invalid("spec.nonResourceAttributes", &path, why);
    }
    refuse(Qualified::new("authorization.k8s.io", ""), "", &errors)
}
