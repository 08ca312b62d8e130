//! The suite `properties`: what the documents say of single properties.

mod endpoints;
mod location;

pub(super) use endpoints::{
    cluster_endpoints_are_a_list, cluster_endpoints_present, cluster_endpoints_well_formed,
};
pub(super) use location::location_immutable;
