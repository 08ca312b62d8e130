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

pub(super) use about::{cluster_id_stable, cluster_id_well_formed, clusterset_immutable};
pub(super) use cluster_properties::{
    cluster_properties_propagated, cluster_properties_verbatim, honours_only_labelled,
};
pub(super) use endpoints::{
    cluster_endpoints_are_a_list, cluster_endpoints_present, cluster_endpoints_well_formed,
};
pub(super) use groups::custom_resource_groups_well_formed;
pub(super) use location::location_immutable;
pub(super) use member::{custom_resource_groups_match_member, node_count_matches_member};
pub(super) use metrics::metrics_endpoints_well_formed;
pub(super) use nodes::{node_count_well_formed, node_types_well_formed};
pub(super) use observed::observed_time_sane;
pub(super) use reachable::cluster_endpoints_reachable;
pub(super) use spelling::well_known_spelling;
