//! Faults of the suite `placement-labels`.

use apiserver::new_token;

use super::fault::FaultInfo;
use crate::scheduler::{script::minutes, world::FEW};

pub(super) const FAULTS: &[FaultInfo] = &[
    FaultInfo::new(
        "placement-labels/scheduler-named",
        "does not name itself in a decision",
        |world| world.edit(FEW, |slices| slices[0].scheduler = None),
    ),
    FaultInfo::new(
        "placement-labels/scheduler-stable",
        "takes another name after a while",
        |world| {
            world.edit_over_time(FEW, |slices, elapsed| {
                if elapsed >= minutes(4) {
                    slices[0].scheduler = Some("reference-scheduler-v2".to_owned());
                }
            });
        },
    ),
    FaultInfo::new(
        "placement-labels/no-unknown-multicluster-labels",
        "sets the label of an older draft",
        |world| {
            world.edit(FEW, |slices| {
                slices[0].label("multicluster.x-k8s.io/placement", FEW)
            })
        },
    ),
    FaultInfo::new(
        "placement-labels/reason-is-public",
        "repeats a bearer token in the reason of a decision",
        |world| {
            let reason = format!("selected by Authorization: Bearer {}", new_token());
            world.edit(FEW, move |slices| {
                for decision in slices[0].decisions.iter_mut().flatten() {
                    decision.reason = Some(reason.clone());
                }
            });
        },
    ),
];
