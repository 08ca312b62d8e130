//! Faults of the suite `identity`.

use std::time::Duration;

use evidence::api::{
    Edition,
    names::{LABEL_MANAGER, LABEL_MEMBER_ID, PROPERTIES_CLUSTER_ID, PROPERTY_ENDPOINTS},
};
use serde_json::json;

use super::fault::FaultInfo;
use crate::{
    client::Via,
    fault::HubChange,
    manager::{
        driven::Misbehaviour,
        members::{CONSUMERS, FIRST_TO_JOIN, FLEET, MEMBERS, Member, QUIET, QUIET_IN_SET, SET_NAMESPACE},
        script::minutes,
        world::{MANAGER, Profile, World},
    },
};

/// A cluster manager beside the reference manager.
const OTHER: &str = "other-manager";
/// One whose name begins with the reference manager's.
const NAMESAKE: &str = "reference-manager-2";
/// A second manager under the reference manager's name.
const STANDBY: &str = "reference-manager-standby";

pub(super) const FAULTS: &[FaultInfo] = &[
    FaultInfo::new(
        "identity/manager-label-present",
        "publishes a profile without the manager label",
        |world| {
            world.profile(QUIET).labels.remove(LABEL_MANAGER);
        },
    ),
    FaultInfo::new(
        "identity/manager-label-present:removed",
        "removes the manager label from a profile later on",
        |world| {
            let patch = json!({"metadata": {"labels": {LABEL_MANAGER: null}}});
            world.request(minutes(4), QUIET, MANAGER, Via::Object, patch);
        },
    ),
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
        "identity/manager-label-matches",
        "labels a profile with another manager's name",
        |world| label(world, LABEL_MANAGER, "somebody-else"),
    ),
    FaultInfo::new(
        "identity/manager-label-matches:case",
        "labels a profile with its name in other letters",
        |world| label(world, LABEL_MANAGER, "Reference-Manager"),
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
        "identity/manager-name-usable",
        "calls itself by a name that no label can hold",
        |world| {
            for profile in &mut world.profiles {
                // A trailing dash: still a prefix of the profiles' names.
                profile.manager = format!("{MANAGER}-");
            }
        },
    ),
    FaultInfo::new(
        "identity/manager-immutable",
        "hands a profile to another manager for ten seconds",
        |world| {
            for (at, manager) in [(300, OTHER), (310, MANAGER)] {
                let patch = json!({
                    "metadata": {"labels": {LABEL_MANAGER: manager}},
                    "spec": {"clusterManager": {"name": manager}},
                });
                world.request(Duration::from_secs(at), QUIET, MANAGER, Via::Object, patch);
            }
        },
    )
    // The conditions stay as they are, and a change of the spec is a new generation.
    .also(&["conditions/observed-generation-current"])
    .on(HubChange::WithoutImmutability),
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
            let mut other = another_member(world, "zagreb", FLEET, OTHER);
            other.creator = Some(OTHER.to_owned());
            other.updater = Some(OTHER.to_owned());
            world.publish(other);
            let patch = json!({"metadata": {"labels": {"example.com/team": "blue"}}});
            world.request(minutes(4), "zagreb", MANAGER, Via::Object, patch);
        },
    ),
    FaultInfo::new(
        "identity/name-unique",
        "gives two clusters one name in two namespaces",
        |world| {
            let name = world.profile(QUIET).name.clone();
            world.rename(QUIET_IN_SET, &name);
        },
    ),
    FaultInfo::new(
        "identity/name-unique:two-managers",
        "gives its profile the name that another manager uses in another namespace",
        |world| {
            let other = another_member(world, "zagreb", SET_NAMESPACE, NAMESAKE);
            world.rename(QUIET, &other.name);
            world.publish(other);
        },
    ),
    FaultInfo::new(
        "identity/one-profile-per-cluster",
        "publishes two profiles with one cluster id",
        |world| {
            let mut twin = another_member(world, "lisbon-again", FLEET, MANAGER);
            let value = world
                .profile(QUIET)
                .status
                .value(PROPERTIES_CLUSTER_ID[0])
                .to_owned();
            twin.status.set_value(PROPERTIES_CLUSTER_ID[0], &value);
            world.publish(twin);
        },
    ),
    FaultInfo::new(
        "identity/one-profile-per-cluster:endpoints",
        "publishes two profiles with the same endpoints, and without access providers",
        |world| {
            let mut twin = anonymous(another_member(world, "lisbon-again", FLEET, MANAGER));
            let value = world.profile(QUIET).status.value(PROPERTY_ENDPOINTS).to_owned();
            twin.status.set_value(PROPERTY_ENDPOINTS, &value);
            world.publish(twin);
            point_secrets_at(world, "lisbon-again", "https://lisbon.clusters.example:6443");
            for member in [QUIET, "lisbon-again"] {
                let status = &mut world.profile(member).status;
                status.access.clear();
                status.deprecated_access.clear();
            }
        },
    ),
    FaultInfo::new(
        "identity/one-profile-per-cluster:access-provider",
        "publishes two profiles with the same server and CA",
        |world| {
            let mut twin = anonymous(another_member(world, "lisbon-again", FLEET, MANAGER));
            // Neither the same endpoints, which would show it, nor entirely different ones, which would refute it.
            let value = r#"["lisbon.clusters.example:6443","192.0.2.99:6443"]"#;
            twin.status.set_value(PROPERTY_ENDPOINTS, value);
            let status = &world.profile(QUIET).status;
            twin.status.access = status.access.clone();
            twin.status.deprecated_access = status.deprecated_access.clone();
            world.publish(twin);
            point_secrets_at(world, "lisbon-again", "https://192.0.2.99:6443");
        },
    ),
    FaultInfo::new(
        "identity/name-follows-guidance",
        "names a profile without its own name before it",
        |world| world.rename(QUIET, QUIET),
    ),
    FaultInfo::new(
        "identity/member-id-non-empty",
        "sets an empty member id",
        |world| label(world, LABEL_MEMBER_ID, ""),
    )
    .since(Edition::Y2026M09),
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
    FaultInfo::new("identity/member-id-set", "sets no member id", |world| {
        world.profile(QUIET).labels.remove(LABEL_MEMBER_ID);
    })
    .since(Edition::Y2026M09),
    FaultInfo::new(
        "identity/member-id-stable",
        "changes a profile's member id",
        |world| {
            let patch = json!({"metadata": {"labels": {LABEL_MEMBER_ID: "lisbon-renamed"}}});
            world.request(minutes(4), QUIET, MANAGER, Via::Object, patch);
        },
    )
    .since(Edition::Y2026M09),
    FaultInfo::new(
        "identity/member-id-unique",
        "gives a member that joins the member id of another one",
        |world| {
            let labels = &mut world.profile(FIRST_TO_JOIN).labels;
            labels.insert(LABEL_MEMBER_ID.to_owned(), QUIET.to_owned());
        },
    )
    .since(Edition::Y2026M09),
    FaultInfo::new(
        "identity/member-id-no-tie",
        "creates two profiles with one member id in the same second",
        |world| label(world, LABEL_MEMBER_ID, "krakow"),
    )
    .since(Edition::Y2026M09)
    // Profiles can tie only if they share an id.
    .also(&["identity/member-id-unique"]),
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

/// Sets a label of the quiet member's profile.
fn label(world: &mut World, key: &str, value: &str) {
    world
        .profile(QUIET)
        .labels
        .insert(key.to_owned(), value.to_owned());
}

/// Sets the server in the kubeconfigs of a member's Secrets.
fn point_secrets_at(world: &mut World, member: &str, server: &str) {
    for consumer in CONSUMERS {
        world.alter_secret(member, consumer, |secret| {
            secret.kubeconfig["clusters"][0]["cluster"]["server"] = json!(server);
        });
    }
}

/// When the first member joins.
fn join_time(world: &World) -> Duration {
    world
        .script
        .iter()
        .find(|step| step.member == FIRST_TO_JOIN)
        .map(|step| step.at)
        .expect("the script lets it join")
}

/// The profile of one more member.
pub(super) fn another_member(
    world: &World,
    name: &'static str,
    namespace: &'static str,
    manager: &str,
) -> Profile {
    let member = Member {
        name,
        namespace,
        location: "europe-central2",
        kubernetes: "v1.34.2",
        nodes: 3,
    };
    Profile::of(&member, MEMBERS.len(), manager, world.now)
}

/// Removes the property that identifies the cluster: it would prove two profiles to be different clusters.
fn anonymous(mut profile: Profile) -> Profile {
    let properties = &mut profile.status.properties;
    properties.retain(|property| property.name != PROPERTIES_CLUSTER_ID[0]);
    profile
}
