//! Faults of the suite `properties`.

use evidence::api::names::{
    PROPERTY_CLUSTER_ID, PROPERTY_CLUSTERSET, PROPERTY_ENDPOINTS, PROPERTY_LOCATION,
    PROPERTY_METRICS_ENDPOINTS, PROPERTY_NODE_COUNT, PROPERTY_NODE_TYPES, PROPERTY_RESOURCE_GROUPS,
};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::fault::FaultInfo;
use crate::{
    manager::{
        members::{QUIET, QUIET_IN_SET, UNASKED},
        script::{Step, minutes},
        status::{OWN_PROPERTY, Status, observed},
        world::World,
    },
    member::{self, MemberState},
};

pub(super) const FAULTS: &[FaultInfo] = &[
    FaultInfo::new(
        "properties/cluster-endpoints-present",
        "publishes a profile without endpoints",
        |world| {
            let properties = &mut world.profile(QUIET).status.properties;
            properties.retain(|property| property.name != PROPERTY_ENDPOINTS);
        },
    ),
    FaultInfo::new(
        "properties/cluster-endpoints-well-formed",
        "publishes an endpoint that is no address",
        |world| endpoints(world, r#"["lisbon.clusters.example:6443","ask the admin"]"#),
    ),
    FaultInfo::new(
        "properties/cluster-endpoints-well-formed:empty",
        "publishes an empty list of endpoints",
        |world| endpoints(world, "[]"),
    ),
    FaultInfo::new(
        "properties/cluster-endpoints-are-a-list",
        "publishes an endpoint as it is, not as a list",
        |world| endpoints(world, "lisbon.clusters.example:6443"),
    ),
    FaultInfo::new(
        "properties/cluster-endpoints-are-a-list:commas",
        "publishes endpoints between commas",
        |world| endpoints(world, "lisbon.clusters.example:6443,192.0.2.11:6443"),
    ),
    FaultInfo::new(
        "properties/location-immutable",
        "changes a member's location",
        |world| {
            world.observe(minutes(4), QUIET, |status, _| {
                status.set_value(PROPERTY_LOCATION, "europe-west4");
            });
        },
    ),
    FaultInfo::new(
        "properties/node-count-well-formed",
        "publishes a number of nodes that is none",
        |world| set(world, PROPERTY_NODE_COUNT, "8 nodes"),
    ),
    FaultInfo::new(
        "properties/node-types-well-formed",
        "publishes the types of nodes between commas",
        |world| set(world, PROPERTY_NODE_TYPES, "standard-8,highmem-16"),
    ),
    FaultInfo::new(
        "properties/node-types-well-formed:empty",
        "publishes a type of node that has no name",
        |world| set(world, PROPERTY_NODE_TYPES, r#"["standard-8",""]"#),
    ),
    FaultInfo::new(
        "properties/metrics-endpoints-well-formed",
        "publishes one object with all metrics endpoints",
        |world| {
            let value = r#"{"Prometheus":"https://lisbon.metrics.example:9090"}"#;
            set(world, PROPERTY_METRICS_ENDPOINTS, value);
        },
    ),
    FaultInfo::new(
        "properties/metrics-endpoints-well-formed:url",
        "publishes a metrics endpoint that is no URL",
        |world| set(world, PROPERTY_METRICS_ENDPOINTS, r#"[{"Prometheus":"yes"}]"#),
    ),
    FaultInfo::new(
        "properties/custom-resource-groups-well-formed",
        "publishes the groups of custom resources with their versions",
        |world| {
            // For a member with a stand-in, they would also differ from the member's groups.
            let status = &mut world.profile(UNASKED).status;
            status.set_value(PROPERTY_RESOURCE_GROUPS, r#"["argoproj.io/v1alpha1"]"#);
        },
    ),
    FaultInfo::new(
        "properties/cluster-id-well-formed",
        "publishes a cluster id that is no DNS name",
        |world| {
            set(world, PROPERTY_CLUSTER_ID, "Lisbon_1");
            set_on_member(world.state(QUIET), PROPERTY_CLUSTER_ID, "Lisbon_1");
        },
    ),
    FaultInfo::new(
        "properties/cluster-id-stable",
        "changes the id of a member that stays in its ClusterSet",
        |world| {
            change_on_both(world, QUIET_IN_SET, PROPERTY_CLUSTER_ID, "porto-renamed");
        },
    ),
    FaultInfo::new(
        "properties/clusterset-immutable",
        "replaces the ClusterSet of a member at once",
        |world| {
            // In a plain inventory, so that the label of no namespace contradicts it.
            let (before, after) = ("iberia", "lusitania");
            let property = member::Property::labelled(PROPERTY_CLUSTERSET, before);
            world.state(QUIET).cluster_properties.push(property);
            let shown = observed(PROPERTY_CLUSTERSET, before);
            world.profile(QUIET).status.properties.push(shown);
            change_on_both(world, QUIET, PROPERTY_CLUSTERSET, after);
        },
    ),
    FaultInfo::new(
        "properties/observed-time-sane",
        "dates an observation an hour back",
        |world| {
            world.observe(minutes(4), QUIET, |status, now| {
                let claimed = now - SignedDuration::from_hours(1);
                claim_time(status, claimed);
            });
        },
    ),
    FaultInfo::new(
        "properties/observed-time-sane:future",
        "dates an observation a day ahead",
        |world| {
            let claimed = world.now + SignedDuration::from_hours(24);
            claim_time(&mut world.profile(QUIET).status, claimed);
        },
    ),
    FaultInfo::new(
        "properties/well-known-spelling",
        "misspells the name of a standard property",
        |world| {
            let status = &mut world.profile(QUIET).status;
            status.alter_property(PROPERTY_RESOURCE_GROUPS, |property| {
                property.name = property.name.to_lowercase();
            });
        },
    ),
    FaultInfo::new(
        "properties/cluster-endpoints-reachable",
        "publishes an endpoint where nothing answers any more",
        |world| {
            const OLD: &str = "lisbon-old.clusters.example:6443";
            world.deserted.push(OLD.to_owned());
            endpoints(world, &json!([OLD]).to_string());
        },
    ),
    FaultInfo::new(
        "properties/node-count-matches-member",
        "counts a node that is not there",
        |world| {
            let nodes = world.state(QUIET).nodes + 1;
            set(world, PROPERTY_NODE_COUNT, &nodes.to_string());
        },
    ),
    FaultInfo::new(
        "properties/node-count-matches-member:growth",
        "does not see that a node has come",
        |world| {
            world
                .script
                .push(Step::happen(minutes(6), QUIET, |member| member.nodes += 1));
        },
    ),
    FaultInfo::new(
        "properties/custom-resource-groups-match-member",
        "leaves out a group of the member's custom resources",
        |world| {
            set(
                world,
                PROPERTY_RESOURCE_GROUPS,
                r#"["about.k8s.io","argoproj.io"]"#,
            )
        },
    ),
    FaultInfo::new(
        "properties/custom-resource-groups-match-member:surplus",
        "reports a group of which the member has no custom resources",
        |world| {
            let groups = r#"["about.k8s.io","argoproj.io","cert-manager.io","kueue.x-k8s.io"]"#;
            set(world, PROPERTY_RESOURCE_GROUPS, groups);
        },
    ),
    FaultInfo::new(
        "properties/honours-only-labelled",
        "publishes a ClusterProperty that has no label for that",
        |world| {
            const PRIVATE: (&str, &str) = ("cost-center.clusterprofile-conformance.example", "4711");
            let property = member::Property::unlabelled(PRIVATE.0, PRIVATE.1);
            world.state(QUIET).cluster_properties.push(property);
            let shown = observed(PRIVATE.0, PRIVATE.1);
            world.profile(QUIET).status.properties.push(shown);
        },
    ),
    FaultInfo::new(
        "properties/cluster-properties-propagated",
        "leaves out a ClusterProperty of the member",
        |world| {
            let properties = &mut world.profile(QUIET).status.properties;
            properties.retain(|property| property.name != OWN_PROPERTY);
        },
    ),
    FaultInfo::new(
        "properties/cluster-properties-verbatim",
        "puts the value of a ClusterProperty into words of its own",
        |world| set(world, OWN_PROPERTY, "EU"),
    ),
];

/// Sets the observation time of a member's location.
fn claim_time(status: &mut Status, claimed: Timestamp) {
    status.alter_property(PROPERTY_LOCATION, |property| {
        property.claimed_time = Some(claimed)
    });
}

/// Sets a property of the quiet member.
fn set(world: &mut World, name: &str, value: &str) {
    world.profile(QUIET).status.set_value(name, value);
}

/// Changes a ClusterProperty of a member, and the property of its profile.
fn change_on_both(world: &mut World, member: &str, name: &'static str, value: &'static str) {
    let change = Step::happen(minutes(4), member, move |state| set_on_member(state, name, value));
    world.script.push(change);
    world.observe(minutes(4), member, move |status, _| status.set_value(name, value));
}

fn set_on_member(state: &mut MemberState, name: &str, value: &str) {
    let properties = state.cluster_properties.iter_mut();
    for property in properties.filter(|property| property.name == name) {
        property.value = value.to_owned();
    }
}

/// Sets the endpoints of the quiet member.
fn endpoints(world: &mut World, value: &str) {
    set(world, PROPERTY_ENDPOINTS, value);
}
