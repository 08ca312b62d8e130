//! Faults of the suite `clustersets`.

use evidence::api::{Labels, names::LABEL_CLUSTERSET};

use super::fault::FaultInfo;
use crate::manager::{members::SET_NAMESPACE, world::World};

pub(super) const FAULTS: &[FaultInfo] = &[
    // No profile says that the namespace belongs to a ClusterSet: only the flag does.
    FaultInfo::new(
        "clustersets/namespace-labelled:declared",
        "does not label the namespace of a ClusterSet",
        |world| {
            labels(world).remove(LABEL_CLUSTERSET);
        },
    )
    .flags(&["--clusterset", "lab-clusterset=baltic"]),
];

/// The labels of the ClusterSet's namespace.
fn labels(world: &mut World) -> &mut Labels {
    let mut namespaces = world.namespaces.iter_mut();
    let namespace = namespaces.find(|namespace| namespace.name == SET_NAMESPACE);
    &mut namespace.expect("the ClusterSet has a namespace").labels
}
