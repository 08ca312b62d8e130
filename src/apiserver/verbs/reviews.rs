//! Answers access reviews, which are not stored.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    access::{rbac, rbac::Act, user::User},
    context::request::Context,
    fields::managed_fields::track,
    object::{
        field::Found,
        status::{Failure, Outcome, Qualified, refuse},
        value::{list, text, texts},
    },
    request::reply::Reply,
    store::named::Named,
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

/// Checks that an access review has one subject and one action.
fn check_access(kind: &str, review: &Value) -> Outcome<()> {
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
