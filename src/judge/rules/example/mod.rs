//! The examples of a rule's file: small worlds that keep the rule, and small worlds that break it.
//!
//! An example states only what matters to it. The rest is filled with a world that conforms to every rule
//! ([`objects`]), so that what a rule finds is what the example says and nothing else. Everything happens
//! relative to 2026-01-01T00:00:00Z, and the same text always gives the same [`Evidence`].

mod consumer;
mod objects;
mod records;
mod times;
mod violation;
mod world;

#[cfg(test)]
mod tests;

use std::error::Error;

use evidence::{Evidence, api::Edition};
use serde::Deserialize;
use serde_json::Value;

pub use self::violation::{PublishedObject, Violation};
use self::world::ExampleWorld;
use crate::{rules::registry::Rule, subjects::Finding};

/// One example of a rule's file.
#[derive(Clone, Debug)]
pub struct Example {
    /// Its name, one line.
    pub name: String,
    /// The edition that it is judged by.
    pub edition: Edition,
    /// The expected verdict.
    pub expected_verdict: ExpectedVerdict,
    /// The expected reason for no verdict, if the example gives one.
    pub reason: Option<String>,
    evidence: Evidence,
}

/// The verdict of a rule on an example's world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExpectedVerdict {
    /// The rule is kept.
    Passes,
    /// The rule is broken.
    Fails {
        /// One of the findings, if the example describes one.
        finding: Option<ExpectedFinding>,
        /// The number of findings, if the example gives one.
        count: Option<usize>,
    },
    /// The evidence is insufficient.
    Inconclusive,
    /// The rule does not apply to anything, as the evidence shows.
    Inapplicable,
    /// Nothing happened that the rule judges, so it was not judged.
    NothingHappened,
    /// The necessary evidence was not requested.
    Skipped,
}

/// Describes one finding; an absent field matches anything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExpectedFinding {
    /// Kind and path of the object, for example `ClusterProfile default/a`.
    pub object: Option<String>,
    /// The field.
    pub path: Option<String>,
    /// What was expected.
    pub expected: Option<String>,
    /// What was seen.
    pub observed: Option<String>,
    /// The message.
    pub message: Option<String>,
    /// Whether it is a warning only.
    pub advisory: Option<bool>,
}

/// An example without its world.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExampleFields {
    name: String,
    edition: Option<Edition>,
    finding: Option<ExpectedFinding>,
    findings: Option<usize>,
    reason: Option<String>,
}

impl Example {
    /// Reads an example. One that names no edition is judged by `default`, its rule's first edition.
    ///
    /// # Errors
    ///
    /// Where it has unknown keys, not exactly one world, or steps that cannot happen.
    pub fn parse(value: &Value, default: Edition) -> Result<Self, ExampleError> {
        let name = value.get("name").and_then(Value::as_str).unwrap_or("unnamed");
        Self::read(value, default).map_err(|error| ExampleError {
            example: name.to_owned(),
            error,
        })
    }

    /// Reads all examples of a rule.
    ///
    /// # Errors
    ///
    /// As [`Self::parse`].
    pub fn of(rule: &Rule) -> Result<Vec<Self>, ExampleError> {
        let examples = rule.facts.examples.iter();
        let examples = examples.map(|example| Self::parse(example, rule.facts.since));
        let examples = examples.map(|example| Ok(example?.with_expectations_of(rule.id)));
        examples.collect()
    }

    /// The expectations of a consumer's example are those of its rule, unless they name another one.
    fn with_expectations_of(mut self, rule: &str) -> Self {
        let testbed = self.evidence.testbed.iter_mut();
        let mut expectations: Vec<_> = testbed.flat_map(|testbed| &mut testbed.expectations).collect();
        expectations.retain(|expectation| expectation.rule.is_empty());
        for expectation in expectations {
            rule.clone_into(&mut expectation.rule);
        }
        self
    }

    /// The evidence of its world, with its edition in the header.
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    fn read(value: &Value, default: Edition) -> Result<Self, BoxedError> {
        let mut value = value.clone();
        times::fill_in(&mut value, times::BASE)?;
        let fields = value.as_object_mut().ok_or("an example is a mapping")?;
        let keys = [
            "passes",
            "fails",
            "inconclusive",
            "inapplicable",
            "nothingHappened",
            "skipped",
        ];
        let mut worlds = keys
            .into_iter()
            .filter_map(|key| Some((key, fields.remove(key)?)));
        let (Some((key, world)), None) = (worlds.next(), worlds.next()) else {
            return Err(format!("give exactly one of {keys:?}").into());
        };
        let fields: ExampleFields = serde_json::from_value(value)?;
        if (fields.finding.is_some() || fields.findings.is_some()) && key != "fails" {
            return Err("`finding` and `findings` go with `fails` only".into());
        }
        if fields.reason.is_some() && matches!(key, "passes" | "fails") {
            return Err("`reason` goes with neither `passes` nor `fails`".into());
        }
        let expected_verdict = match key {
            "passes" => ExpectedVerdict::Passes,
            "fails" => ExpectedVerdict::Fails {
                finding: fields.finding,
                count: fields.findings,
            },
            "inconclusive" => ExpectedVerdict::Inconclusive,
            "inapplicable" => ExpectedVerdict::Inapplicable,
            "nothingHappened" => ExpectedVerdict::NothingHappened,
            _ => ExpectedVerdict::Skipped,
        };
        let edition = fields.edition.unwrap_or(default);
        Ok(Self {
            name: fields.name,
            edition,
            expected_verdict,
            reason: fields.reason,
            evidence: ExampleWorld::read(&world, edition)?.evidence()?,
        })
    }
}

impl ExpectedFinding {
    /// Whether this describes a finding.
    pub fn describes(&self, finding: &Finding) -> bool {
        let agree = |expected: &Option<String>, actual: &str| expected.as_deref().is_none_or(|e| e == actual);
        agree(&self.object, &finding.object.to_string())
            && agree(&self.path, &finding.path)
            && agree(&self.expected, &finding.expected)
            && agree(&self.observed, &finding.observed)
            && agree(&self.message, &finding.message)
            && self.advisory.is_none_or(|advisory| advisory == finding.advisory)
    }
}

/// An example that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("failed to read the example `{example}`: {error}")]
pub struct ExampleError {
    /// The example's name; `unnamed` if it has none.
    pub example: String,
    /// What is wrong with it.
    #[source]
    pub error: BoxedError,
}

/// What is wrong with an example: its shape, or a step that cannot happen, for example the deletion of a missing profile.
pub type BoxedError = Box<dyn Error + Send + Sync>;
