//! Groups, labels, properties and condition types, as the documents spell them.

/// The API group of ClusterProfile and PlacementDecision.
pub const GROUP: &str = "multicluster.x-k8s.io";
/// The kind that the suite judges.
pub const KIND: &str = "ClusterProfile";
/// Its plural, as in request paths.
pub const PLURAL: &str = "clusterprofiles";
/// The API versions that this suite reads, of either kind, newest first.
pub const VERSIONS: [&str; 2] = ["v1alpha2", "v1alpha1"];

/// The kind by which schedulers publish the members that they selected (KEP-5313).
pub const PLACEMENT_KIND: &str = "PlacementDecision";
/// Its plural, as in request paths.
pub const PLACEMENT_PLURAL: &str = "placementdecisions";
/// The most clusters in one PlacementDecision (KEP-5313 › API Specification).
pub const LARGEST_SLICE: usize = 100;
/// On a PlacementDecision: the decision whose slice it is (KEP-5313 › Slicing).
pub const LABEL_DECISION_KEY: &str = "multicluster.x-k8s.io/decision-key";
/// On a PlacementDecision: the place of the slice among those of its decision, from 0 (KEP-5313 › Slicing).
pub const LABEL_DECISION_INDEX: &str = "multicluster.x-k8s.io/decision-index";
/// On a PlacementDecision: named once by KEP-5313, for consumers, and defined nowhere.
pub const LABEL_DECISION_REVISION: &str = "multicluster.x-k8s.io/decision-revision";
/// On a PlacementDecision: the place of the slice's decision group, from 0. Proposed, and not in KEP-5313.
pub const LABEL_DECISION_GROUP_INDEX: &str = "multicluster.x-k8s.io/decision-group-index";
/// On a PlacementDecision: the name of the slice's decision group. Proposed, and not in KEP-5313.
pub const LABEL_DECISION_GROUP_NAME: &str = "multicluster.x-k8s.io/decision-group-name";
/// On a PlacementDecision, on the workload and on its children: the request that it answers (KEP-5313 › Terminology › Placement key).
pub const LABEL_PLACEMENT_KEY: &str = "multicluster.x-k8s.io/placement-key";

/// Names the cluster manager of a profile (KEP-4322 › Spec › Cluster Manager).
pub const LABEL_MANAGER: &str = "x-k8s.io/cluster-manager";
/// On a namespace: the ClusterSet that its profiles represent (KEP-4322 › Notes › organizing on a hub).
pub const LABEL_CLUSTERSET: &str = "clusterset.multicluster.x-k8s.io";
/// The key for the same purpose in the API's Go package.
pub const LABEL_CLUSTERSET_GO: &str = "multicluster.x-k8s.io/clusterset";
/// Identifies a member within one inventory (edition 2026-09).
pub const LABEL_MEMBER_ID: &str = "multicluster.x-k8s.io/inventory-member-id";
/// On a Secret: the profile whose member it gives access to (KEP-4322 › Secret format).
pub const LABEL_SECRET_PROFILE: &str = "x-k8s.io/cluster-profile";
/// On a Secret: the namespace of that profile, if it is ambiguous.
pub const LABEL_SECRET_PROFILE_NAMESPACE: &str = "x-k8s.io/cluster-profile-namespace";
/// On a Namespace: the consumer whose Secrets it holds (KEP-4322 › Secret format).
pub const LABEL_CONSUMER: &str = "x-k8s.io/cluster-inventory-consumer";
/// On a member's ClusterProperty: the profile may show it (KEP-4322 › Properties).
pub const LABEL_HONOURED_PROPERTY: &str = "multicluster.x-k8s.io/clusterProfile";
/// A ClusterProperty with a name in this domain is the suite's own: a manager knows it from the member alone.
pub const PLANTED_DOMAIN: &str = ".clusterprofile-conformance.example";
/// The data key of a consumer's Secret that holds the kubeconfig (KEP-4322 › Secret format).
pub const SECRET_CONFIG_KEY: &str = "Config";

/// Extension of an access provider: settings passed to its plugin unchanged (client authentication API).
pub const EXTENSION_EXEC: &str = "client.authentication.k8s.io/exec";
/// Extension of an access provider: additional arguments of its plugin (KEP-5339).
pub const EXTENSION_ARGS: &str = "clusterprofiles.multicluster.x-k8s.io/exec/additional-args";
/// Extension of an access provider: additional environment variables of its plugin (KEP-5339).
pub const EXTENSION_ENVS: &str = "clusterprofiles.multicluster.x-k8s.io/exec/additional-envs";

/// Condition: the member's control plane is healthy (KEP-4322 › Conditions).
pub const CONDITION_HEALTHY: &str = "ControlPlaneHealthy";
/// Condition: the member is under management (KEP-4322 › Conditions).
pub const CONDITION_JOINED: &str = "Joined";

/// Property: how to reach the member's API server, required in edition `standard`.
pub const PROPERTY_ENDPOINTS: &str = "cluster-endpoints.k8s.io";
/// Property: where the member is; immutable in edition `standard`.
pub const PROPERTY_LOCATION: &str = "location.topology.k8s.io";
/// Property: how many nodes the member has.
pub const PROPERTY_NODE_COUNT: &str = "count.node.k8s.io";
/// Property: which types of nodes the member has.
pub const PROPERTY_NODE_TYPES: &str = "type.node.k8s.io";
/// Property: where the member's metrics can be queried, by type.
pub const PROPERTY_METRICS_ENDPOINTS: &str = "metrics-endpoints.k8s.io";
/// Property: the groups of the custom resources that the member has.
pub const PROPERTY_RESOURCE_GROUPS: &str = "group.customResource.k8s.io";
/// The standard properties of edition `standard` (KEP-4322 › Status › Properties).
pub const STANDARD_PROPERTIES: [&str; 6] = [
    PROPERTY_ENDPOINTS,
    PROPERTY_LOCATION,
    PROPERTY_NODE_COUNT,
    PROPERTY_NODE_TYPES,
    PROPERTY_METRICS_ENDPOINTS,
    PROPERTY_RESOURCE_GROUPS,
];
/// Property: the ClusterSet of the member (About API).
pub const PROPERTY_CLUSTERSET: &str = "clusterset.k8s.io";
/// Property: the id of the member in its ClusterSet (About API).
pub const PROPERTY_CLUSTER_ID: &str = "cluster.clusterset.k8s.io";
/// Properties that identify a cluster for its lifetime (About API and those in use).
pub const PROPERTIES_CLUSTER_ID: [&str; 3] =
    [PROPERTY_CLUSTER_ID, "clusterset.k8s.io/cluster-id", "id.k8s.io"];
