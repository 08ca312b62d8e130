//! The suite `properties`: the rules on single properties.

mod about;
mod cluster_properties;
mod endpoints;
mod groups;
mod location;
mod member;
mod metrics;
mod nodes;
mod observed;
mod reachable;
mod spelling;
mod values;

pub(in crate::rules) use about::{cluster_id_stable, cluster_id_well_formed, clusterset_immutable};
pub(in crate::rules) use cluster_properties::{
    cluster_properties_propagated, cluster_properties_verbatim, honours_only_labelled,
};
pub(in crate::rules) use endpoints::{
    cluster_endpoints_are_a_list, cluster_endpoints_present, cluster_endpoints_well_formed,
};
pub(in crate::rules) use groups::custom_resource_groups_well_formed;
pub(in crate::rules) use location::location_immutable;
pub(in crate::rules) use member::{custom_resource_groups_match_member, node_count_matches_member};
pub(in crate::rules) use metrics::metrics_endpoints_well_formed;
pub(in crate::rules) use nodes::{node_count_well_formed, node_types_well_formed};
pub(in crate::rules) use observed::observed_time_sane;
pub(in crate::rules) use reachable::cluster_endpoints_reachable;
pub(in crate::rules) use spelling::well_known_spelling;
