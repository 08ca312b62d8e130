//! A member's state, and the objects of its API that show it.

use std::{collections::BTreeSet, sync::LazyLock};

use apiserver::ApiServer;
use evidence::api::names::LABEL_HONOURED_PROPERTY;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::crd;

const NODES: (&str, &str) = ("", "nodes");
const LEASES: (&str, &str) = ("coordination.k8s.io", "leases");
const CLUSTER_PROPERTIES: (&str, &str) = (ABOUT, "clusterproperties");
/// The API group of ClusterProperty.
const ABOUT: &str = "about.k8s.io";
/// The control plane's leases: namespace and names.
const SYSTEM: &str = "kube-system";
const CONTROL_PLANE: [&str; 2] = ["kube-controller-manager", "kube-scheduler"];
/// How long a renewal lasts, in seconds.
const LEASE_DURATION: i64 = 15;

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
    pub cluster_properties: Vec<MemberProperty>,
    /// The failing checks of `/readyz`, `/livez` and `/healthz`, for example `etcd`. Other requests are answered as before.
    pub failing_checks: BTreeSet<String>,
    /// The leases of the controller manager and the scheduler.
    pub leases: Leases,
    /// True if nothing answers at all.
    pub unreachable: bool,
}

/// A ClusterProperty (KEP-2149).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberProperty {
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

impl MemberProperty {
    /// A property that may appear in a profile.
    pub fn labelled(name: &str, value: &str) -> Self {
        Self {
            name: name.to_owned(),
            value: value.to_owned(),
            labelled: true,
        }
    }

    /// A property that may not appear in a profile of edition `standard`.
    pub fn unlabelled(name: &str, value: &str) -> Self {
        Self {
            labelled: false,
            ..Self::labelled(name, value)
        }
    }
}

/// Changes the objects of `server` from those of `old` to those of `new`.
pub(super) fn apply_objects(server: &ApiServer, old: Option<&MemberState>, new: &MemberState) {
    let nodes = old.map_or(0, |old| old.nodes);
    for number in nodes..new.nodes {
        server.place(NODES, node(number, &new.version));
    }
    for number in new.nodes..nodes {
        server.withdraw(NODES, "", &node_name(number));
    }
    let before = old.map(groups).unwrap_or_default();
    let after = groups(new);
    for group in before.difference(&after) {
        server.undefine(&definition_name(group));
    }
    for group in after.difference(&before) {
        server.define(definition(group));
    }
    let before = old.map_or(&[][..], |old| &old.cluster_properties);
    let is_kept = |name: &str| {
        new.cluster_properties
            .iter()
            .any(|property| property.name == name)
    };
    for property in before.iter().filter(|property| !is_kept(&property.name)) {
        server.withdraw(CLUSTER_PROPERTIES, "", &property.name);
    }
    for property in &new.cluster_properties {
        server.place(CLUSTER_PROPERTIES, cluster_property(property));
    }
}

/// Renews the control plane's leases as of that time.
pub(super) fn renew_leases(server: &ApiServer, at: Timestamp) {
    for name in CONTROL_PLANE {
        server.place(LEASES, lease(name, at));
    }
}

/// Deletes the control plane's leases.
pub(super) fn withdraw_leases(server: &ApiServer) {
    for name in CONTROL_PLANE {
        server.withdraw(LEASES, SYSTEM, name);
    }
}

/// All groups that have definitions.
fn groups(state: &MemberState) -> BTreeSet<String> {
    let mut groups = state.custom_resource_groups.clone();
    if !state.cluster_properties.is_empty() {
        groups.insert(ABOUT.to_owned());
    }
    groups
}

fn node_name(number: u32) -> String {
    format!("node-{number}")
}

fn node(number: u32, version: &str) -> Value {
    json!({
        "kind": "Node", "apiVersion": "v1",
        "metadata": {"name": node_name(number), "labels": {"kubernetes.io/hostname": node_name(number)}},
        "spec": {},
        "status": {
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
            "nodeInfo": {"kubeletVersion": version},
        },
    })
}

fn lease(name: &str, renewed: Timestamp) -> Value {
    json!({
        "kind": "Lease", "apiVersion": "coordination.k8s.io/v1",
        "metadata": {"name": name, "namespace": SYSTEM},
        "spec": {
            "holderIdentity": "control-plane_0", "leaseDurationSeconds": LEASE_DURATION,
            "renewTime": format!("{renewed:.6}"), "leaseTransitions": 0,
        },
    })
}

fn cluster_property(property: &MemberProperty) -> Value {
    let mut object = json!({
        "kind": "ClusterProperty", "apiVersion": "about.k8s.io/v1beta1",
        "metadata": {"name": property.name, "generation": 1},
        "spec": {"value": property.value},
    });
    if property.labelled {
        object["metadata"]["labels"] = json!({LABEL_HONOURED_PROPERTY: "true"});
    }
    object
}

fn definition_name(group: &str) -> String {
    match group {
        ABOUT => format!("{}.{ABOUT}", CLUSTER_PROPERTIES.1),
        group => format!("things.{group}"),
    }
}

/// The definition of the group's one resource. Its shape matters only for ClusterProperty.
fn definition(group: &str) -> Value {
    if group == ABOUT {
        static CLUSTER_PROPERTY: LazyLock<Value> =
            LazyLock::new(|| serde_json::to_value(crd::cluster_property()).unwrap_or_default());
        return CLUSTER_PROPERTY.clone();
    }
    crd::of_any_shape(group, "v1", "things", "Thing")
}
