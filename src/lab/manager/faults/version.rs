//! Faults of the suite `version`.

use super::fault::FaultInfo;
use crate::manager::{
    driven::Misbehaviour,
    members::{QUIET, UNASKED, UPGRADED},
    script::Action,
    world::World,
};

pub(super) const FAULTS: &[FaultInfo] = &[
    FaultInfo::new(
        "version/reported",
        "never reports the version of a healthy member",
        |world| world.profile(QUIET).status.kubernetes = None,
    )
    // A healthy member is joined, and a joined member's status has a version.
    .also(&["conditions/status-follows-joined"]),
    FaultInfo::new(
        "version/well-formed",
        "reports major and minor instead of the version",
        |world| version(world, UNASKED, "1.34+"),
    ),
    FaultInfo::new(
        "version/well-formed:words",
        "reports the version in words",
        |world| version(world, UNASKED, "Kubernetes v1.34.2"),
    ),
    FaultInfo::new(
        "version/matches-member",
        "reports the version of some nodes instead of the API server's",
        |world| version(world, QUIET, "v1.34.1"),
    ),
    FaultInfo::new(
        "version/matches-member:upgrade",
        "never looks at a version again",
        |world| {
            // The member itself is still upgraded.
            world
                .script
                .retain(|step| step.member != UPGRADED || !matches!(step.action, Action::Observe(_)));
        },
    ),
    FaultInfo::new(
        "version/follows-upgrade",
        "asks a member for its version once, when it joins",
        |world| world.misbehaviours.add(Misbehaviour::AsksOnce),
    )
    .driven(),
];

/// Sets the version in a member's profile.
fn version(world: &mut World, member: &str, version: &str) {
    world.profile(member).status.kubernetes = Some(version.to_owned());
}
