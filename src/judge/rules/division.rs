//! By what the evidence of a rule may be divided, so that what the parts give can be added
//! ([`Findings::absorb`](super::Findings)).
//!
//! A rule that is named nowhere here is judged by all of its evidence at once. A test judges each example of all rules in
//! parts, and compares.

use evidence::{Evidence, Kind, ProfileHistory};

use super::{access, clustersets, identity, registry::Rule, same_cluster::digest, updates};

/// By what the evidence of a rule may be divided.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Division {
    /// Each profile can be judged without the others, with all of its lives ([`ties_of_lives`]).
    Profiles,
    /// Profiles that are tied must be judged together.
    Ties(TiesOf),
    /// All must be judged together, but of profiles that are alike one is enough.
    Kinds(KindOf),
    /// All must be judged together.
    Whole,
}

/// The ties of a profile. The evidence holds at least the profile, its namespace and the header.
pub(crate) type TiesOf = fn(&Evidence, &ProfileHistory) -> Vec<Tie>;

/// Of which kind a profile is; none if it does not matter.
pub(crate) type KindOf = fn(&Evidence, &ProfileHistory) -> Option<Alike>;

/// What may tie a profile to others: those with the same key are tied unless all of them say the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tie {
    /// A digest of what they have in common.
    pub(crate) key: u64,
    /// A digest of what the profile says there; none if it differs from what any other says.
    pub(crate) says: Option<u64>,
}

/// What a profile contributes to a verdict on all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Alike {
    /// What each other profile with this digest contributes, too.
    To(u64),
    /// Something of its own, so that all profiles must be judged.
    None,
}

impl Tie {
    /// A tie to all others with that key.
    pub(crate) fn to_all(key: u64) -> Self {
        Self { key, says: None }
    }
}

impl Rule {
    /// By what this evidence may be divided.
    pub(crate) fn division(&self, evidence: &Evidence) -> Division {
        let facts = &self.facts;
        let kinds = || {
            facts
                .needs
                .iter()
                .chain(&facts.needs_one_of)
                .chain(&facts.helped_by)
        };
        let reads = |kind: Kind| kinds().any(|read| *read == kind);
        // What is not of one profile cannot be divided among them.
        let is_undivided = (reads(Kind::Requests) && evidence.requests.is_some())
            || (reads(Kind::Probe) && !evidence.probes.is_empty());
        if is_undivided {
            Division::Whole
        } else {
            division(self.id)
        }
    }
}

/// Ties the lives of one profile, which may be deleted and made again.
pub(crate) fn ties_of_lives(_: &Evidence, history: &ProfileHistory) -> Vec<Tie> {
    let metadata = &history.last().metadata;
    vec![Tie::to_all(digest((&metadata.namespace, &metadata.name)))]
}

fn division(id: &str) -> Division {
    match id {
        "identity/manager-label-present"
        | "identity/manager-label-matches"
        | "identity/manager-label-from-creation"
        | "identity/manager-name-usable"
        | "identity/manager-immutable"
        | "identity/name-follows-guidance"
        | "identity/member-id-non-empty"
        | "identity/member-id-set"
        | "identity/member-id-stable"
        | "clustersets/one-set-per-namespace"
        | "version/reported"
        | "version/well-formed"
        | "properties/cluster-endpoints-present"
        | "properties/cluster-endpoints-well-formed"
        | "properties/cluster-endpoints-are-a-list"
        | "properties/location-immutable"
        | "properties/node-count-well-formed"
        | "properties/node-types-well-formed"
        | "properties/metrics-endpoints-well-formed"
        | "properties/custom-resource-groups-well-formed"
        | "properties/observed-time-sane"
        | "properties/well-known-spelling"
        | "conditions/control-plane-healthy-reported"
        | "conditions/joined-reported"
        | "conditions/well-formed"
        | "conditions/transition-time-kept"
        | "conditions/transition-time-moves"
        | "conditions/observed-generation-not-ahead"
        | "conditions/healthy-needs-joined"
        | "conditions/status-follows-joined"
        | "conditions/not-flapping"
        | "access/provider-named"
        | "access/server-is-url"
        | "access/ca-data-is-certificates"
        | "access/ca-data-current"
        | "access/no-secrets"
        | "access/no-local-paths"
        | "access/server-told"
        | "access/not-environment-specific"
        | "access/tls-verified"
        | "access/exec-extension-well-formed"
        | "access/additional-args-well-formed"
        | "access/additional-envs-well-formed"
        | "access/proxy-url-well-formed"
        | "access/not-deprecated-only"
        | "updates/status-writes-within-budget"
        | "updates/average-rate"
        | "updates/writes-within-burst"
        | "updates/status-by-subresource"
        | "updates/no-dynamic-data" => Division::Profiles,
        "identity/manager-unique" => Division::Ties(identity::ties_of_manager),
        "identity/one-manager-per-profile" => Division::Ties(identity::ties_of_writers),
        "identity/name-unique" => Division::Ties(identity::ties_of_name),
        "identity/one-profile-per-cluster" => Division::Ties(identity::ties_of_cluster),
        "identity/member-id-unique" | "identity/member-id-no-tie" => {
            Division::Ties(identity::ties_of_member_id)
        }
        "clustersets/one-set-per-cluster" => Division::Ties(clustersets::ties_of_cluster),
        "clustersets/namespace-labelled" => Division::Kinds(clustersets::kind_of_profile),
        "access/portable" => Division::Ties(access::ties_of_settings),
        "updates/distinct-appliers" => Division::Ties(updates::ties_of_appliers),
        _ => Division::Whole,
    }
}
