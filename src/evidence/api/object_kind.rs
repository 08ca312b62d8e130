//! The kinds of objects that implementations publish.

use super::{Role, names};

/// A kind of objects of the group [`GROUP`](names::GROUP), each with documents of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectKind {
    /// A ClusterProfile (KEP-4322).
    ClusterProfile,
    /// A PlacementDecision (KEP-5313): a slice of a decision.
    PlacementDecision,
}

impl ObjectKind {
    /// What people call one.
    pub fn noun(self) -> &'static str {
        match self {
            ObjectKind::ClusterProfile => "profile",
            ObjectKind::PlacementDecision => "placement decision",
        }
    }

    /// All kinds.
    pub const ALL: [ObjectKind; 2] = [ObjectKind::ClusterProfile, ObjectKind::PlacementDecision];

    /// Its name, as objects have it.
    pub fn name(self) -> &'static str {
        match self {
            ObjectKind::ClusterProfile => names::KIND,
            ObjectKind::PlacementDecision => names::PLACEMENT_KIND,
        }
    }

    /// Its plural, as in request paths.
    pub fn plural(self) -> &'static str {
        match self {
            ObjectKind::ClusterProfile => names::PLURAL,
            ObjectKind::PlacementDecision => names::PLACEMENT_PLURAL,
        }
    }

    /// The role that publishes such objects.
    pub fn publisher(self) -> Role {
        match self {
            ObjectKind::ClusterProfile => Role::Manager,
            ObjectKind::PlacementDecision => Role::Scheduler,
        }
    }
}
