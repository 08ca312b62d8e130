//! A profile over time.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::ClusterProfile;

/// One profile (one uid) in every version that was seen, oldest first. Never empty.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProfileHistory {
    /// How it came into view.
    pub origin: Origin,
    /// The versions; parts that did not change are shared between them.
    pub versions: Vec<Version>,
    /// When it was seen to be gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted: Option<Timestamp>,
}

/// One version of a profile, and when the runner saw it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Version {
    /// When it reached the runner, by the runner's clock.
    pub at: Timestamp,
    /// The profile.
    pub profile: ClusterProfile,
}

/// How a profile came into view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Origin {
    /// It was there when the runner first looked.
    Listed,
    /// The watch told of its creation: its first version is the one that it was created with.
    Created,
    /// It turned up in a later list, after the watch had been lost: earlier versions may have been missed.
    Relisted,
}

impl ProfileHistory {
    /// The last version that was seen.
    pub fn last(&self) -> &ClusterProfile {
        &self
            .versions
            .last()
            .expect("a history holds at least one version")
            .profile
    }

    /// The first version that was seen.
    pub fn first(&self) -> &ClusterProfile {
        &self
            .versions
            .first()
            .expect("a history holds at least one version")
            .profile
    }

    /// The last version, unless the profile is gone.
    pub fn current(&self) -> Option<&ClusterProfile> {
        self.deleted.is_none().then(|| self.last())
    }

    /// Each version with the one before it.
    pub fn steps(&self) -> impl Iterator<Item = (&Version, &Version)> {
        self.versions.windows(2).map(|pair| (&pair[0], &pair[1]))
    }
}
