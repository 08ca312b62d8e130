//! Faults of the suite `version`.

use super::registry::FaultInfo;
use crate::lab::manager::driven::Lapse;
use crate::lab::manager::members::{QUIET, UPGRADED};
use crate::lab::manager::script::Action;

pub(super) const FAULTS: &[FaultInfo] = &[
    FaultInfo::new(
        "version/matches-member",
        "tells the version of some nodes, not that of the API server",
        |world| world.profile(QUIET).status.kubernetes = Some("v1.34.1".to_owned()),
    ),
    FaultInfo::new(
        "version/matches-member:upgrade",
        "never looks at a version again",
        |world| {
            // The member is upgraded all the same.
            world
                .script
                .retain(|step| step.member != UPGRADED || !matches!(step.action, Action::Observe(_)));
        },
    ),
    FaultInfo::new(
        "version/follows-upgrade",
        "asks a member for its version once, when it joins",
        |world| world.lapses.add(Lapse::AsksOnce),
    )
    .driven(),
];
