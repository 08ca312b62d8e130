//! Failures as the API server tells them: `Status` objects.

use serde_json::{Map, Value, json};

use super::field::FieldError;
use super::resource::{Family, Resource};

/// A group and a resource (or kind), as messages name them: `clusterprofiles.multicluster.x-k8s.io`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Qualified<'a> {
    pub(super) group: &'a str,
    pub(super) resource: &'a str,
}

impl std::fmt::Display for Qualified<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.group {
            "" => f.write_str(self.resource),
            group => write!(f, "{}.{group}", self.resource),
        }
    }
}

/// A request that failed.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) code: u16,
    pub(super) reason: &'static str,
    pub(super) message: String,
    pub(super) details: Option<Value>,
    /// Seconds for the `Retry-After` header.
    pub(super) retry_after: Option<u32>,
    /// Where a list may go on all the same.
    pub(super) next: Option<String>,
    /// Answered as this text instead of a Status.
    pub(super) plain: Option<&'static str>,
}

/// What every handler returns.
pub(super) type Outcome<T> = Result<T, Box<Failure>>;

impl Failure {
    pub(super) fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Box<Self> {
        Box::new(Self {
            code,
            reason,
            message: message.into(),
            details: None,
            retry_after: None,
            next: None,
            plain: None,
        })
    }

    fn about(
        code: u16,
        reason: &'static str,
        subject: Qualified<'_>,
        name: &str,
        message: String,
    ) -> Box<Self> {
        let mut failure = Self::new(code, reason, message);
        failure.details = Some(details(subject, name));
        failure
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Box<Self> {
        Self::new(400, "BadRequest", message)
    }

    pub(super) fn unauthorized() -> Box<Self> {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    pub(super) fn forbidden(subject: Qualified<'_>, name: &str, why: &str) -> Box<Self> {
        let message = match (subject.resource, name) {
            ("", _) => format!("forbidden: {why}"),
            (_, "") => format!("{subject} is forbidden: {why}"),
            _ => format!("{subject} \"{name}\" is forbidden: {why}"),
        };
        Self::about(403, "Forbidden", subject, name, message)
    }

    pub(super) fn not_found(subject: Qualified<'_>, name: &str) -> Box<Self> {
        let message = format!("{subject} \"{name}\" not found");
        Self::about(404, "NotFound", subject, name, message)
    }

    /// For paths that name no resource this server has.
    pub(super) fn no_such_resource() -> Box<Self> {
        let mut failure = Self::new(
            404,
            "NotFound",
            "the server could not find the requested resource",
        );
        failure.details = Some(json!({}));
        failure
    }

    /// For paths that lead nowhere: the router answers, and knows no Status.
    pub(super) fn no_such_path() -> Box<Self> {
        let mut failure = Self::no_such_resource();
        failure.plain = Some("404 page not found\n");
        failure
    }

    /// For what is answered with a code alone.
    pub(super) fn wordless(code: u16) -> Box<Self> {
        let mut failure = Self::new(code, "", "");
        failure.plain = Some("");
        failure
    }

    /// For methods that the server's own resources do not have.
    pub(super) fn method_not_routed() -> Box<Self> {
        let mut failure = Self::new(
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        );
        failure.details = Some(json!({}));
        failure
    }

    pub(super) fn method_not_allowed(subject: Qualified<'_>, action: &str) -> Box<Self> {
        let message = format!("{action} is not supported on resources of kind \"{subject}\"");
        Self::about(405, "MethodNotAllowed", subject, "", message)
    }

    pub(super) fn already_exists(subject: Qualified<'_>, name: &str) -> Box<Self> {
        let message = format!("{subject} \"{name}\" already exists");
        Self::about(409, "AlreadyExists", subject, name, message)
    }

    pub(super) fn conflict(subject: Qualified<'_>, name: &str, why: &str) -> Box<Self> {
        let message = format!("Operation cannot be fulfilled on {subject} \"{name}\": {why}");
        Self::about(409, "Conflict", subject, name, message)
    }

    pub(super) fn expired(message: impl Into<String>) -> Box<Self> {
        Self::new(410, "Expired", message)
    }

    pub(super) fn too_large(message: impl Into<String>) -> Box<Self> {
        Self::new(413, "RequestEntityTooLarge", message)
    }

    pub(super) fn not_acceptable(accepted: &[&str]) -> Box<Self> {
        let message = format!(
            "only the following media types are accepted: {}",
            accepted.join(", ")
        );
        Self::new(406, "NotAcceptable", message)
    }

    /// For lists that are wanted as the metadata of one object.
    pub(super) fn list_not_acceptable(resource: &Resource) -> Box<Self> {
        let list = match (
            resource.family,
            resource.group.split('.').next().unwrap_or_default(),
        ) {
            (Family::Custom, _) => "unstructured.UnstructuredList".to_owned(),
            (_, "" | "events") => format!("core.{}", resource.list_kind),
            (_, package) => format!("{package}.{}", resource.list_kind),
        };
        let why =
            format!("you requested PartialObjectMetadata, but the requested object is a list (*{list})");
        Self::new(406, "NotAcceptable", why)
    }

    pub(super) fn unsupported_media_type(accepted: &[&str]) -> Box<Self> {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            accepted.join(", ")
        );
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// 422, with a cause for each field. `subject.resource` is the kind here, as in the real answers.
    pub(super) fn invalid(subject: Qualified<'_>, name: &str, errors: &[FieldError]) -> Box<Self> {
        let mut told: Vec<String> = Vec::new();
        for error in errors {
            let text = format!("{}: {}", error.field, error.message);
            if !told.contains(&text) {
                told.push(text);
            }
        }
        let told = match told.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let message = format!("{subject} \"{name}\" is invalid: {told}");
        let mut failure = Self::about(422, "Invalid", subject, name, message);
        let causes: Vec<Value> = errors
            .iter()
            .map(|error| json!({"reason": error.problem.reason(), "message": error.message, "field": error.field}))
            .collect();
        if let Some(Value::Object(details)) = &mut failure.details {
            details.insert("causes".into(), causes.into());
        }
        failure
    }

    /// 429 and the like: the caller may come again after `seconds`.
    pub(super) fn retry(code: u16, reason: &'static str, message: &str, seconds: u32) -> Box<Self> {
        let mut failure = Self::new(code, reason, message);
        failure.details = Some(json!({"retryAfterSeconds": seconds}));
        failure.retry_after = Some(seconds);
        failure
    }

    /// This failure as the API object that is sent.
    pub(super) fn to_value(&self) -> Value {
        let mut status = Map::new();
        status.insert("kind".into(), "Status".into());
        status.insert("apiVersion".into(), "v1".into());
        let metadata = match &self.next {
            Some(next) => json!({"continue": next}),
            None => json!({}),
        };
        status.insert("metadata".into(), metadata);
        status.insert("status".into(), "Failure".into());
        if !self.message.is_empty() {
            status.insert("message".into(), self.message.clone().into());
        }
        if !self.reason.is_empty() {
            status.insert("reason".into(), self.reason.into());
        }
        if let Some(details) = &self.details {
            status.insert("details".into(), details.clone());
        }
        status.insert("code".into(), self.code.into());
        status.into()
    }
}

/// The details of a status, without what is empty.
pub(super) fn details(subject: Qualified<'_>, name: &str) -> Value {
    let mut details = Map::new();
    for (key, value) in [
        ("name", name),
        ("group", subject.group),
        ("kind", subject.resource),
    ] {
        if !value.is_empty() {
            details.insert(key.into(), value.into());
        }
    }
    details.into()
}
