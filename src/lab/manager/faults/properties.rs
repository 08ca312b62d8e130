//! Faults of the suite `properties`.

use super::registry::FaultInfo;
use crate::api::names::{PROPERTY_ENDPOINTS, PROPERTY_LOCATION};
use crate::lab::manager::members::QUIET;
use crate::lab::manager::script::minutes;
use crate::lab::manager::world::World;

pub(super) const FAULTS: &[FaultInfo] = &[
    FaultInfo::new(
        "properties/cluster-endpoints-present",
        "publishes a profile without endpoints",
        |world| {
            let properties = &mut world.profile(QUIET).status.properties;
            properties.retain(|property| property.name != PROPERTY_ENDPOINTS);
        },
    ),
    FaultInfo::new(
        "properties/cluster-endpoints-well-formed",
        "publishes an endpoint that is no address",
        |world| endpoints(world, r#"["lisbon.clusters.example:6443","ask the admin"]"#),
    ),
    FaultInfo::new(
        "properties/cluster-endpoints-well-formed:empty",
        "publishes an empty list of endpoints",
        |world| endpoints(world, "[]"),
    ),
    FaultInfo::new(
        "properties/cluster-endpoints-are-a-list",
        "publishes an endpoint as it is, not as a list",
        |world| endpoints(world, "lisbon.clusters.example:6443"),
    ),
    FaultInfo::new(
        "properties/cluster-endpoints-are-a-list:commas",
        "publishes endpoints between commas",
        |world| endpoints(world, "lisbon.clusters.example:6443,192.0.2.11:6443"),
    ),
    FaultInfo::new(
        "properties/location-immutable",
        "changes a member's location",
        |world| {
            world.observe(minutes(4), QUIET, |status, _| {
                status.set_value(PROPERTY_LOCATION, "europe-west4");
            });
        },
    ),
];

/// Sets the endpoints of the quiet member.
fn endpoints(world: &mut World, value: &str) {
    world.profile(QUIET).status.set_value(PROPERTY_ENDPOINTS, value);
}
