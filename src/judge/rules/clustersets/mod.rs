//! The suite `clustersets`: inventories that represent ClusterSets (KEP-4322 › Notes › How should we organize
//! ClusterProfile objects on a hub cluster?).

mod inventory;
mod label;
mod member;
mod profile;

pub(super) use label::namespace_labelled;
pub(super) use member::one_set_per_cluster;
pub(super) use profile::one_set_per_namespace;
