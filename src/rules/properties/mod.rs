//! The suite `properties`: what the documents say of single properties.

mod cluster_properties;
mod endpoints;
mod location;
mod member;
mod reachable;

pub(super) use cluster_properties::{
    cluster_properties_propagated, cluster_properties_verbatim, honours_only_labelled,
};
pub(super) use endpoints::{
    cluster_endpoints_are_a_list, cluster_endpoints_present, cluster_endpoints_well_formed,
};
pub(super) use location::location_immutable;
pub(super) use member::{custom_resource_groups_match_member, node_count_matches_member};
pub(super) use reachable::cluster_endpoints_reachable;
