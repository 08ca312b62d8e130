//! The built-in resources.

use std::{
    any::TypeId,
    sync::{Arc, LazyLock},
};

use k8s_openapi::{
    ClusterResourceScope,
    api::{
        authentication::v1 as authentication, authorization::v1 as authorization, coordination::v1::Lease,
        core::v1 as core, events::v1 as events, rbac::v1 as rbac,
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::resource::{ApiVersion, Family, Resource};
use crate::{schema::Schema, typed};

/// The selectable fields of Events, in the core group and in `events.k8s.io`.
const OF_EVENTS: [&str; 2] = [
    "involvedObject.kind involvedObject.namespace involvedObject.name involvedObject.uid involvedObject.apiVersion \
     involvedObject.resourceVersion involvedObject.fieldPath reason reportingComponent source type",
    "regarding.kind regarding.namespace regarding.name regarding.uid regarding.apiVersion \
     regarding.resourceVersion regarding.fieldPath reason reportingController type",
];

/// The built-in groups in discovery's order. Groups of CRDs follow by name.
pub(crate) const OWN_GROUPS: [&str; 7] = [
    "",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "rbac.authorization.k8s.io",
    "apiextensions.k8s.io",
    "coordination.k8s.io",
];

/// True if a group is built in, not defined by a CRD.
pub(crate) fn is_own(group: &str) -> bool {
    OWN_GROUPS.contains(&group)
}

/// The built-in resources.
pub(crate) fn resources() -> impl Iterator<Item = Resource> {
    static COMPILED: LazyLock<[Resource; 17]> = LazyLock::new(|| {
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
            typed::<authorization::SelfSubjectAccessReview>(Family::Review, "", ""),
            typed::<authorization::SelfSubjectRulesReview>(Family::Review, "", ""),
            typed::<authorization::SubjectAccessReview>(Family::Review, "", ""),
            Resource {
                categories: vec!["api-extensions".to_owned()],
                ..resource::<CustomResourceDefinition>(
                    Family::Definition,
                    "crd crds",
                    "",
                    typed::schema::<CustomResourceDefinition>(),
                )
            },
        ]
    });
    COMPILED.iter().cloned()
}

/// The resource of token requests, a subresource of service accounts.
pub(crate) fn token_request() -> Arc<Resource> {
    static COMPILED: LazyLock<Arc<Resource>> =
        LazyLock::new(|| typed::<authentication::TokenRequest>(Family::Review, "", "").into());
    COMPILED.clone()
}

/// A resource whose objects are decoded as `T`.
fn typed<T>(family: Family, short_names: &str, selectable: &str) -> Resource
where
    T: k8s_openapi::Resource<Scope: 'static> + Serialize + DeserializeOwned,
{
    Resource {
        decode: Some(typed::decode_as::<T>),
        ..resource::<T>(family, short_names, selectable, typed::schema::<T>())
    }
}

/// A resource with its short names, and its selectable fields besides name and namespace.
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
        decode: None,
        namespaced: TypeId::of::<T::Scope>() != TypeId::of::<ClusterResourceScope>(),
        family,
        versions: vec![ApiVersion {
            status_subresource: matches!(family, Family::Namespace | Family::Node | Family::Definition),
            schema: Schema::compile(&schema).unwrap_or_default(),
            selectable: texts(selectable),
            openapi: Arc::new(schema),
            columns: columns(T::KIND).into(),
            ..ApiVersion::plain(T::VERSION)
        }],
    }
}

/// The printer columns of a built-in kind, as CRDs have them. None for a name and an age.
fn columns(kind: &str) -> Value {
    let columns: &[(&str, &str, &str)] = match kind {
        "Namespace" => &[("Status", "string", ".status.phase")],
        "Secret" => &[("Type", "string", ".type")],
        "Lease" => &[("Holder", "string", ".spec.holderIdentity")],
        "Event" => &[
            ("Last Seen", "date", ".lastTimestamp"),
            ("Type", "string", ".type"),
            ("Reason", "string", ".reason"),
            ("Object", "string", ".involvedObject.name"),
            ("Message", "string", ".message"),
        ],
        "Node" => &[("Version", "string", ".status.nodeInfo.kubeletVersion")],
        "RoleBinding" | "ClusterRoleBinding" => &[("Role", "string", ".roleRef.name")],
        _ => return Value::Null,
    };
    let age = ("Age", "date", ".metadata.creationTimestamp");
    let columns = columns.iter().chain([&age]);
    columns
        .map(|(name, kind, path)| json!({"name": name, "type": kind, "jsonPath": path}))
        .collect()
}
