//! Faults of the suite `identity`.

use std::time::Duration;

use evidence::api::{
    Edition,
    names::{LABEL_MANAGER, LABEL_MEMBER_ID},
};
use serde_json::json;

use super::fault::FaultInfo;
use crate::{
    client::Via,
    fault::HubChange,
    manager::{
        driven::Misbehaviour,
        members::{FIRST_TO_JOIN, FLEET, QUIET},
        script::minutes,
        world::{MANAGER, World},
    },
};

/// A cluster manager beside the reference manager.
const OTHER: &str = "other-manager";
/// A second manager under the reference manager's name.
const STANDBY: &str = "reference-manager-standby";

pub(super) const FAULTS: &[FaultInfo] = &[
    // Begins during the watch.
    FaultInfo::new(
        "identity/manager-label-present:removed",
        "removes the manager label from a profile later on",
        |world| {
            let patch = json!({"metadata": {"labels": {LABEL_MANAGER: null}}});
            world.request(minutes(4), QUIET, MANAGER, Via::Object, patch);
        },
    ),
    // Has ended before the watch does.
    FaultInfo::new(
        "identity/manager-label-present:mended",
        "removes the manager label from a profile, and sets it again a quarter of an hour later",
        |world| {
            for (minute, label) in [(4, None), (19, Some(MANAGER))] {
                let patch = json!({"metadata": {"labels": {LABEL_MANAGER: label}}});
                world.request(minutes(minute), QUIET, MANAGER, Via::Object, patch);
            }
        },
    ),
    FaultInfo::new(
        "identity/manager-label-from-creation",
        "adds the manager label a moment after it created the profile",
        |world| {
            let created = join_time(world);
            world.profile(FIRST_TO_JOIN).labels.remove(LABEL_MANAGER);
            let patch = json!({"metadata": {"labels": {LABEL_MANAGER: MANAGER}}});
            let labelled = created + Duration::from_secs(5);
            world.request(labelled, FIRST_TO_JOIN, MANAGER, Via::Object, patch);
        },
    ),
    FaultInfo::new(
        "identity/manager-immutable:probe",
        "leaves the manager's name open to change by anyone",
        |_| {},
    )
    .on(HubChange::WithoutImmutability),
    FaultInfo::new(
        "identity/manager-unique",
        "lets a second user create a profile under its name, and write the status",
        |world| {
            let profile = world.profile(FIRST_TO_JOIN);
            profile.creator = Some(STANDBY.to_owned());
            profile.updater = Some(STANDBY.to_owned());
            profile.writer = STANDBY.to_owned();
        },
    ),
    FaultInfo::new(
        "identity/manager-unique:creation",
        "lets a second user create a profile under its name, but writes the status itself",
        |world| {
            let profile = world.profile(FIRST_TO_JOIN);
            profile.creator = Some(STANDBY.to_owned());
            profile.writer = STANDBY.to_owned();
        },
    ),
    FaultInfo::new(
        "identity/one-manager-per-profile",
        "labels a profile of another cluster manager",
        |world| {
            let mut other = world.another_member("zagreb", FLEET, OTHER);
            other.creator = Some(OTHER.to_owned());
            other.updater = Some(OTHER.to_owned());
            world.publish(other);
            let patch = json!({"metadata": {"labels": {"example.com/team": "blue"}}});
            world.request(minutes(4), "zagreb", MANAGER, Via::Object, patch);
        },
    ),
    FaultInfo::new(
        "identity/member-id-from-creation",
        "adds the member id a moment after it created the profile",
        |world| {
            let created = join_time(world);
            let id = world.profile(FIRST_TO_JOIN).labels.remove(LABEL_MEMBER_ID);
            let patch = json!({"metadata": {"labels": {LABEL_MEMBER_ID: id}}});
            let labelled = created + Duration::from_secs(5);
            world.request(labelled, FIRST_TO_JOIN, MANAGER, Via::Object, patch);
        },
    )
    .since(Edition::Y2026M09),
    FaultInfo::new(
        "identity/expected-profiles",
        "publishes no profile of a member",
        |world| world.unpublish("turin"),
    )
    .flags(&["--expect-profiles", "19"]),
    FaultInfo::new(
        "identity/display-name-kept",
        "sets the display name back to its own",
        |world| world.misbehaviours.add(Misbehaviour::OverwritesDisplayName),
    )
    .driven(),
];

/// When the first member joins.
fn join_time(world: &World) -> Duration {
    world
        .script
        .iter()
        .find(|step| step.member == FIRST_TO_JOIN)
        .map(|step| step.at)
        .expect("the script lets it join")
}
