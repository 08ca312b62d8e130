//! The suite `clustersets`: inventories that represent ClusterSets (KEP-4322 › Notes › How should we organize
//! ClusterProfile objects on a hub cluster?).

mod inventory;
mod label;
mod member;
mod profile;

pub(super) use inventory::kind_of_profile;
pub(super) use label::namespace_labelled;
pub(super) use member::{one_set_per_cluster, ties_of_cluster};
pub(super) use profile::one_set_per_namespace;
