//! Faults of the suite `clustersets`.

use evidence::api::{
    Labels,
    names::{LABEL_CLUSTERSET, LABEL_CLUSTERSET_GO, PROPERTIES_CLUSTER_ID, PROPERTY_CLUSTERSET},
};

use super::{fault::FaultInfo, identity::another_member};
use crate::manager::{
    members::{QUIET_IN_SET, SET, SET_NAMESPACE},
    world::{MANAGER, Namespace, World},
};

/// A ClusterSet beside the one of the conforming world.
const OTHER_SET: &str = "adriatic";
/// Its namespace.
const OTHER_NAMESPACE: &str = "lab-other-clusterset";

pub(super) const FAULTS: &[FaultInfo] = &[
    FaultInfo::new(
        "clustersets/namespace-labelled",
        "does not label the namespace of a ClusterSet",
        |world| {
            labels(world).remove(LABEL_CLUSTERSET);
        },
    )
    .flags(&["--clusterset", "lab-clusterset=baltic"]),
    FaultInfo::new(
        "clustersets/namespace-labelled:key",
        "labels the namespace of a ClusterSet with the key of the API's Go package",
        |world| {
            labels(world).remove(LABEL_CLUSTERSET);
            labels(world).insert(LABEL_CLUSTERSET_GO.to_owned(), SET.to_owned());
        },
    ),
    FaultInfo::new(
        "clustersets/one-set-per-namespace",
        "publishes a profile of another ClusterSet in a ClusterSet's namespace",
        |world| {
            let status = &mut world.profile(QUIET_IN_SET).status;
            status.set_value(PROPERTY_CLUSTERSET, OTHER_SET);
            // The member is of that set indeed.
            let properties = world.state(QUIET_IN_SET).cluster_properties.iter_mut();
            for property in properties.filter(|property| property.name == PROPERTY_CLUSTERSET) {
                property.value = OTHER_SET.to_owned();
            }
        },
    ),
    FaultInfo::new(
        "clustersets/one-set-per-cluster",
        "publishes a cluster in the namespaces of two ClusterSets",
        |world| {
            let namespace = Namespace::new(OTHER_NAMESPACE, [(LABEL_CLUSTERSET, OTHER_SET)]);
            world.namespaces.push(namespace);
            let mut twin = another_member(world, "porto-again", OTHER_NAMESPACE, MANAGER);
            let id = PROPERTIES_CLUSTER_ID[0];
            let value = world.profile(QUIET_IN_SET).status.value(id).to_owned();
            twin.status.set_value(id, &value);
            world.publish(twin);
        },
    )
    // One cluster in two namespaces has two profiles.
    .also(&["identity/one-profile-per-cluster"]),
];

/// The labels of the ClusterSet's namespace.
fn labels(world: &mut World) -> &mut Labels {
    let mut namespaces = world.namespaces.iter_mut();
    let namespace = namespaces.find(|namespace| namespace.name == SET_NAMESPACE);
    &mut namespace.expect("the ClusterSet has a namespace").labels
}
