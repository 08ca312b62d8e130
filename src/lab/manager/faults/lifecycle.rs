//! Faults of the suite `lifecycle`.

use super::fault::FaultInfo;
use crate::manager::driven::Lapse;

pub(super) const FAULTS: &[FaultInfo] = &[
    FaultInfo::new(
        "lifecycle/join-creates-profile",
        "gives a member two profiles",
        |world| world.lapses.add(Lapse::CreatesTwice),
    )
    .driven(),
    FaultInfo::new(
        "lifecycle/join-creates-profile:late",
        "creates the profile of a member minutes after it joined",
        |world| world.lapses.add(Lapse::CreatesLate),
    )
    .driven()
    // Of a profile that is not there, nothing else can be told.
    .hides(&[
        "lifecycle/join-fills-status",
        "lifecycle/leave-retires-profile",
        "conditions/joined-follows-leave",
        "consumers/secrets-retired",
    ]),
    FaultInfo::new(
        "lifecycle/join-fills-status",
        "fills the status of a member's profile minutes after it joined",
        |world| world.lapses.add(Lapse::FillsLate),
    )
    .driven(),
    FaultInfo::new(
        "lifecycle/leave-retires-profile",
        "leaves the profile of a member that left as it is for minutes",
        |world| world.lapses.add(Lapse::ForgetsLeave),
    )
    .driven()
    // Healthy and joined are what the profile said, and goes on to say.
    .also(&["conditions/joined-follows-leave"]),
    FaultInfo::new(
        "lifecycle/deleted-profile-restored",
        "creates a profile once, and does not miss it",
        |world| world.lapses.add(Lapse::CreatesOnce),
    )
    .driven(),
    FaultInfo::new(
        "lifecycle/status-restored",
        "takes what it wrote of a status last for what is there",
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
];
