//! The results of one rule.

use evidence::ObjectRef;
use schemars::JsonSchema;
use serde::Serialize;

use super::text::redacted_field;

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
}

/// What one rule examined and found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// How many things (mostly objects) were examined.
    pub examined: usize,
    /// The violations.
    pub list: Vec<Finding>,
    /// Why the evidence was insufficient, each cause once.
    pub inconclusive: Vec<String>,
    /// The necessary evidence that was not requested, if so.
    pub not_asked: Option<String>,
    /// Why the rule does not apply to anything, if so.
    pub not_applicable: Option<String>,
    /// Remarks for the report, such as which evidence was used.
    pub notes: Vec<String>,
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
        }
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

    /// Makes it a warning only: the evidence hints at a violation without proving it.
    pub fn advisory(mut self) -> Self {
        self.advisory = true;
        self
    }
}

impl Findings {
    /// Counts one thing as examined.
    pub fn examine(&mut self) {
        self.examined += 1;
    }

    /// Adds a violation.
    pub fn report(&mut self, finding: Finding) {
        self.list.push(finding);
    }

    /// Records why the evidence is insufficient.
    pub fn cannot_tell(&mut self, reason: impl Into<String>) {
        let reason = reason.into();
        if !self.inconclusive.contains(&reason) {
            self.inconclusive.push(reason);
        }
    }

    /// Records which necessary evidence was not requested. Counts only if nothing was examined.
    pub fn not_asked(&mut self, evidence: impl Into<String>) {
        self.not_asked = Some(evidence.into());
    }

    /// Records why the rule does not apply to anything. Counts only if nothing was examined.
    pub fn not_applicable(&mut self, reason: impl Into<String>) {
        self.not_applicable = Some(reason.into());
    }

    /// Adds a remark for the report.
    pub fn note(&mut self, remark: impl Into<String>) {
        self.notes.push(remark.into());
    }
}
