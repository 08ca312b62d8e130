//! Who may do what: bearer tokens name users, users have rules.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use super::field::{FieldError, quoted};
use super::request::RequestInfo;
use super::status::{Failure, Outcome, Qualified};

/// The group whose members may do everything.
pub const MASTERS: &str = "system:masters";
/// The group of everybody who has a token.
const AUTHENTICATED: &str = "system:authenticated";

/// What a [`User`] may do. Each list may hold `*`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessRule {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    pub verbs: Vec<String>,
    /// API groups; the core group is the empty text.
    pub groups: Vec<String>,
    /// Plurals, with `/status` for the subresource.
    pub resources: Vec<String>,
    /// Namespaces in which the rule holds. Only with `*` does it hold for the whole cluster.
    pub namespaces: Vec<String>,
}

/// Somebody with a bearer token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The name that audit events and refusals tell.
    pub name: String,
    /// Groups besides `system:authenticated`.
    pub groups: Vec<String>,
    /// What the user may do, unless a member of [`MASTERS`].
    pub rules: Vec<AccessRule>,
}

impl User {
    /// A user who may do everything.
    pub fn master(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            groups: vec![MASTERS.to_owned()],
            rules: Vec::new(),
        }
    }

    /// A user with these rules only.
    pub fn with_rules(name: impl Into<String>, rules: Vec<AccessRule>) -> Self {
        Self {
            name: name.into(),
            groups: Vec::new(),
            rules,
        }
    }

    pub(super) fn all_groups(&self) -> Vec<&str> {
        let own = self.groups.iter().map(String::as_str);
        own.chain([AUTHENTICATED]).collect()
    }

    /// Whether the user may do this to a path outside of the resources.
    fn may_ask(&self, verb: &str, path: &str) -> bool {
        let first = path.trim_start_matches('/').split('/').next();
        let is_public = verb == "get" && first.is_some_and(|first| PUBLIC.contains(&first));
        is_public || self.may("*", "*", "*", "")
    }

    /// Whether a rule allows this.
    pub(super) fn may(&self, verb: &str, group: &str, resource: &str, namespace: &str) -> bool {
        let has = |list: &[String], wanted: &str| list.iter().any(|entry| entry == "*" || entry == wanted);
        let anywhere_below = resource.split_once('/').map(|(_, below)| format!("*/{below}"));
        self.groups.iter().any(|group| group == MASTERS)
            || self.rules.iter().any(|rule| {
                has(&rule.verbs, verb)
                    && has(&rule.groups, group)
                    && (has(&rule.resources, resource)
                        || anywhere_below
                            .as_ref()
                            .is_some_and(|below| rule.resources.contains(below)))
                    && match namespace {
                        "" => rule.namespaces.iter().any(|entry| entry == "*"),
                        namespace => has(&rule.namespaces, namespace),
                    }
            })
    }
}

/// Paths outside of the resources that everybody may read who is known.
const PUBLIC: [&str; 6] = ["api", "apis", "healthz", "livez", "readyz", "version"];

/// The users of a server, by token.
#[derive(Debug, Default)]
pub(super) struct Users(Mutex<HashMap<String, Arc<User>>>);

/// The bearer token of a user. The lab has no secrets: it is made of the name.
pub(super) fn token(user: &str) -> String {
    format!("lab-{user}")
}

impl Users {
    pub(super) fn add(&self, user: User) {
        let mut users = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        users.insert(token(&user.name), Arc::new(user));
    }

    /// Makes a user known by this token, besides others.
    pub(super) fn add_token(&self, token: &str, user: impl Into<Arc<User>>) {
        let mut users = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        users.insert(token.to_owned(), user.into());
    }

    pub(super) fn authenticate(&self, headers: &http::HeaderMap) -> Outcome<Arc<User>> {
        let header = headers.get(http::header::AUTHORIZATION);
        let token = header
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.strip_prefix("Bearer "));
        let users = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let user = token.and_then(|token| users.get(token.trim()));
        user.cloned().ok_or_else(Failure::unauthorized)
    }
}

/// Refuses what the user may not do.
pub(super) fn authorize(user: &User, info: &RequestInfo) -> Outcome<()> {
    let Some(target) = &info.target else {
        return Ok(());
    };
    let resource = match target.subresource.as_str() {
        "" => target.resource.clone(),
        subresource => format!("{}/{subresource}", target.resource),
    };
    if user.may(info.verb, &target.group, &resource, &target.namespace)
        || is_self_review(&target.group, &target.resource)
    {
        return Ok(());
    }
    let place = match target.namespace.as_str() {
        "" => "at the cluster scope".to_owned(),
        namespace => format!("in the namespace \"{namespace}\""),
    };
    let why = format!(
        "User \"{}\" cannot {} resource \"{resource}\" in API group \"{}\" {place}",
        user.name, info.verb, target.group
    );
    let subject = Qualified {
        group: &target.group,
        resource: &target.resource,
    };
    Err(Failure::forbidden(subject, &target.name, &why))
}

/// Everybody may ask about themselves.
pub(super) fn is_self_review(group: &str, resource: &str) -> bool {
    matches!(
        (group, resource),
        ("authorization.k8s.io", "selfsubjectaccessreviews")
            | ("authentication.k8s.io", "selfsubjectreviews")
    )
}

/// What is wrong with a SelfSubjectAccessReview. As in the real answer, the kind is not told.
pub(super) fn check_review(review: &Value) -> Outcome<()> {
    let spec = &review["spec"];
    let error = match (
        spec["resourceAttributes"].is_object(),
        spec["nonResourceAttributes"].is_object(),
    ) {
        (true, true) => {
            let text = |key: &str| quoted(spec["nonResourceAttributes"][key].as_str().unwrap_or_default());
            let value = format!("{{\"Path\":{},\"Verb\":{}}}", text("path"), text("verb"));
            let why = "cannot be specified in combination with resourceAttributes";
            FieldError::invalid_raw("spec.nonResourceAttributes", &value, why)
        }
        (false, false) => FieldError::invalid(
            "spec.resourceAttributes",
            &Value::Null,
            "exactly one of nonResourceAttributes or resourceAttributes must be specified",
        ),
        _ => return Ok(()),
    };
    let subject = Qualified {
        group: "authorization.k8s.io",
        resource: "",
    };
    Err(Failure::invalid(subject, "", &[error]))
}

/// Answers a SelfSubjectAccessReview.
pub(super) fn review_access(user: &User, review: &Value) -> Value {
    let asked = &review["spec"]["resourceAttributes"];
    let text = |key: &str| asked[key].as_str().unwrap_or_default();
    let allowed = match asked.is_object() {
        true => {
            let resource = match text("subresource") {
                "" => text("resource").to_owned(),
                subresource => format!("{}/{subresource}", text("resource")),
            };
            user.may(text("verb"), text("group"), &resource, text("namespace"))
        }
        false => {
            let asked = &review["spec"]["nonResourceAttributes"];
            let text = |key: &str| asked[key].as_str().unwrap_or_default();
            user.may_ask(text("verb"), text("path"))
        }
    };
    json!({
        "kind": "SelfSubjectAccessReview",
        "apiVersion": "authorization.k8s.io/v1",
        "metadata": {},
        "spec": review["spec"],
        "status": {"allowed": allowed},
    })
}

/// Answers a SelfSubjectReview.
pub(super) fn review_self(user: &User, time: &str) -> Value {
    json!({
        "kind": "SelfSubjectReview",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"creationTimestamp": time},
        "status": {"userInfo": {"username": user.name, "uid": user.name, "groups": user.all_groups()}},
    })
}
