//! Faults of the suite `lifecycle`.

use super::fault::FaultInfo;
use crate::manager::driven::Lapse;

pub(super) const FAULTS: &[FaultInfo] = &[
    FaultInfo::new(
        "lifecycle/join-creates-profile",
        "creates the profile of a member minutes after it joined",
        |world| world.lapses.add(Lapse::CreatesLate),
    )
    .driven()
    // Nothing else can be judged of a missing profile.
    .hides(&[
        "lifecycle/join-fills-status",
        "conditions/joined-follows-leave",
        "consumers/secrets-retired",
    ]),
    FaultInfo::new(
        "lifecycle/join-creates-profile:twice",
        "gives a member two profiles",
        |world| world.lapses.add(Lapse::CreatesTwice),
    )
    .driven(),
    FaultInfo::new(
        "lifecycle/join-fills-status",
        "fills the status of a member's profile minutes after it joined",
        |world| world.lapses.add(Lapse::FillsLate),
    )
    // The member leaves about as long after it joined as their grace is.
    .hides(&[
        "properties/cluster-endpoints-present",
        "conditions/control-plane-healthy-reported",
        "conditions/joined-reported",
    ])
    .driven(),
    FaultInfo::new(
        "lifecycle/deleted-profile-restored",
        "creates a profile once, and does not miss it",
        |world| world.lapses.add(Lapse::CreatesOnce),
    )
    .driven(),
    FaultInfo::new(
        "lifecycle/status-restored",
        "assumes that a status is what it last wrote",
        |world| world.lapses.add(Lapse::TrustsItsMemory),
    )
    .driven(),
    FaultInfo::new(
        "lifecycle/label-restored",
        "sets the manager label once, and does not miss it",
        |world| world.lapses.add(Lapse::LabelsOnce),
    )
    .driven(),
    FaultInfo::new(
        "lifecycle/foreign-profiles-untouched",
        "puts its label on every profile that it finds beside its own",
        |world| world.lapses.add(Lapse::Claims),
    )
    .driven(),
    FaultInfo::new(
        "lifecycle/foreign-profiles-untouched:deleted",
        "deletes the profiles that it does not know",
        |world| world.lapses.add(Lapse::Tidies),
    )
    .driven(),
    FaultInfo::new(
        "lifecycle/restart-keeps-profiles",
        "creates all profiles anew when it starts",
        |world| world.lapses.add(Lapse::Recreates),
    )
    .driven(),
    FaultInfo::new(
        "lifecycle/heal-restores-status",
        "publishes no number of nodes after a member was down",
        |world| world.lapses.add(Lapse::ForgetsNodes),
    )
    .driven(),
];
