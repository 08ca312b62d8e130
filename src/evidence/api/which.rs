//! The APIs of the inventory that the suite judges.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Edition, UnknownName};

/// An API with documents and rules of its own. Both are of the group [`GROUP`](super::names::GROUP).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Api {
    /// ClusterProfile (KEP-4322): cluster managers describe their members.
    #[default]
    ClusterProfile,
    /// PlacementDecision (KEP-5313): schedulers publish which members they selected.
    Placement,
}

impl Api {
    /// All APIs.
    pub const ALL: [Api; 2] = [Api::ClusterProfile, Api::Placement];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Api::ClusterProfile => "clusterprofile",
            Api::Placement => "placement",
        }
    }

    /// The kind of its objects.
    pub fn kind(self) -> &'static str {
        match self {
            Api::ClusterProfile => super::names::KIND,
            Api::Placement => super::names::PLACEMENT_KIND,
        }
    }

    /// The plural of its objects, as in request paths.
    pub fn plural(self) -> &'static str {
        match self {
            Api::ClusterProfile => super::names::PLURAL,
            Api::Placement => super::names::PLACEMENT_PLURAL,
        }
    }

    /// The edition to judge by if the user names none.
    pub fn default_edition(self) -> Edition {
        match self {
            Api::ClusterProfile => Edition::Standard,
            Api::Placement => Edition::Placement2025M09,
        }
    }

    /// Its editions, oldest first.
    pub fn editions(self) -> impl Iterator<Item = Edition> {
        Edition::ALL
            .into_iter()
            .filter(move |edition| edition.api() == self)
    }
}

impl FromStr for Api {
    type Err = UnknownName;

    fn from_str(given: &str) -> Result<Self, UnknownName> {
        Self::ALL
            .into_iter()
            .find(|api| api.name() == given)
            .ok_or_else(|| UnknownName::among("API", given, Self::ALL.map(Self::name)))
    }
}

impl fmt::Display for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
