//! What the profiles that were seen tell of the evidence.

use std::collections::BTreeSet;

use evidence::{Asked, Evidence, ProfileHistory, Shard, Share};

/// Whether managedFields were seen. Without profiles, nothing speaks against it.
pub(crate) fn asked_for_writers(profiles: &[ProfileHistory]) -> Asked {
    let has_writers = |history: &ProfileHistory| history.last().metadata.writers.is_some();
    if profiles.is_empty() || profiles.iter().any(has_writers) {
        Asked::Yes
    } else {
        Asked::No("the hub showed no managedFields".into())
    }
}

/// The share that the evidence holds.
pub(crate) fn share(shard: Shard, evidence: &Evidence) -> Share {
    let profiles = evidence.profiles.iter();
    let profiles = profiles.map(|history| &*history.last().metadata.namespace);
    let slices = evidence.slices.iter();
    let slices = slices.map(|history| &*history.last().metadata.namespace);
    let namespaces: BTreeSet<&str> = profiles.chain(slices).collect();
    Share {
        shard,
        namespaces: namespaces.into_iter().map(str::to_owned).collect(),
        window: evidence.header.window,
        settled: evidence.header.settled,
    }
}
