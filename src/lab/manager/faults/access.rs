//! Faults of the suite `access`.

use super::registry::FaultInfo;
use crate::lab::manager::members::{QUIET, QUIET_IN_SET};
use crate::lab::manager::world::World;

pub(super) const FAULTS: &[FaultInfo] = &[
    FaultInfo::new(
        "access/plugin-yields-credential",
        "tells the credential plugin of a cluster that it does not know",
        |world| cluster(world, "atlantis"),
    ),
    FaultInfo::new(
        "access/plugin-yields-credential:another",
        "tells the credential plugin of another cluster",
        |world| cluster(world, QUIET_IN_SET),
    ),
];

/// Has the plugin look for the quiet member under that name.
fn cluster(world: &mut World, name: &str) {
    for access in &mut world.profile(QUIET).status.access {
        access.cluster = name.to_owned();
    }
}
