//! The CustomResourceDefinitions that the suite installs, with descriptions of our own.
//!
//! They accept and refuse the same objects as the published ones, so that the lab's hubs judge writes as others do. The
//! facts come from the API's Go types and the definitions generated from them:
//!
//! * ClusterProfile `v1alpha1` equals the published definition of release v0.1.
//! * ClusterProfile `v1alpha2` is **derived**: its Go types (release v0.2, in
//!   `apis/v1alpha2/clusterprofile_types.go` of kubernetes-sigs/cluster-inventory-api) are known, the definition
//!   that controller-gen generates was not available. Each validation marker of the types is translated as
//!   controller-gen does; `v1alpha1` stays the storage version, as the release notes say.
//! * PlacementDecision `v1alpha1` equals the published definition of release v0.1, in the category `multicluster` besides.
//! * PlacementDecision `v1alpha2` is **derived** from its Go types in the same way (`apis/v1alpha2/placementdecision_types.go`).
//! * ClusterProperty (About API, KEP-2149) equals the published definition that serves `v1alpha1` and stores
//!   `v1beta1`.
//!
//! Where the types ask CEL's `format` library for a name, these definitions match it with that library's expression:
//! only Kubernetes 1.32 and newer compile rules with `format`.
//!
//! `just crds` writes the YAML under `fixtures/crds/` from here.

mod all;
mod cluster_profile;
mod cluster_property;
mod definition;
mod lax;
mod placement_decision;
mod schema;

pub use all::all;
pub use cluster_profile::cluster_profile;
pub use cluster_property::cluster_property;
pub use definition::to_yaml;
pub use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
pub use lax::lax;
pub use placement_decision::placement_decision;

#[cfg(test)]
mod tests;
