//! The CustomResourceDefinitions of the kinds that the suite knows, in our own words.
//!
//! They accept and refuse what the published ones do, so that the lab and a scratch API server judge writes as a
//! real hub would. The facts come from the API's Go types and the definitions generated from them:
//!
//! * ClusterProfile `v1alpha1` equals the published definition of release v0.1.
//! * ClusterProfile `v1alpha2` is **derived**: its Go types (release v0.2, in
//!   `apis/v1alpha2/clusterprofile_types.go` of kubernetes-sigs/cluster-inventory-api) are known, the definition
//!   that controller-gen makes of them was not at hand. Each validation marker of the types stands here, translated
//!   as controller-gen translates it; `v1alpha1` stays the storage version, as the release notes say.
//! * ClusterProperty (About API, KEP-2149) equals the published definition that serves `v1alpha1` and stores
//!   `v1beta1`.
//!
//! Descriptions are ours. The YAML under `fixtures/crds/` is made from here: `just crds` renews it.

mod all;
mod cluster_profile;
mod cluster_property;
mod definition;
mod schema;

pub use all::all;
pub use cluster_profile::cluster_profile;
pub use cluster_property::cluster_property;
pub use definition::to_yaml;

#[cfg(test)]
mod tests;
