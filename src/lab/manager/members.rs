//! The fleet: each member cluster as it is at first.

/// The namespace of profiles outside the ClusterSet.
pub(super) const FLEET: &str = "lab-fleet";
/// The namespace of the ClusterSet's profiles.
pub(super) const SET_NAMESPACE: &str = "lab-clusterset";
/// The ClusterSet's name.
pub(super) const SET: &str = "baltic";

/// The consumers that the manager serves, each in a namespace of its own.
pub(super) const CONSUMERS: [&str; 2] = ["lab-scheduler", "lab-backup"];

/// A member cluster.
pub(super) struct Member<'a> {
    /// Its name, by which steps and faults refer to it.
    pub name: &'a str,
    /// Its profile's namespace.
    pub namespace: &'a str,
    /// Its location.
    pub location: &'static str,
    /// Its version at first.
    pub kubernetes: &'static str,
    /// How many nodes it has at first.
    pub nodes: u32,
}

const fn member(
    name: &'static str,
    namespace: &'static str,
    location: &'static str,
    kubernetes: &'static str,
    nodes: u32,
) -> Member<'static> {
    Member {
        name,
        namespace,
        location,
        kubernetes,
        nodes,
    }
}

/// The fleet. Its order gives each member its number.
pub(super) const MEMBERS: [Member<'static>; 20] = [
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
pub(super) const DEGRADED: &str = "geneva";
/// Reached by IPv6.
pub(super) const IPV6: &str = "innsbruck";
/// Nothing happens to it: for faults.
pub(super) const QUIET: &str = "lisbon";
/// Nothing happens to it either.
pub(super) const QUIET_IN_SET: &str = "porto";
/// Nodes come and go there.
pub(super) const GROWING: [&str; 4] = ["esbjerg", "nantes", "florence", "oslo"];
/// Nothing happens to it either, and no stand-in contradicts its profile: for faults that make a profile wrong, and must
/// break no rule about members.
pub(super) const UNASKED: &str = "krakow";
/// Members with a stand-in, which can be asked. The others exist only on the hub.
pub(super) const ASKABLE: [&str; 6] = [QUIET, QUIET_IN_SET, OUTAGE, UPGRADED, GROWING[0], FIRST_TO_JOIN];
