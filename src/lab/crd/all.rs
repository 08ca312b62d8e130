//! Lists the definitions.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use super::{
    cluster_profile::cluster_profile, cluster_property::cluster_property,
    placement_decision::placement_decision,
};

/// Every definition that the suite can install, in the order in which `crd` prints them.
pub fn all() -> Vec<CustomResourceDefinition> {
    vec![cluster_profile(), placement_decision(), cluster_property()]
}
