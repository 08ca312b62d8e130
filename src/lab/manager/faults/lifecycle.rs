//! Faults of the suite `lifecycle`.

use super::fault::FaultInfo;
use crate::manager::driven::Misbehaviour;

pub(super) const FAULTS: &[FaultInfo] = &[
    FaultInfo::new(
        "lifecycle/join-creates-profile",
        "creates the profile of a member minutes after it joined",
        |world| world.misbehaviours.add(Misbehaviour::CreatesLate),
    )
    .driven()
    // Nothing else can be judged of a missing profile.
    .hides(&[
        "lifecycle/join-fills-status",
        "conditions/joined-follows-leave",
        "consumers/secrets-retired",
    ]),
    FaultInfo::new(
        "lifecycle/join-creates-profile:similar",
        "takes a member whose name begins with that of another one for that one",
        |world| world.misbehaviours.add(Misbehaviour::ConfusesNames),
    )
    .driven(),
    FaultInfo::new(
        "lifecycle/join-fills-status",
        "fills the status of a member's profile minutes after it joined",
        |world| world.misbehaviours.add(Misbehaviour::FillsLate),
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
        |world| world.misbehaviours.add(Misbehaviour::CreatesOnce),
    )
    .driven(),
    FaultInfo::new(
        "lifecycle/status-restored",
        "assumes that a status is what it last wrote",
        |world| world.misbehaviours.add(Misbehaviour::TrustsItsMemory),
    )
    .driven(),
    FaultInfo::new(
        "lifecycle/label-restored",
        "sets the manager label once, and does not miss it",
        |world| world.misbehaviours.add(Misbehaviour::LabelsOnce),
    )
    .driven(),
    FaultInfo::new(
        "lifecycle/foreign-profiles-untouched",
        "puts its label on every profile that it finds beside its own",
        |world| world.misbehaviours.add(Misbehaviour::Claims),
    )
    // It owns the label, which is the other manager's.
    .also(&["identity/one-manager-per-profile"])
    .driven(),
    FaultInfo::new(
        "lifecycle/foreign-profiles-untouched:deleted",
        "deletes the profiles that it does not know",
        |world| world.misbehaviours.add(Misbehaviour::Tidies),
    )
    // A deletion of another manager's profile is a write. Only the log shows which client sent it.
    .also_in_audit_log(&["identity/one-manager-per-profile"])
    .driven(),
    FaultInfo::new(
        "lifecycle/foreign-profiles-untouched:changed",
        "deletes a profile that it does not know once its generation has increased",
        |world| world.misbehaviours.add(Misbehaviour::TidiesChanged),
    )
    .also_in_audit_log(&["identity/one-manager-per-profile"])
    .driven(),
    FaultInfo::new(
        "lifecycle/foreign-profiles-untouched:recreated",
        "deletes a profile if one of that name was deleted before",
        |world| world.misbehaviours.add(Misbehaviour::TidiesRecreated),
    )
    .also_in_audit_log(&["identity/one-manager-per-profile"])
    .driven(),
    FaultInfo::new(
        "lifecycle/cut-off-keeps-profiles",
        "takes the members that it cannot list for gone",
        |world| world.misbehaviours.add(Misbehaviour::ForgetsUnlisted),
    )
    .driven(),
    FaultInfo::new(
        "lifecycle/restart-keeps-profiles",
        "creates all profiles anew when it starts",
        |world| world.misbehaviours.add(Misbehaviour::Recreates),
    )
    .driven(),
    FaultInfo::new(
        "lifecycle/heal-restores-status",
        "publishes no number of nodes after a member was down",
        |world| world.misbehaviours.add(Misbehaviour::ForgetsNodes),
    )
    .driven(),
];
