//! The suite `properties`: the rules on single properties.

mod changes;
mod cluster_properties;
mod member;
mod reachable;
mod values;

pub(in crate::rules) use changes::{
    cluster_id, clusterset, clusterset_replaced, location, observed_time_not_ahead, observed_time_not_back,
};
pub(in crate::rules) use cluster_properties::{
    cluster_properties_propagated, cluster_properties_verbatim, honours_only_labelled,
};
pub(in crate::rules) use member::{custom_resource_groups_match_member, node_count_matches_member};
pub(in crate::rules) use reachable::cluster_endpoints_reachable;
pub(in crate::rules) use values::{
    cluster_endpoints_are_a_list, cluster_endpoints_present, cluster_endpoints_well_formed,
    cluster_id_well_formed, custom_resource_groups_well_formed, metrics_endpoints_well_formed,
    node_count_well_formed, node_types_well_formed, well_known_spelling,
};
