//! Objects of the run under names that the consumer would give to what it makes.

use std::collections::BTreeSet;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::OutputReader;

/// An object that the run created under the name that the consumer would give to what it makes of a profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "NameConflict")]
pub struct TakenName {
    /// How the consumer's own objects are read.
    pub reader: OutputReader,
    /// The object, as `Kind namespace/name`.
    pub object: String,
    /// The name of the profile that was published afterwards.
    pub profile: String,
    /// When the run looked at the object, and what it found, in the order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(rename = "samples")]
    pub looks: Vec<TakenNameLook>,
}

/// One look at such an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "NameConflictSample")]
pub struct TakenNameLook {
    /// When, by the runner's clock.
    #[schemars(with = "crate::json_schema::Time")]
    pub at: Timestamp,
    /// What was found.
    #[serde(rename = "state")]
    pub found: TakenNameFound,
}

/// What was found under such a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "NameConflictState")]
pub enum TakenNameFound {
    /// The object as the run created it; labels and annotations may have come to it.
    Unchanged {},
    /// Another content, or another object.
    Changed {
        /// The URLs of staged members that it names.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        servers: BTreeSet<String>,
        /// Whether a staged profile owns it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        owned: bool,
        /// Whether it is another object: that of the run was deleted before.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        replaced: bool,
    },
    /// Nothing.
    #[serde(rename = "deleted")]
    Gone {},
}
