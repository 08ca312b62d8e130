//! Reviews: questions about who somebody is and what is allowed. They are answered and not stored.

use bytes::Bytes;
use serde_json::{Value, json};

use super::auth::User;
use super::body::Reply;
use super::context::{Context, Named};
use super::field::{FieldError, quoted};
use super::managed_fields::track;
use super::meta;
use super::options::WriteOptions;
use super::rbac::{Act, Grants, Rule};
use super::read::namespace;
use super::request::Target;
use super::status::{Failure, Outcome, Qualified};
use super::tokens::AUDIENCE;
use super::write::ensure_namespace;

impl Context<'_> {
    /// Answers a review.
    pub(super) fn review(&mut self, named: &Named, target: &Target, body: &Bytes) -> Outcome<Reply> {
        let options = WriteOptions::read(&self.info.query, "CreateOptions", self.agent)?;
        let mut review = self.decode(named, &options, body)?;
        self.entry.object(&review);
        ensure_namespace(&mut review, namespace(named, target))?;
        track(None, &mut review, &self.writer(named, "", &options));
        let kind = named.resource.kind.as_str();
        let answer = match kind {
            "SelfSubjectReview" => json!({
                "metadata": {"creationTimestamp": self.server.time()},
                "status": {"userInfo": self.user.info()},
            }),
            "SelfSubjectRulesReview" => self.review_rules(&review)?,
            "TokenReview" => self.review_token(review)?,
            kind => self.review_access(kind, review)?,
        };
        let mut whole = json!({"kind": kind, "apiVersion": named.api_version()});
        if let (Value::Object(whole), Value::Object(answer)) = (&mut whole, answer) {
            whole.extend(
                answer
                    .into_iter()
                    .filter(|(field, _)| field != "kind" && field != "apiVersion"),
            );
        }
        Ok(Reply::value(201, &whole))
    }

    /// Whether something is allowed to the asker, or to whom the review names.
    fn review_access(&self, kind: &str, mut review: Value) -> Outcome<Value> {
        check_access(kind, &review)?;
        let spec = &review["spec"];
        let named;
        let user = match kind {
            "SelfSubjectAccessReview" => self.user,
            _ => {
                named = User {
                    name: text(spec, "user").to_owned(),
                    groups: texts(&spec["groups"]),
                    ..User::default()
                };
                &named
            }
        };
        let decision = self.server.authorize(user, &act(spec));
        let mut status = json!({"allowed": decision.allowed});
        if !decision.reason.is_empty() {
            status["reason"] = decision.reason.into();
        }
        review["status"] = status;
        Ok(review)
    }

    /// Everything that is allowed to the asker in a namespace.
    fn review_rules(&self, review: &Value) -> Outcome<Value> {
        let namespace = text(&review["spec"], "namespace");
        if namespace.is_empty() {
            return Err(Failure::bad_request("no namespace on request"));
        }
        let storage = self.server.storage();
        let grants = Grants::find(&storage, self.user, namespace);
        let rules = grants.rules.iter().map(|(rule, _)| rule);
        let about_resources = rules.clone().filter(|rule| !rule.resources.is_empty());
        let about_others = rules.filter(|rule| !rule.non_resource_urls.is_empty());
        let about_resources: Vec<Rule> = about_resources
            .map(|rule| Rule {
                non_resource_urls: Vec::new(),
                ..rule.clone()
            })
            .collect();
        let about_others: Vec<Rule> = about_others
            .map(|rule| Rule {
                verbs: rule.verbs.clone(),
                non_resource_urls: rule.non_resource_urls.clone(),
                ..Rule::default()
            })
            .collect();
        let mut status = json!({
            "resourceRules": about_resources, "nonResourceRules": about_others, "incomplete": false,
        });
        let missing = grants.missing(None);
        if !missing.is_empty() {
            status["evaluationError"] = missing.into();
        }
        Ok(json!({"metadata": {}, "spec": {}, "status": status}))
    }

    /// Whose token it is.
    fn review_token(&self, mut review: Value) -> Outcome<Value> {
        let spec = &review["spec"];
        let token = text(spec, "token");
        if token.is_empty() {
            let why = "token is required for TokenReview in authentication";
            return Err(Failure::bad_request(why));
        }
        let audiences = texts(&spec["audiences"]);
        let is_ours = audiences.is_empty() || audiences.iter().any(|audience| audience == AUDIENCE);
        let user = self.server.user_of(token).filter(|_| is_ours);
        review["status"] = match user {
            Some(user) => json!({"authenticated": true, "user": user.info(), "audiences": [AUDIENCE]}),
            None => json!({"user": {}, "error": "invalid bearer token"}),
        };
        Ok(review)
    }
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_default()
}

fn texts(list: &Value) -> Vec<String> {
    let list = list.as_array().into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// What a review asks about.
fn act(spec: &Value) -> Act<'_> {
    let (asked, other) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    if asked.is_null() {
        return Act {
            verb: text(other, "verb"),
            path: Some(text(other, "path")),
            ..Act::default()
        };
    }
    Act {
        verb: text(asked, "verb"),
        group: text(asked, "group"),
        resource: text(asked, "resource"),
        subresource: text(asked, "subresource"),
        namespace: text(asked, "namespace"),
        name: text(asked, "name"),
        path: None,
    }
}

/// What is wrong with a question about access. As in the real answer, the kind is not told.
fn check_access(kind: &str, review: &Value) -> Outcome<()> {
    let (spec, mut errors) = (&review["spec"], Vec::new());
    let (asked, other) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    let is_local = kind == "LocalSubjectAccessReview";
    let told = || {
        let (path, verb) = (quoted(text(other, "path")), quoted(text(other, "verb")));
        format!("{{\"Path\":{path},\"Verb\":{verb}}}")
    };
    let mut invalid = |field: &str, value: &str, why: &str| {
        errors.push(FieldError::invalid_raw(field, value, why));
    };
    if !asked.is_null() && !other.is_null() {
        let why = "cannot be specified in combination with resourceAttributes";
        invalid("spec.nonResourceAttributes", &told(), why);
    }
    if asked.is_null() && other.is_null() {
        let why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        invalid("spec.resourceAttributes", "null", why);
    }
    if !kind.starts_with("Self") && text(spec, "user").is_empty() && texts(&spec["groups"]).is_empty() {
        invalid(
            "spec.user",
            "\"\"",
            "at least one of user or group must be specified",
        );
    }
    let metadata = meta::metadata(review).into_iter().flatten();
    let mut said =
        metadata.filter(|(field, _)| *field != "managedFields" && !(is_local && *field == "namespace"));
    if said.next().is_some() {
        let why = if is_local {
            "must be empty except for namespace"
        } else {
            "must be empty"
        };
        invalid("metadata", &review["metadata"].to_string(), why);
    }
    let within = text(asked, "namespace");
    if is_local && !asked.is_null() && within != meta::text(review, "namespace") {
        invalid(
            "spec.resourceAttributes.namespace",
            &quoted(within),
            "must match metadata.namespace",
        );
    }
    if is_local && !other.is_null() {
        invalid(
            "spec.nonResourceAttributes",
            &told(),
            "disallowed on this kind of request",
        );
    }
    let subject = Qualified {
        group: "authorization.k8s.io",
        resource: "",
    };
    match errors.as_slice() {
        [] => Ok(()),
        errors => Err(Failure::invalid(subject, "", errors)),
    }
}
