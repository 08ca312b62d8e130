//! Which implementation of the lab publishes a kind of objects.

use evidence::api::ObjectKind;

use crate::{manager::Manager, scheduler::Scheduler};

/// A reference implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Its user on the hub, and its field manager.
    pub name: &'static str,
    /// The namespace of what it does when it is driven.
    pub namespace: &'static str,
}

/// The reference implementation that publishes such objects.
pub fn reference(kind: ObjectKind) -> Reference {
    match kind {
        ObjectKind::ClusterProfile => Reference {
            name: Manager::NAME,
            namespace: Manager::NAMESPACE,
        },
        ObjectKind::PlacementDecision => Reference {
            name: Scheduler::NAME,
            namespace: Scheduler::NAMESPACE,
        },
    }
}
