//! The kinds of evidence that a dump holds, and a note on unknown versions.

use std::collections::{BTreeMap, BTreeSet};

use super::NO_AUDIT_LOG;
use crate::{Asked, Kind, api::names};

#[derive(Default)]
pub(super) struct DumpContents {
    pub namespaces: bool,
    pub slices: bool,
    pub secrets: bool,
    pub unlabelled_secrets: bool,
    pub writers: bool,
}

impl DumpContents {
    /// The kinds of evidence that the dump has, and what to add for the others.
    pub fn asked(&self, has_profiles: bool) -> BTreeMap<Kind, Asked> {
        const NO_TIMELINE: &str = "a dump has no timeline: observe a hub, or judge an evidence file";
        // An inventory without profiles is one; a dump of decisions alone says nothing of profiles.
        let has_inventory = !self.slices || has_profiles;
        let kinds = [
            (
                Kind::Inventory,
                has_inventory,
                "the dump holds no ClusterProfiles: add `kubectl get clusterprofiles -A -o yaml`",
            ),
            (
                Kind::PlacementDecisions,
                self.slices,
                "the dump holds no PlacementDecisions: add `kubectl get placementdecisions -A -o yaml`",
            ),
            (
                Kind::Namespaces,
                self.namespaces,
                "the dump holds no Namespaces: add `kubectl get namespaces -o yaml`",
            ),
            (
                Kind::Secrets,
                self.secrets,
                "the dump holds no Secrets: add `kubectl get secrets -A -l x-k8s.io/cluster-profile -o yaml`",
            ),
            (
                Kind::UnlabelledSecrets,
                self.unlabelled_secrets,
                "the dump holds no Secret without the label x-k8s.io/cluster-profile",
            ),
            (
                Kind::Writers,
                self.writers,
                "the dump was made without managedFields: add --show-managed-fields",
            ),
            (Kind::Timeline, false, NO_TIMELINE),
            (Kind::PlacementTimeline, false, NO_TIMELINE),
            (
                Kind::Probe,
                false,
                "a dump cannot answer dry runs: run against the hub",
            ),
            (
                Kind::Members,
                false,
                "a dump has no answers of members: run against the hub",
            ),
            (
                Kind::Driver,
                false,
                "a dump cannot run a driver: run against the hub",
            ),
        ];
        let asked = |(kind, is_included, reason): (_, bool, &'static str)| {
            let asked = if is_included {
                Asked::Yes
            } else {
                Asked::No(reason.into())
            };
            (kind, asked)
        };
        let requests = (Kind::Requests, Asked::No(NO_AUDIT_LOG));
        kinds.into_iter().map(asked).chain([requests]).collect()
    }
}

/// A note on the versions of the API that the suite does not know, if there are any.
pub(super) fn unknown_versions(versions: &BTreeSet<String>, kind: &str) -> Option<String> {
    const SHOWN: usize = 3;
    const LONGEST: usize = 63;
    let unknown = versions
        .iter()
        .filter(|version| !names::VERSIONS.contains(&version.as_str()));
    let listed: Vec<String> = unknown
        .take(SHOWN)
        .map(|version| version.chars().take(LONGEST).collect())
        .collect();
    (!listed.is_empty()).then(|| {
        format!(
            "{kind}s are read as {}: this suite does not know their version {}",
            names::VERSIONS[0],
            listed.join(", ")
        )
    })
}
