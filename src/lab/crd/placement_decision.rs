//! PlacementDecision (KEP-5313): the clusters that a scheduler selected, or a slice of them.

use evidence::api::names;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionVersion,
};

use super::{
    definition::{Kind, column, definition, root, version_without_status},
    schema::{Schema, list, object, string},
};

const KIND: Kind = Kind {
    group: names::GROUP,
    kind: names::PLACEMENT_KIND,
    singular: "placementdecision",
    plural: names::PLACEMENT_PLURAL,
    scope: "Namespaced",
};

/// The definition of PlacementDecision: `v1alpha1`, which is stored, and the stricter `v1alpha2`. Neither has a status.
///
/// The [module](super)'s page says where each comes from.
pub fn placement_decision() -> CustomResourceDefinition {
    definition(&KIND, vec![v1alpha1(), v1alpha2()])
}

fn v1alpha1() -> CustomResourceDefinitionVersion {
    let decisions = decisions(string(), string()).min_items(0);
    let mut version = version_without_status("v1alpha1", slice(decisions));
    version.storage = true;
    version
}

fn v1alpha2() -> CustomResourceDefinitionVersion {
    let name = string().max(253).rule(
        "self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",
        "must be a valid RFC 1123 DNS subdomain",
    );
    let namespace = string().max(63).rule(
        "self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",
        "must be a valid RFC 1123 DNS label",
    );
    let mut version = version_without_status("v1alpha2", slice(decisions(name, namespace)));
    version.additional_printer_columns = Some(vec![
        column("Scheduler", "string", ".schedulerName"),
        column("Age", "date", ".metadata.creationTimestamp"),
    ]);
    version
}

/// The whole object. The versions differ in the names of a reference.
fn slice(decisions: Schema) -> Schema {
    let scheduler = string().about("The scheduler that selected the clusters, for people who look for it.");
    root([("decisions", decisions), ("schedulerName", scheduler)])
        .required(&["decisions"])
        .about(
            "The clusters that a scheduler selected. Of more than 100 clusters it writes several of these, \
             which share the label multicluster.x-k8s.io/decision-key.",
        )
}

fn decisions(name: Schema, namespace: Schema) -> Schema {
    let reference = object([
        ("name", name.about("The profile's name.")),
        (
            "namespace",
            namespace.about("The profile's namespace; without it, that of the PlacementDecision."),
        ),
    ])
    .required(&["name"])
    .about("The cluster's ClusterProfile.");
    let decision = object([
        ("clusterProfileRef", reference),
        (
            "reason",
            string().about("Why the cluster was selected, for people."),
        ),
    ])
    .required(&["clusterProfileRef"])
    .about("One selected cluster.");
    let most = i64::try_from(names::LARGEST_SLICE).unwrap_or(i64::MAX);
    list(decision)
        .max_items(most)
        .about("The selected clusters; empty if there is none.")
}
