//! The editions of the documents, and the optional features that an implementation may claim.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Role;

/// A version of the documents to judge a role by: they change, and implementations lag. Those of one role stand together,
/// oldest first.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum Edition {
    /// KEP-4322 with the standard property list, consumer Secrets, and the Overview with access providers.
    #[default]
    #[serde(rename = "standard")]
    Standard,
    /// KEP-4322 as merged on 2026-07-22: ClusterProperty propagation, KEP-5339 merged in, no property list.
    #[serde(rename = "2026-07")]
    Y2026M07,
    /// Plus inventories defined as the profiles of one namespace, and API `v1alpha2`.
    #[serde(rename = "2026-09")]
    Y2026M09,
    /// KEP-5313 as written on 2025-09-14 and merged on 2025-11-25, with the API `v1alpha1`.
    #[serde(rename = "placement-2025-09")]
    Placement2025M09,
    /// The same KEP with the stricter API `v1alpha2`.
    #[serde(rename = "placement-2026-09")]
    Placement2026M09,
    /// What edition `2026-07` and the Overview ask of those who read profiles.
    #[serde(rename = "consumer-2026-07")]
    Consumer2026M07,
    /// The same of edition `2026-09`: one inventory for each namespace, and what to do with two profiles of one member.
    #[serde(rename = "consumer-2026-09")]
    Consumer2026M09,
}

/// An optional part of the API that an implementation claims or disclaims.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Feature {
    /// Credentials pushed to consumers as Secrets (KEP-4322 › Push Model via Credentials in Secret).
    ConsumerSecrets,
}

/// An unknown name, with the nearest known one if there is one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} `{given}`{}", .nearest.as_ref().map(|n| format!(": did you mean `{n}`?")).unwrap_or_default())]
pub struct UnknownName {
    /// What the name is of, such as `edition`.
    pub what: &'static str,
    /// The name as it was given.
    pub given: String,
    /// The nearest known name.
    pub nearest: Option<String>,
}

/// An unknown edition. Names all of them: they are few, and people do not know them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} (the editions: {all})", all = Edition::ALL.map(Edition::name).join(", "))]
pub struct UnknownEdition(#[from] UnknownName);

/// An unknown feature. Names all of them, as for editions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} (the features: {all})", all = Feature::ALL.map(Feature::name).join(", "))]
pub struct UnknownFeature(#[from] UnknownName);

impl UnknownName {
    /// Finds the nearest of the `known` names, to suggest it.
    pub fn among<'a>(what: &'static str, given: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        // 0.8 matches a typo or two in a rule id, but no unrelated word.
        let nearest = known
            .into_iter()
            .map(|name| (strsim::jaro_winkler(given, name), name))
            .filter(|(likeness, _)| *likeness > 0.8)
            .max_by(|(one, _), (other, _)| one.total_cmp(other))
            .map(|(_, name)| name.to_owned());
        Self {
            what,
            given: given.to_owned(),
            nearest,
        }
    }
}

impl Edition {
    /// All editions: those of each role together, oldest first.
    pub const ALL: [Edition; 7] = [
        Edition::Standard,
        Edition::Y2026M07,
        Edition::Y2026M09,
        Edition::Placement2025M09,
        Edition::Placement2026M09,
        Edition::Consumer2026M07,
        Edition::Consumer2026M09,
    ];

    /// The role that is judged by it.
    pub fn role(self) -> Role {
        match self {
            Edition::Standard | Edition::Y2026M07 | Edition::Y2026M09 => Role::Manager,
            Edition::Placement2025M09 | Edition::Placement2026M09 => Role::Scheduler,
            Edition::Consumer2026M07 | Edition::Consumer2026M09 => Role::Consumer,
        }
    }

    /// The edition whose documents it judges by: of consumers, they are those of managers.
    pub fn documents(self) -> Self {
        match self {
            Edition::Consumer2026M07 => Edition::Y2026M07,
            Edition::Consumer2026M09 => Edition::Y2026M09,
            other => other,
        }
    }

    /// The name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Edition::Standard => "standard",
            Edition::Y2026M07 => "2026-07",
            Edition::Y2026M09 => "2026-09",
            Edition::Placement2025M09 => "placement-2025-09",
            Edition::Placement2026M09 => "placement-2026-09",
            Edition::Consumer2026M07 => "consumer-2026-07",
            Edition::Consumer2026M09 => "consumer-2026-09",
        }
    }
}

impl Feature {
    /// All features.
    pub const ALL: [Feature; 1] = [Feature::ConsumerSecrets];

    /// The name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Feature::ConsumerSecrets => "consumer-secrets",
        }
    }
}

impl fmt::Display for Edition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Edition {
    type Err = UnknownEdition;

    fn from_str(given: &str) -> Result<Self, UnknownEdition> {
        Self::ALL
            .into_iter()
            .find(|edition| edition.name() == given)
            .ok_or_else(|| UnknownName::among("edition", given, Self::ALL.map(Self::name)).into())
    }
}

impl FromStr for Feature {
    type Err = UnknownFeature;

    fn from_str(given: &str) -> Result<Self, UnknownFeature> {
        Self::ALL
            .into_iter()
            .find(|feature| feature.name() == given)
            .ok_or_else(|| UnknownName::among("feature", given, Self::ALL.map(Self::name)).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_gets_a_suggestion_and_nonsense_none() {
        let slip = "standart".parse::<Edition>().expect_err("a slip");
        assert_eq!(
            slip.to_string(),
            "unknown edition `standart`: did you mean `standard`? (the editions: standard, 2026-07, \
             2026-09, placement-2025-09, placement-2026-09, consumer-2026-07, consumer-2026-09)"
        );
        let nonsense = "zzz".parse::<Feature>().expect_err("nonsense");
        assert_eq!(
            nonsense.to_string(),
            "unknown feature `zzz` (the features: consumer-secrets)"
        );
    }

    #[test]
    fn names_are_what_files_say() {
        for edition in Edition::ALL {
            assert_eq!(serde_json::to_value(edition).expect("serialises"), edition.name());
        }
        for feature in Feature::ALL {
            assert_eq!(serde_json::to_value(feature).expect("serialises"), feature.name());
        }
    }
}
