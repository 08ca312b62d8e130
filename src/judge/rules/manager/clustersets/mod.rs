//! The suite `clustersets`: inventories that represent ClusterSets (KEP-4322 › Notes › How should we organize
//! ClusterProfile objects on a hub cluster?).

mod inventory;
mod label;
mod member;
mod profile;

pub(in crate::rules) use label::namespace_labelled;
pub(in crate::rules) use member::one_set_per_cluster;
pub(in crate::rules) use profile::one_set_per_namespace;
