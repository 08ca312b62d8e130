//! One violation of a rule.

use std::collections::BTreeSet;

use evidence::ObjectRef;
use schemars::JsonSchema;
use serde::Serialize;

use crate::text::{listed, redacted_field};

/// One violation: the object, the field, the expected value and the observed one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// The offending object.
    pub object: ObjectRef,
    /// The field, such as `metadata.labels[x-k8s.io/cluster-manager]`.
    pub path: String,
    /// What was expected there.
    pub expected: String,
    /// What was observed there; never a secret.
    pub observed: String,
    /// One line for a person: begins in lower case, ends without a period.
    pub message: String,
    /// Whether it is a warning only, even for a MUST rule.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub advisory: bool,
    /// What it is about, if not the path alone says so.
    #[serde(skip)]
    pub(crate) subject: Option<String>,
}

impl Finding {
    /// A finding on an object, to be filled with [`Self::at`], [`Self::expected`] and [`Self::observed`].
    pub fn on(object: impl Into<ObjectRef>, message: impl Into<String>) -> Self {
        Self {
            object: object.into(),
            path: String::new(),
            expected: String::new(),
            observed: String::new(),
            message: redacted_field(&message.into()),
            advisory: false,
            subject: None,
        }
    }

    /// A finding at a field of the object that a rule function sees; the engine adds the object.
    pub(crate) fn at_path(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::on(ObjectRef::default(), message).at(path)
    }

    /// Names the object that the finding is about, unless it names one.
    pub(crate) fn name_object(&mut self, object: impl FnOnce() -> ObjectRef) {
        if self.object.kind.is_empty() {
            self.object = object();
        }
    }

    /// A violation that may move from one path to another is one violation of its subject.
    pub(crate) fn about(mut self, subject: impl Into<String>) -> Self {
        self.subject = Some(subject.into());
        self
    }

    /// What one violation has in common over time: its subject or, usually, its path.
    pub(crate) fn identity(&self) -> &str {
        self.subject.as_deref().unwrap_or(&self.path)
    }

    /// The field that offends.
    pub fn at(mut self, path: impl Into<String>) -> Self {
        self.path = redacted_field(&path.into());
        self
    }

    /// What was expected.
    pub fn expected(mut self, expected: impl Into<String>) -> Self {
        self.expected = redacted_field(&expected.into());
        self
    }

    /// What was observed instead. An empty text is quoted, since nobody sees one.
    pub fn observed(mut self, observed: impl Into<String>) -> Self {
        let observed = redacted_field(&observed.into());
        self.observed = if observed.is_empty() {
            r#""""#.to_owned()
        } else {
            observed
        };
        self
    }

    /// Adds who did what was observed; nothing if the evidence names nobody.
    pub(crate) fn done_by(self, names: &BTreeSet<&str>) -> Self {
        if names.is_empty() {
            return self;
        }
        let observed = format!("{}, by {}", self.observed, listed(names));
        self.observed(observed)
    }

    /// A warning only, unless it is certain.
    pub(crate) fn advisory_unless(self, is_certain: bool) -> Self {
        Self {
            advisory: self.advisory || !is_certain,
            ..self
        }
    }

    /// Makes it a warning only: the evidence hints at a violation without proving it.
    pub fn advisory(mut self) -> Self {
        self.advisory = true;
        self
    }
}
