//! Faults of the suite `properties`.

use evidence::api::names::{
    PROPERTY_CLUSTERSET, PROPERTY_ENDPOINTS, PROPERTY_LOCATION, PROPERTY_NODE_COUNT, PROPERTY_RESOURCE_GROUPS,
};
use jiff::SignedDuration;
use serde_json::json;

use super::fault::FaultInfo;
use crate::{
    manager::{
        members::QUIET,
        script::{Step, minutes},
        status::{OWN_PROPERTY, observed},
        world::World,
    },
    member,
};

pub(super) const FAULTS: &[FaultInfo] = &[
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
            world.script.push(Step::happen(minutes(4), QUIET, move |member| {
                let properties = member.cluster_properties.iter_mut();
                for property in properties.filter(|property| property.name == PROPERTY_CLUSTERSET) {
                    property.value = after.to_owned();
                }
            }));
            world.observe(minutes(4), QUIET, move |status, _| {
                status.set_value(PROPERTY_CLUSTERSET, after);
            });
        },
    ),
    FaultInfo::new(
        "properties/observed-time-sane:back",
        "dates an observation an hour back",
        |world| {
            world.observe(minutes(4), QUIET, |status, now| {
                let claimed = now - SignedDuration::from_hours(1);
                status.alter_property(PROPERTY_LOCATION, |property| {
                    property.claimed_time = Some(claimed)
                });
            });
        },
    ),
    FaultInfo::new(
        "properties/cluster-endpoints-reachable",
        "publishes an endpoint where nothing answers any more",
        |world| {
            const OLD: &str = "lisbon-old.clusters.example:6443";
            world.deserted.push(OLD.to_owned());
            set(world, PROPERTY_ENDPOINTS, &json!([OLD]).to_string());
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

/// Sets a property of the quiet member.
fn set(world: &mut World, name: &str, value: &str) {
    world.profile(QUIET).status.set_value(name, value);
}
