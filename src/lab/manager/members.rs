//! The fleet: each member cluster as it is at first, where it can be reached, and what the manager knows without asking it.

use std::sync::OnceLock;

use base64::{Engine, prelude::BASE64_STANDARD};
use evidence::api::names::{
    EXTENSION_ENVS, EXTENSION_EXEC, PROPERTIES_CLUSTER_ID, PROPERTY_CLUSTERSET, PROPERTY_ENDPOINTS,
    PROPERTY_LOCATION, PROPERTY_METRICS_ENDPOINTS, PROPERTY_NODE_TYPES,
};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, KeyPair};
use serde_json::{Value, json};

use super::MANAGER;
use crate::member::{Leases, MemberProperty, MemberState};

/// The namespace of profiles outside the ClusterSet.
pub(super) const FLEET: &str = "lab-fleet";
/// The namespace of the ClusterSet's profiles.
pub(super) const SET_NAMESPACE: &str = "lab-clusterset";
/// The ClusterSet's name.
pub(super) const SET: &str = "baltic";

/// The consumers that the manager serves, each in a namespace of its own.
pub(super) const CONSUMERS: [&str; 2] = ["lab-scheduler", "lab-backup"];

/// The access provider of its profiles.
pub(super) const PROVIDER: &str = "secretreader";

/// A ClusterProperty that is not standard.
pub(super) const OWN_PROPERTY: &str = "residency.example.com";
/// More than the members of the fleet. Those that faults add share them.
const AUTHORITIES: usize = 24;

/// A member cluster, as it is at first.
#[derive(Clone, Copy)]
pub(super) struct MemberSpec<'a> {
    /// Its name, by which steps and faults refer to it.
    pub name: &'a str,
    /// Its profile's namespace.
    pub namespace: &'a str,
    pub location: &'static str,
    pub kubernetes: &'static str,
    pub nodes: u32,
}

const fn member(
    name: &'static str,
    namespace: &'static str,
    location: &'static str,
    kubernetes: &'static str,
    nodes: u32,
) -> MemberSpec<'static> {
    MemberSpec {
        name,
        namespace,
        location,
        kubernetes,
        nodes,
    }
}

/// The fleet. Its order gives each member its number.
pub(super) const MEMBERS: [MemberSpec<'static>; 20] = [
    member("amsterdam", FLEET, "europe-west4", "v1.34.2", 12),
    member(OUTAGE, FLEET, "europe-north1", "v1.34.2", 5),
    member(LEAVER, FLEET, "europe-southwest1", "v1.33.6", 3),
    member(UPGRADED, FLEET, "europe-west1", "v1.34.2", 9),
    member("esbjerg", FLEET, "europe-north2", "v1.33.5-gke.1162000", 24),
    member("florence", FLEET, "europe-west8", "v1.34.1+k3s1", 1),
    member(DEGRADED, FLEET, "europe-west6", "v1.32.10", 7),
    member("helsinki", FLEET, "europe-north1", "v1.35.0", 40),
    member(IPV6, FLEET, "europe-west3", "v1.34.2", 4),
    member(UNASKED, FLEET, "europe-central2", "v1.33.6-eks-113cf36", 16),
    member(QUIET, FLEET, "europe-southwest1", "v1.34.2", 8),
    member(FIRST_TO_JOIN, FLEET, "europe-north2", "v1.35.0", 3),
    member("nantes", SET_NAMESPACE, "europe-west9", "v1.34.2", 6),
    member("oslo", SET_NAMESPACE, "europe-north1", "v1.34.2", 11),
    member(QUIET_IN_SET, SET_NAMESPACE, "europe-southwest1", "v1.34.2", 5),
    member("riga", SET_NAMESPACE, "europe-north1", "v1.33.6", 2),
    member("seville", SET_NAMESPACE, "europe-southwest1", "v1.34.2", 3),
    member("turin", SET_NAMESPACE, "europe-west12", "v1.34.2", 19),
    member("utrecht", SET_NAMESPACE, "europe-west4", "v1.32.10", 4),
    member(SECOND_TO_JOIN, SET_NAMESPACE, "europe-central2", "v1.35.0", 3),
];

/// Joins in the second minute.
pub(super) const FIRST_TO_JOIN: &str = "malmo";
/// Joins in the third minute.
pub(super) const SECOND_TO_JOIN: &str = "vienna";
/// Its control plane goes down and returns.
pub(super) const OUTAGE: &str = "bergen";
/// Leaves.
pub(super) const LEAVER: &str = "cadiz";
/// Is upgraded.
pub(super) const UPGRADED: &str = "dublin";
/// Joined, with an unhealthy control plane throughout; that is legal.
const DEGRADED: &str = "geneva";
/// Reached by IPv6.
const IPV6: &str = "innsbruck";
/// Nothing happens to it: for faults.
pub(super) const QUIET: &str = "lisbon";
/// Nothing happens to it either.
pub(super) const QUIET_IN_SET: &str = "porto";
/// Nodes come and go there.
pub(super) const GROWING: [&str; 4] = ["esbjerg", "nantes", "florence", "oslo"];
/// Nothing happens to it either, and the suite cannot query it: for faults that make a profile wrong, and must
/// break no rule about members.
pub(super) const UNASKED: &str = "krakow";
/// The members that the suite can query.
pub(super) const ASKABLE: [&str; 6] = [QUIET, QUIET_IN_SET, OUTAGE, UPGRADED, GROWING[0], FIRST_TO_JOIN];

impl MemberSpec<'_> {
    /// The first state of the member, the `number`th of the fleet. All ClusterProperties have the label that lets them
    /// appear in a profile, which is right in every edition.
    pub(super) fn state(&self, number: usize) -> MemberState {
        let id = format!(
            "6f1c7a52-3d0e-4b8f-9a41-{:012x}",
            0x00c0_ffee_0000_u64 + number as u64
        );
        let mut cluster_properties = vec![MemberProperty::labelled(PROPERTIES_CLUSTER_ID[0], &id)];
        if self.namespace == SET_NAMESPACE {
            cluster_properties.push(MemberProperty::labelled(PROPERTY_CLUSTERSET, SET));
        }
        if [QUIET, QUIET_IN_SET].contains(&self.name) {
            cluster_properties.push(MemberProperty::labelled(OWN_PROPERTY, "european-union"));
        }
        let groups: &[&str] = match number % 2 {
            0 => &["argoproj.io", "cert-manager.io"],
            _ => &["kueue.x-k8s.io"],
        };
        MemberState {
            version: self.kubernetes.to_owned(),
            nodes: self.nodes,
            custom_resource_groups: groups.iter().map(|group| (*group).to_owned()).collect(),
            cluster_properties,
            leases: if self.name == DEGRADED {
                Leases::Stale
            } else {
                Leases::Alive
            },
            ..MemberState::default()
        }
    }

    /// Names and values of the properties that the manager knows without asking the member.
    pub(super) fn known_properties(&self, number: usize) -> Vec<(&'static str, String)> {
        let node_types = match number % 3 {
            0 => json!(["standard-8"]),
            1 => json!(["standard-8", "standard-16"]),
            _ => json!(["standard-4", "highmem-16", "a100-2"]),
        };
        let metrics = json!([{"Prometheus": format!("https://{}.metrics.example:9090", self.name)}]);
        vec![
            (
                PROPERTY_ENDPOINTS,
                json!(endpoints(self.name, number)).to_string(),
            ),
            (PROPERTY_LOCATION, self.location.to_owned()),
            (PROPERTY_NODE_TYPES, node_types.to_string()),
            (PROPERTY_METRICS_ENDPOINTS, metrics.to_string()),
        ]
    }

    /// The proxy by which consumers reach the member.
    pub(super) fn proxy(&self) -> Option<&'static str> {
        (self.namespace == SET_NAMESPACE).then_some("http://proxy.clusters.example:3128")
    }
}

/// The name of the profile that the manager gives to a member.
pub(super) fn profile_name(member: &str) -> String {
    format!("{MANAGER}-{member}")
}

/// The URL of a member's API server.
pub(super) fn server(member: &str) -> String {
    format!("https://{}", host(member))
}

/// Host and port of a member's API server.
pub(super) fn host(member: &str) -> String {
    format!("{member}.clusters.example:6443")
}

/// Host and port of a member's API server: by name, and by an address from the ranges reserved for documentation.
pub(super) fn endpoints(member: &str, number: usize) -> [String; 2] {
    let address = match member {
        IPV6 => format!("[2001:db8::{number:x}]:6443"),
        _ => format!("192.0.2.{}:6443", number + 1),
    };
    [host(member), address]
}

/// The entry of a profile's `accessProviders`. The plugin gets no further arguments: no published definition accepts them as
/// a list.
pub(super) fn access_provider(member: &str, ca_data: &str, proxy: Option<&str>) -> Value {
    let mut cluster = json!({
        "server": server(member),
        "certificate-authority-data": ca_data,
        "extensions": [
            {"name": EXTENSION_EXEC, "extension": {"clusterName": member}},
            {"name": EXTENSION_ENVS, "extension": {"CLIENT_ID": format!("reader-of-{member}")}},
        ],
    });
    if let Some(proxy) = proxy {
        cluster["proxy-url"] = proxy.into();
    }
    json!({"name": PROVIDER, "cluster": cluster})
}

/// A kubeconfig with one cluster, one user and one context: one consumer's access to one member.
pub(super) fn kubeconfig(member: &str, ca_data: &str, consumer: &str, token: &str) -> Value {
    let context = format!("{consumer}@{member}");
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{
            "name": member,
            "cluster": {"server": server(member), "certificate-authority-data": ca_data},
        }],
        "users": [{"name": consumer, "user": {"token": token}}],
        "contexts": [{"name": context, "context": {"cluster": member, "user": consumer}}],
        "current-context": context,
    })
}

/// The CA certificate of the member with this number: PEM, in base64 as in a kubeconfig.
///
/// The certificates are made once per process: a test binary plays many worlds.
pub(super) fn ca_data(member: usize) -> &'static str {
    static MADE: OnceLock<Vec<String>> = OnceLock::new();
    &MADE.get_or_init(|| {
        (0..AUTHORITIES)
            .map(|number| new_ca_data(&number.to_string()))
            .collect()
    })[member % AUTHORITIES]
}

/// The certificate of a new CA, for the member of that name: PEM, in base64.
pub(crate) fn new_ca_data(name: &str) -> String {
    let mut params = CertificateParams::default();
    params
        .distinguished_name
        .push(DnType::CommonName, format!("lab member {name} CA"));
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("the random source works");
    let certificate = params
        .self_signed(&key)
        .expect("a plain CA certificate can be signed");
    BASE64_STANDARD.encode(certificate.pem())
}
