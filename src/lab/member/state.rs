//! A member's state.

use std::collections::BTreeSet;

/// A member's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberState {
    /// `gitVersion` of `/version`.
    pub version: String,
    /// How many nodes there are.
    pub nodes: u32,
    /// The API groups of its custom resource definitions. A member with a ClusterProperty has that group too, even if it
    /// is not listed here.
    pub custom_resource_groups: BTreeSet<String>,
    /// Its ClusterProperties (KEP-2149).
    pub cluster_properties: Vec<Property>,
    /// The failing checks of `/readyz`, `/livez` and `/healthz`, such as `etcd`. Other requests are answered as before.
    pub failing_checks: BTreeSet<String>,
    /// The leases of the controller manager and the scheduler.
    pub leases: Leases,
    /// True if nothing answers at all.
    pub unreachable: bool,
}

/// A ClusterProperty (KEP-2149).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// True if it has the label that lets it appear in a profile (KEP-4322 › Properties).
    pub labelled: bool,
}

/// Leases of a live control plane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Leases {
    /// They are renewed every two seconds.
    #[default]
    Alive,
    /// They are no longer renewed: since the change to this, or for an hour if they were stale from the start.
    Stale,
    /// There are none, as with a managed control plane.
    Absent,
}

impl Default for MemberState {
    /// A healthy member with three nodes.
    fn default() -> Self {
        Self {
            version: "v1.34.2".to_owned(),
            nodes: 3,
            custom_resource_groups: BTreeSet::new(),
            cluster_properties: Vec::new(),
            failing_checks: BTreeSet::new(),
            leases: Leases::Alive,
            unreachable: false,
        }
    }
}

impl Property {
    /// One that may show in a profile.
    pub fn labelled(name: &str, value: &str) -> Self {
        Self {
            name: name.to_owned(),
            value: value.to_owned(),
            labelled: true,
        }
    }

    /// One that a profile of edition `standard` keeps quiet about.
    pub fn unlabelled(name: &str, value: &str) -> Self {
        Self {
            labelled: false,
            ..Self::labelled(name, value)
        }
    }
}
