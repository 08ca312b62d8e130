//! What the user says of a run, for submitted reports.

use std::{fmt, str::FromStr};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// What the user says of a run, for submitted reports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct About {
    /// The vendor of the implementation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub implementation: Option<Implementation>,
    /// Who judged the implementation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub submitted_by: Option<Submitter>,
    /// What was real, and what was imitated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<Environment>,
}

impl About {
    /// Overrides what was said with what is said now.
    pub fn update(&mut self, now: &Self) {
        let now = now.clone();
        self.implementation = now.implementation.or(self.implementation.take());
        self.submitted_by = now.submitted_by.or(self.submitted_by.take());
        self.environment = now.environment.or(self.environment.take());
    }
}

/// The vendor of the implementation, and the version under test.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Implementation {
    /// The organization behind it.
    pub organization: String,
    /// The project's name.
    pub project: String,
    /// The project's home.
    pub url: String,
    /// The version under test.
    pub version: String,
    /// Contacts for questions: names, addresses or handles.
    pub contact: Vec<String>,
}

/// Who judged the implementation and submits the report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Submitter {
    /// The organization. The implementation's own, if the project judged itself.
    pub organization: String,
    /// Its home page, or the page that describes its verdicts.
    pub url: String,
}

/// What was real where the implementation was judged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Environment {
    /// The hub cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hub: Option<Realness>,
    /// The member clusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub members: Option<Realness>,
    /// The implementation's agents on the members. One without agents says `real`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agents: Option<Realness>,
    /// Why the hub has no audit log that can be read, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_audit_log: Option<String>,
}

impl Environment {
    /// Its parts by their names, each with what was said of it.
    pub fn parts(&self) -> [(&'static str, Option<&Realness>); 3] {
        [
            ("hub", self.hub.as_ref()),
            ("members", self.members.as_ref()),
            ("agents", self.agents.as_ref()),
        ]
    }
}

/// Whether a part was real: `real`, or `imitated: ` and by what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Realness {
    /// As it runs for users.
    Real,
    /// Something stood in for it.
    Imitated(String),
}

/// A text that says neither.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write `real`, or `imitated: ` and what stands in for it")]
pub struct RealnessError;

impl FromStr for Realness {
    type Err = RealnessError;

    fn from_str(text: &str) -> Result<Self, RealnessError> {
        match text.split_once(':') {
            None if text.trim() == "real" => Ok(Realness::Real),
            Some((word, by)) if word.trim() == "imitated" && !by.trim().is_empty() => {
                Ok(Realness::Imitated(by.trim().to_owned()))
            }
            _ => Err(RealnessError),
        }
    }
}

impl TryFrom<String> for Realness {
    type Error = RealnessError;

    fn try_from(text: String) -> Result<Self, RealnessError> {
        text.parse()
    }
}

impl From<Realness> for String {
    fn from(realness: Realness) -> Self {
        realness.to_string()
    }
}

impl fmt::Display for Realness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Realness::Real => f.write_str("real"),
            Realness::Imitated(by) => write!(f, "imitated: {by}"),
        }
    }
}

impl JsonSchema for Realness {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Realness".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Whether a part was real: `real`, or `imitated: ` and by what.",
            "type": "string",
            "pattern": "^(real|imitated: *\\S.*)$",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn realness_is_real_or_names_the_imitation() {
        assert_eq!("real".parse(), Ok(Realness::Real));
        let text = "imitated: API servers without nodes";
        let imitated: Realness = text.parse().expect("it names the imitation");
        assert_eq!(imitated.to_string(), text);
        for vague in ["", "yes", "imitated", "imitated:  ", "real: sort of"] {
            assert_eq!(vague.parse::<Realness>(), Err(RealnessError), "{vague}");
        }
    }
}
