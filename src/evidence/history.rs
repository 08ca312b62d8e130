//! The history of a profile.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::ClusterProfile;

/// One profile (one uid) in every version seen, oldest first. Never empty.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProfileHistory {
    /// How the run first saw it.
    pub origin: Origin,
    /// The versions. They share the parts that did not change.
    pub versions: Vec<Version>,
    /// When the run saw that it was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted: Option<Timestamp>,
}

/// One version of a profile, and when the runner received it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Version {
    /// When the runner received it, by the runner's clock.
    pub at: Timestamp,
    /// The profile.
    pub profile: ClusterProfile,
}

/// How the run first saw a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Origin {
    /// It was in the first list.
    Listed,
    /// The watch reported its creation, so its first version is the one created.
    Created,
    /// It was in a later list, after the watch had been lost. Earlier versions may be missing.
    Relisted,
}

impl ProfileHistory {
    /// The last version seen.
    pub fn last(&self) -> &ClusterProfile {
        &self
            .versions
            .last()
            .expect("a history holds at least one version")
            .profile
    }

    /// The first version seen.
    pub fn first(&self) -> &ClusterProfile {
        &self
            .versions
            .first()
            .expect("a history holds at least one version")
            .profile
    }

    /// The last version, unless the profile was deleted.
    pub fn current(&self) -> Option<&ClusterProfile> {
        self.deleted.is_none().then(|| self.last())
    }

    /// Each version with the one before it.
    pub fn steps(&self) -> impl Iterator<Item = (&Version, &Version)> {
        self.versions.windows(2).map(|pair| (&pair[0], &pair[1]))
    }
}
