//! Faults of the suite `version`.

use super::fault::FaultInfo;
use crate::manager::{
    driven::Misbehaviour,
    members::{QUIET, UPGRADED},
    script::Action,
};

pub(super) const FAULTS: &[FaultInfo] = &[
    FaultInfo::new(
        "version/matches-member",
        "reports the version of some nodes instead of the API server's",
        |world| world.profile(QUIET).status.kubernetes = Some("v1.34.1".to_owned()),
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
