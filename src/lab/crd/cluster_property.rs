//! ClusterProperty (About API, KEP-2149): a fact that a member reports about itself.

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionVersion,
};

use super::{
    definition::{Kind, column, definition, root, version},
    schema::{object, string},
};

const KIND: Kind = Kind {
    group: "about.k8s.io",
    kind: "ClusterProperty",
    singular: "clusterproperty",
    plural: "clusterproperties",
    scope: "Cluster",
};

/// API servers refuse definitions under `k8s.io` without this annotation.
const APPROVAL: (&str, &str) = (
    "api-approved.kubernetes.io",
    "https://github.com/kubernetes/enhancements/pull/3084",
);

/// The definition of ClusterProperty: `v1alpha1` and `v1beta1`, which differ only in name; `v1beta1` is stored.
pub fn cluster_property() -> CustomResourceDefinition {
    let mut stored = about("v1beta1");
    stored.storage = true;
    let mut definition = definition(&KIND, vec![about("v1alpha1"), stored]);
    definition.metadata.annotations = Some(BTreeMap::from([(APPROVAL.0.to_owned(), APPROVAL.1.to_owned())]));
    definition
}

fn about(name: &str) -> CustomResourceDefinitionVersion {
    let spec = object([("value", string().min(1).about("What the property says."))])
        .required(&["value"])
        .about("The property, as the member's administrator set it.");
    let status = object([]).about("Nothing is reported yet.");
    let mut version = version(
        name,
        root([("spec", spec), ("status", status)])
            .about("One fact about the cluster that it lives in, named by its metadata.name."),
    );
    version.additional_printer_columns = Some(vec![
        column("value", "string", ".spec.value"),
        column("age", "date", ".metadata.creationTimestamp"),
    ]);
    version
}
