//! Which kinds of evidence a dump has, and what to add for the others.

use std::collections::BTreeMap;

use super::super::NO_AUDIT_LOG;
use crate::{Asked, Kind};

/// What a dump holds beside profiles.
#[derive(Default)]
pub(super) struct Held {
    pub namespaces: bool,
    pub slices: bool,
    pub secrets: bool,
    pub unlabelled_secrets: bool,
    pub writers: bool,
}

impl Held {
    /// The kinds of evidence that the dump has.
    pub fn asked(&self, has_profiles: bool) -> BTreeMap<Kind, Asked> {
        let no = |reason: &'static str| Asked::No(reason.into());
        let yes_if = |held: bool, reason: &'static str| if held { Asked::Yes } else { no(reason) };
        BTreeMap::from([
            (
                Kind::Inventory,
                // An inventory without profiles is one; a dump of decisions alone says nothing of profiles.
                yes_if(
                    !self.slices || has_profiles,
                    "the dump holds no ClusterProfiles: add `kubectl get clusterprofiles -A -o yaml`",
                ),
            ),
            (
                Kind::PlacementDecisions,
                yes_if(
                    self.slices,
                    "the dump holds no PlacementDecisions: add `kubectl get placementdecisions -A -o yaml`",
                ),
            ),
            (
                Kind::Namespaces,
                yes_if(
                    self.namespaces,
                    "the dump holds no Namespaces: add `kubectl get namespaces -o yaml`",
                ),
            ),
            (
                Kind::Secrets,
                yes_if(
                    self.secrets,
                    "the dump holds no Secrets: add `kubectl get secrets -A -l x-k8s.io/cluster-profile -o yaml`",
                ),
            ),
            (
                Kind::UnlabelledSecrets,
                yes_if(
                    self.unlabelled_secrets,
                    "the dump holds no Secret without the label x-k8s.io/cluster-profile",
                ),
            ),
            (
                Kind::Writers,
                yes_if(
                    self.writers,
                    "the dump was made without managedFields: add --show-managed-fields",
                ),
            ),
            (
                Kind::Timeline,
                no("a dump has no timeline: observe a hub, or judge an evidence file"),
            ),
            (
                Kind::PlacementTimeline,
                no("a dump has no timeline: observe a hub, or judge an evidence file"),
            ),
            (Kind::Requests, Asked::No(NO_AUDIT_LOG)),
            (
                Kind::Probe,
                no("a dump cannot answer dry runs: run against the hub"),
            ),
            (
                Kind::Members,
                no("a dump has no answers of members: run against the hub"),
            ),
            (
                Kind::Driver,
                no("a dump cannot run a driver: run against the hub"),
            ),
        ])
    }
}
