//! ClusterProfile (KEP-4322): one member cluster, as its manager publishes it on the hub.

use evidence::api::names;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionVersion,
};

use super::{
    definition::{Kind, column, definition, root, version},
    schema::{Schema, any_object, boolean, bytes, int64, list, map_list, object, string, timestamp},
};

const KIND: Kind = Kind {
    group: names::GROUP,
    kind: names::KIND,
    singular: "clusterprofile",
    plural: names::PLURAL,
    scope: "Namespaced",
};

/// A condition type, with an optional DNS subdomain and slash before it (`metav1.Condition`).
const CONDITION_TYPE: &str = concat!(
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?",
    r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
);
/// A condition reason: one word (`metav1.Condition`).
const CONDITION_REASON: &str = "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$";

/// The definition of ClusterProfile: `v1alpha1`, which is stored, and the stricter `v1alpha2`.
///
/// The [module](super)'s page says where each comes from.
pub fn cluster_profile() -> CustomResourceDefinition {
    definition(&KIND, vec![v1alpha1(), v1alpha2()])
}

fn v1alpha1() -> CustomResourceDefinitionVersion {
    let manager_name = string().about("The cluster manager's name.");
    let providers = || map_list("name", access_provider_v1alpha1());
    let status = object([
        (
            "accessProviders",
            providers().about("Ways to connect to the cluster, by provider."),
        ),
        ("conditions", conditions()),
        (
            "credentialProviders",
            providers().about(
                "Deprecated: the former name of accessProviders, which wins where both name a provider.",
            ),
        ),
        ("properties", properties()),
        ("version", cluster_version()),
    ]);
    let mut version = version("v1alpha1", profile(manager_name, status));
    version.storage = true;
    version
}

fn v1alpha2() -> CustomResourceDefinitionVersion {
    let manager_name = string()
        .min(1)
        .max(63)
        .rule(
            "self.matches('^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$')",
            "must be a valid Kubernetes label value",
        )
        .about("The cluster manager's name: a label value, since the manager's label repeats it.");
    let status = object([
        (
            "accessProviders",
            map_list("name", access_provider_v1alpha2())
                .max_items(64)
                .about("Ways to connect to the cluster, by provider."),
        ),
        ("conditions", conditions()),
        ("properties", properties()),
        ("version", cluster_version()),
    ]);
    let mut version = version("v1alpha2", profile(manager_name, status));
    version.additional_printer_columns = Some(vec![
        column("Display Name", "string", ".spec.displayName"),
        column("Manager", "string", ".spec.clusterManager.name"),
        column("Version", "string", ".status.version.kubernetes"),
        column(
            "Healthy",
            "string",
            r#".status.conditions[?(@.type=="ControlPlaneHealthy")].status"#,
        ),
        column("Age", "date", ".metadata.creationTimestamp"),
    ]);
    version
}

/// The whole object. The versions differ in the manager's name and in the status.
fn profile(manager_name: Schema, status: Schema) -> Schema {
    let manager = object([("name", manager_name)])
        .required(&["name"])
        .rule("self == oldSelf", "ClusterManager is immutable")
        .about("Who manages this profile; fixed at creation.");
    let spec = object([
        ("clusterManager", manager),
        ("displayName", string().about("A name for people to read.")),
    ])
    .required(&["clusterManager"])
    .about("What the cluster is called and who manages it.");
    let status = status.about("What the cluster manager last saw of the cluster.");
    root([("spec", spec), ("status", status)])
        .required(&["spec"])
        .about("One member cluster of an inventory.")
}

fn conditions() -> Schema {
    let condition = object([
        (
            "lastTransitionTime",
            timestamp().about("When the status last became another."),
        ),
        (
            "message",
            string().max(32768).about("Details for people; may be empty."),
        ),
        (
            "observedGeneration",
            int64()
                .at_least(0.0)
                .about("The metadata.generation that the condition was judged on."),
        ),
        (
            "reason",
            string()
                .min(1)
                .max(1024)
                .pattern(CONDITION_REASON)
                .about("One word, for programs, on why the status is what it is."),
        ),
        (
            "status",
            string()
                .one_of(&["True", "False", "Unknown"])
                .about("Whether the condition holds."),
        ),
        (
            "type",
            string()
                .max(316)
                .pattern(CONDITION_TYPE)
                .about("Which condition this is."),
        ),
    ])
    .required(&["lastTransitionTime", "message", "reason", "status", "type"])
    .about("One aspect of the cluster's state.");
    map_list("type", condition).about("The cluster's conditions, one of each type.")
}

fn properties() -> Schema {
    let property = object([
        (
            "lastObservedTime",
            timestamp().about("When the value was last seen on the cluster."),
        ),
        (
            "name",
            string()
                .min(1)
                .max(253)
                .about("The property's name, well-known or the manager's own."),
        ),
        ("value", string().min(1).max(1024).about("The property's value.")),
    ])
    .required(&["name", "value"])
    .about("One fact about the cluster.");
    map_list("name", property).about("Facts about the cluster: its ClusterProperties and the manager's own.")
}

fn cluster_version() -> Schema {
    object([("kubernetes", string().about("The cluster's Kubernetes version."))])
        .about("The versions that the cluster runs.")
}

fn access_provider_v1alpha1() -> Schema {
    let extension = object([
        (
            "extension",
            any_object().about("Configuration that the provider understands."),
        ),
        ("name", string().about("The extension's name.")),
    ])
    .required(&["extension", "name"])
    .about("Named configuration of one provider.");
    let cluster = object([
        (
            "certificate-authority",
            string().about("A file of CA certificates; means nothing in a profile."),
        ),
        ("certificate-authority-data", ca_data()),
        ("disable-compression", disable_compression()),
        (
            "extensions",
            list(extension).about("Configuration for the provider."),
        ),
        ("insecure-skip-tls-verify", insecure_skip_tls_verify()),
        ("proxy-url", string().about("The proxy to go through.")),
        ("server", string().about("The API server's address.")),
        ("tls-server-name", tls_server_name()),
    ])
    .required(&["server"])
    .about("How to connect.");
    object([
        ("cluster", cluster),
        ("name", string().about("The provider's name.")),
    ])
    .required(&["name"])
    .about("One way to connect to the cluster.")
}

fn access_provider_v1alpha2() -> Schema {
    let extension = object([
        (
            "extension",
            any_object().about("Configuration that the provider understands."),
        ),
        ("name", string().min(1).max(253).about("The extension's name.")),
    ])
    .required(&["extension", "name"])
    .about("Named configuration of one provider.");
    let cluster = object([
        ("certificate-authority-data", ca_data()),
        ("disable-compression", disable_compression()),
        (
            "extensions",
            map_list("name", extension).about("Configuration for the provider, one of each name."),
        ),
        ("insecure-skip-tls-verify", insecure_skip_tls_verify()),
        (
            "proxy-url",
            string()
                .max(2048)
                .rule(
                    "self == '' || (isURL(self) && url(self).getScheme() in ['http', 'https', 'socks5'] \
                     && url(self).getHost() != '')",
                    "proxy-url must be a valid URL with scheme http, https, or socks5 and a host",
                )
                .about("The proxy to go through."),
        ),
        (
            "server",
            string()
                .max(2048)
                .rule(
                    "isURL(self) && url(self).getHost() != ''",
                    "server must be a valid absolute URL with a host",
                )
                .about("The API server's URL."),
        ),
        ("tls-server-name", tls_server_name().max(253)),
    ])
    .required(&["server"])
    .about("How to connect.");
    object([
        ("cluster", cluster),
        ("name", string().min(1).max(253).about("The provider's name.")),
    ])
    .required(&["cluster", "name"])
    .about("One way to connect to the cluster.")
}

fn ca_data() -> Schema {
    bytes().about("CA certificates in PEM, for verifying the server.")
}

fn disable_compression() -> Schema {
    boolean().about("Ask the server for uncompressed answers.")
}

fn insecure_skip_tls_verify() -> Schema {
    boolean().about("Do not verify the server's certificate.")
}

fn tls_server_name() -> Schema {
    string().about("The name that the server's certificate has to bear, where it is not the host's.")
}
