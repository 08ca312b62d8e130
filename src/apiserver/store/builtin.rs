//! The resources that every server has from the start.

use std::{
    any::TypeId,
    sync::{Arc, LazyLock},
};

use k8s_openapi::{
    ClusterResourceScope,
    api::{
        authentication::v1 as authentication, authorization::v1 as authorization, autoscaling::v1::Scale,
        coordination::v1::Lease, core::v1 as core, events::v1 as events, rbac::v1 as rbac,
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    schemars::JsonSchema,
};
use serde_json::{Value, json};

use super::resource::{Family, Resource, Version};
use crate::{schema::Schema, typed};

/// Fields of Events by which they are selected, in the core group and in the other.
const OF_EVENTS: [&str; 2] = [
    "involvedObject.kind involvedObject.namespace involvedObject.name involvedObject.uid involvedObject.apiVersion \
     involvedObject.resourceVersion involvedObject.fieldPath reason reportingComponent source type",
    "regarding.kind regarding.namespace regarding.name regarding.uid regarding.apiVersion \
     regarding.resourceVersion regarding.fieldPath reason reportingController type",
];

/// The server's own groups, in their order; custom ones follow by name.
pub(crate) const OWN_GROUPS: [&str; 7] = [
    "",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "rbac.authorization.k8s.io",
    "apiextensions.k8s.io",
    "coordination.k8s.io",
];

/// Whether a group is the server's own, and not defined by anyone.
pub(crate) fn is_own(group: &str) -> bool {
    OWN_GROUPS.contains(&group)
}

/// The resources that every server has from the start.
pub(crate) fn resources() -> impl Iterator<Item = Resource> {
    static COMPILED: LazyLock<[Resource; 19]> = LazyLock::new(|| {
        [
            typed::<core::Namespace>(Family::Namespace, "ns", "status.phase"),
            typed::<core::Secret>(Family::Secret, "", "type"),
            typed::<core::ConfigMap>(Family::ConfigMap, "cm", ""),
            typed::<core::ServiceAccount>(Family::ServiceAccount, "sa", ""),
            typed::<core::Event>(Family::Event, "ev", OF_EVENTS[0]),
            typed::<events::Event>(Family::Event, "ev", OF_EVENTS[1]),
            typed::<core::Node>(Family::Node, "no", "spec.unschedulable"),
            typed::<Lease>(Family::Lease, "", ""),
            typed::<rbac::Role>(Family::Access, "", ""),
            typed::<rbac::ClusterRole>(Family::Access, "", ""),
            typed::<rbac::RoleBinding>(Family::Access, "", ""),
            typed::<rbac::ClusterRoleBinding>(Family::Access, "", ""),
            typed::<authentication::SelfSubjectReview>(Family::Review, "", ""),
            typed::<authentication::TokenReview>(Family::Review, "", ""),
            typed::<authorization::LocalSubjectAccessReview>(Family::Review, "", ""),
            typed::<authorization::SelfSubjectAccessReview>(Family::Review, "", ""),
            typed::<authorization::SelfSubjectRulesReview>(Family::Review, "", ""),
            typed::<authorization::SubjectAccessReview>(Family::Review, "", ""),
            Resource {
                categories: vec!["api-extensions".to_owned()],
                ..resource::<CustomResourceDefinition>(
                    Family::Definition,
                    "crd crds",
                    "",
                    definition_schema(),
                )
            },
        ]
    });
    COMPILED.iter().cloned()
}

/// What is asked of a service account, and served below that alone: a request for its token is decoded by it.
pub(crate) fn token_request() -> Arc<Resource> {
    static COMPILED: LazyLock<Arc<Resource>> =
        LazyLock::new(|| typed::<authentication::TokenRequest>(Family::Review, "", "").into());
    COMPILED.clone()
}

/// What is served below objects that can be scaled: the resource of the scales of those with this scope.
pub(crate) fn scale(namespaced: bool) -> Arc<Resource> {
    static COMPILED: LazyLock<[Arc<Resource>; 2]> = LazyLock::new(|| {
        let plural = "scales".to_owned();
        let scale = Resource {
            plural,
            ..typed::<Scale>(Family::Other, "", "")
        };
        [false, true].map(|namespaced| {
            Resource {
                namespaced,
                ..scale.clone()
            }
            .into()
        })
    });
    COMPILED[usize::from(namespaced)].clone()
}

/// The resource of a kind that is decoded by the table of types.
fn typed<T>(family: Family, short_names: &str, selectable: &str) -> Resource
where
    T: k8s_openapi::Resource<Scope: 'static> + JsonSchema,
{
    resource::<T>(family, short_names, selectable, typed::schema::<T>())
}

/// The resource of a kind, with its short names and the fields by which its objects are selected besides name and
/// namespace.
fn resource<T>(family: Family, short_names: &str, selectable: &str, schema: Value) -> Resource
where
    T: k8s_openapi::Resource<Scope: 'static>,
{
    let texts = |list: &str| list.split_whitespace().map(str::to_owned).collect();
    Resource {
        group: T::GROUP.to_owned(),
        plural: T::URL_PATH_SEGMENT.to_owned(),
        singular: T::KIND.to_lowercase(),
        kind: T::KIND.to_owned(),
        list_kind: format!("{}List", T::KIND),
        short_names: texts(short_names),
        categories: Vec::new(),
        namespaced: TypeId::of::<T::Scope>() != TypeId::of::<ClusterResourceScope>(),
        family,
        versions: vec![Version {
            status_subresource: matches!(family, Family::Namespace | Family::Node | Family::Definition),
            schema: Schema::compile(&schema).unwrap_or_default(),
            selectable: texts(selectable),
            openapi: Arc::new(schema),
            ..Version::plain(T::VERSION)
        }],
    }
}

/// The schema of definitions. What it leaves open is read by [`super::definition`].
fn definition_schema() -> Value {
    let mut schema = typed::schema::<CustomResourceDefinition>();
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    schema["properties"]["spec"]["properties"]["versions"]["items"] = any;
    let conditions = &mut schema["properties"]["status"]["properties"]["conditions"];
    conditions["x-kubernetes-list-type"] = "map".into();
    conditions["x-kubernetes-list-map-keys"] = json!(["type"]);
    schema
}
