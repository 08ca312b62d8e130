//! What is so of a member at a moment.

use std::collections::BTreeSet;

/// What is so of a member at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberState {
    /// `gitVersion` of `/version`.
    pub version: String,
    /// How many nodes there are.
    pub nodes: u32,
    /// The API groups of its custom resource definitions. That of ClusterProperty is one of them where the member has
    /// a ClusterProperty, whether it is named here or not.
    pub custom_resource_groups: BTreeSet<String>,
    /// Its ClusterProperties (KEP-2149).
    pub cluster_properties: Vec<Property>,
    /// The checks of `/readyz`, `/livez` and `/healthz` that fail, such as `etcd`. All else answers as before.
    pub failing_checks: BTreeSet<String>,
    /// The leases of the controller manager and the scheduler.
    pub leases: Leases,
    /// Whether nothing answers at all.
    pub unreachable: bool,
}

/// A ClusterProperty (KEP-2149).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Whether it has the label by which it may show in a profile (KEP-4322 › Properties).
    pub labelled: bool,
}

/// The leases by which a control plane tells that it lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Leases {
    /// They are renewed every two seconds.
    #[default]
    Alive,
    /// They are no longer renewed: since this became so, or for an hour where it was so from the start.
    Stale,
    /// There are none, as where the control plane is somebody else's.
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
