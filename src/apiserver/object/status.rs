//! Failed requests, answered with `Status` objects.

use serde_json::{Value, json};

use super::field::FieldError;

/// A group and a resource (or kind), as messages name them: `widgets.example.com`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Qualified<'a> {
    pub(crate) group: &'a str,
    pub(crate) resource: &'a str,
}

impl std::fmt::Display for Qualified<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.group {
            "" => f.write_str(self.resource),
            group => write!(f, "{}.{group}", self.resource),
        }
    }
}

impl<'a> Qualified<'a> {
    pub(crate) fn new(group: &'a str, resource: &'a str) -> Self {
        Self { group, resource }
    }
}

/// Why a request failed.
#[derive(Clone, Debug)]
pub(crate) struct StatusFailure {
    pub(crate) code: u16,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    /// A `retryAfterSeconds` in them becomes the `Retry-After` header, too.
    pub(crate) details: Option<Value>,
    /// Sent as plain text instead of a Status.
    pub(crate) plain: Option<&'static str>,
}

/// The result of every handler.
pub(crate) type HandlerResult<T> = Result<T, Box<StatusFailure>>;

impl StatusFailure {
    pub(crate) fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Box<Self> {
        Box::new(Self {
            code,
            reason,
            message: message.into(),
            details: None,
            plain: None,
        })
    }

    /// Adds details.
    pub(crate) fn with(mut self: Box<Self>, details: Value) -> Box<Self> {
        self.details = Some(details);
        self
    }

    fn about(self: Box<Self>, subject: Qualified<'_>, name: &str) -> Box<Self> {
        self.with(details(subject, name))
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Box<Self> {
        Self::new(400, "BadRequest", message)
    }

    pub(crate) fn too_large(why: &str) -> Box<Self> {
        Self::new(
            413,
            "RequestEntityTooLarge",
            format!("Request entity too large: {why}"),
        )
    }

    /// An internal error: kube-apiserver does not blame the client for these.
    pub(crate) fn internal(message: impl Into<String>) -> Box<Self> {
        Self::new(500, "", message)
    }

    pub(crate) fn forbidden(subject: Qualified<'_>, name: &str, why: &str) -> Box<Self> {
        let message = match (subject.resource, name) {
            ("", _) => format!("forbidden: {why}"),
            (_, "") => format!("{subject} is forbidden: {why}"),
            _ => format!("{subject} \"{name}\" is forbidden: {why}"),
        };
        Self::new(403, "Forbidden", message).about(subject, name)
    }

    pub(crate) fn not_found(subject: Qualified<'_>, name: &str) -> Box<Self> {
        let message = format!("{subject} \"{name}\" not found");
        Self::new(404, "NotFound", message).about(subject, name)
    }

    /// No such resource is served.
    pub(crate) fn no_such_resource() -> Box<Self> {
        let message = "the server could not find the requested resource";
        Self::new(404, "NotFound", message).with(json!({}))
    }

    /// Answered by a part of the server that knows no Status.
    pub(crate) fn plain(code: u16, text: &'static str) -> Box<Self> {
        let mut failure = Self::new(code, "", text);
        failure.plain = Some(text);
        failure
    }

    /// The router knows no such path.
    pub(crate) fn no_such_path() -> Box<Self> {
        Self::plain(404, "404 page not found\n")
    }

    /// A built-in resource does not have this method.
    pub(crate) fn method_not_routed() -> Box<Self> {
        let message = "the server does not allow this method on the requested resource";
        Self::new(405, "MethodNotAllowed", message).with(json!({}))
    }

    pub(crate) fn method_not_allowed(subject: Qualified<'_>, action: &str) -> Box<Self> {
        let message = format!("{action} is not supported on resources of kind \"{subject}\"");
        Self::new(405, "MethodNotAllowed", message).about(subject, "")
    }

    pub(crate) fn already_exists(subject: Qualified<'_>, name: &str) -> Box<Self> {
        let message = format!("{subject} \"{name}\" already exists");
        Self::new(409, "AlreadyExists", message).about(subject, name)
    }

    pub(crate) fn conflict(subject: Qualified<'_>, name: &str, why: &str) -> Box<Self> {
        let message = format!("Operation cannot be fulfilled on {subject} \"{name}\": {why}");
        Self::new(409, "Conflict", message).about(subject, name)
    }

    pub(crate) fn not_acceptable(accepted: &[&str]) -> Box<Self> {
        let accepted = accepted.join(", ");
        let message = format!("only the following media types are accepted: {accepted}");
        Self::new(406, "NotAcceptable", message)
    }

    pub(crate) fn unsupported_media_type(accepted: &[&str]) -> Box<Self> {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            accepted.join(", ")
        );
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// 422, with a cause for each error. As in kube-apiserver, `subject.resource` is the kind.
    pub(crate) fn invalid(subject: Qualified<'_>, name: &str, errors: &[FieldError]) -> Box<Self> {
        let cause = |error: &FieldError| {
            let (reason, _) = error.problem.texts();
            json!({"reason": reason, "message": error.message, "field": error.field})
        };
        let mut details = details(subject, name);
        details["causes"] = errors.iter().map(cause).collect();
        let complaints = join_complaints(errors.iter().map(FieldError::to_string));
        let message = format!("{subject} \"{name}\" is invalid: {complaints}");
        Self::new(422, "Invalid", message).with(details)
    }

    /// The Status that is sent.
    pub(crate) fn to_value(&self) -> Value {
        let mut status = unless_empty([("message", self.message.as_str()), ("reason", self.reason)]);
        status["kind"] = "Status".into();
        status["apiVersion"] = "v1".into();
        status["status"] = "Failure".into();
        status["code"] = self.code.into();
        status["metadata"] = json!({});
        if let Some(details) = &self.details {
            status["details"] = details.clone();
        }
        status
    }
}

/// Fails if there are errors.
pub(crate) fn refuse(subject: Qualified<'_>, name: &str, errors: &[FieldError]) -> HandlerResult<()> {
    match errors {
        [] => Ok(()),
        errors => Err(StatusFailure::invalid(subject, name, errors)),
    }
}

/// Fails if the options of a request have errors. `kind` is their kind (`ListOptions`).
pub(crate) fn refuse_options(kind: &str, errors: &[FieldError]) -> HandlerResult<()> {
    refuse(Qualified::new("meta.k8s.io", kind), "", errors)
}

/// Joins complaints without repetitions. Several are in brackets.
pub(crate) fn join_complaints(complaints: impl IntoIterator<Item = String>) -> String {
    let mut unique: Vec<String> = Vec::new();
    for complaint in complaints {
        if !unique.contains(&complaint) {
            unique.push(complaint);
        }
    }
    match unique.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    }
}

/// The details of a status.
pub(crate) fn details(subject: Qualified<'_>, name: &str) -> Value {
    unless_empty([
        ("name", name),
        ("group", subject.group),
        ("kind", subject.resource),
    ])
}

/// An object with the texts that are not empty.
pub(crate) fn unless_empty<'a>(texts: impl IntoIterator<Item = (&'a str, &'a str)>) -> Value {
    let present = texts.into_iter().filter(|(_, text)| !text.is_empty());
    Value::Object(
        present
            .map(|(name, text)| (name.to_owned(), text.into()))
            .collect(),
    )
}
