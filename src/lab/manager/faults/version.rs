//! Faults of the suite `version`.

use super::registry::FaultInfo;
use crate::lab::manager::members::QUIET;
use crate::lab::manager::world::World;

pub(super) const FAULTS: &[FaultInfo] = &[
    FaultInfo::new(
        "version/reported",
        "never tells the version of a healthy member",
        |world| world.profile(QUIET).status.kubernetes = None,
    )
    // A member that is healthy is joined, and a joined member's status has a version.
    .also(&["conditions/status-follows-joined"]),
    FaultInfo::new(
        "version/well-formed",
        "tells major and minor in place of the version",
        |world| version(world, "1.34+"),
    ),
    FaultInfo::new(
        "version/well-formed:words",
        "tells the version in words",
        |world| version(world, "Kubernetes v1.34.2"),
    ),
];

/// Sets the version of the quiet member.
fn version(world: &mut World, version: &str) {
    world.profile(QUIET).status.kubernetes = Some(version.to_owned());
}
