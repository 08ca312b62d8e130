//! Finds the resource that a request addresses.

use std::sync::Arc;

use super::{
    resource::{ApiVersion, Family, Resource, id},
    storage::{Storage, Table, key},
};
use crate::object::status::{HandlerResult, StatusFailure};

/// The address of a request within the API.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RequestTarget {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) resource: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) subresource: String,
    /// The path has segments after the subresource.
    pub(crate) beyond: bool,
}

/// The addressed resource, the version of the request, and the address.
#[derive(Clone)]
pub(crate) struct Route {
    pub(crate) resource: Arc<Resource>,
    version: usize,
    pub(crate) target: Arc<RequestTarget>,
}

impl Route {
    pub(crate) fn version(&self) -> &ApiVersion {
        &self.resource.versions[self.version]
    }

    pub(crate) fn api_version(&self) -> String {
        self.resource.api_version(&self.version().name)
    }

    /// The namespace of the request, empty for all and for cluster-scoped resources.
    pub(crate) fn namespace(&self) -> &str {
        if self.resource.namespaced {
            &self.target.namespace
        } else {
            ""
        }
    }

    /// The object's key in storage.
    pub(crate) fn key(&self) -> String {
        key(self.namespace(), &self.target.name)
    }

    /// A resource with one version.
    pub(crate) fn only(resource: Arc<Resource>, target: &Arc<RequestTarget>) -> Self {
        Self {
            resource,
            version: 0,
            target: target.clone(),
        }
    }

    /// Finds the resource that `target` names, if it is served.
    pub(crate) fn find(storage: &Storage, target: &Arc<RequestTarget>) -> HandlerResult<Self> {
        // Built-in groups answer with a Status. Paths of other groups do not exist for the router.
        let is_own = |Table { resource, .. }: &Table| {
            let is_of_group = resource.family != Family::Custom && resource.group == target.group;
            is_of_group && resource.served_version(&target.version).is_some()
        };
        let not_found = || {
            if target.group.is_empty() || storage.tables().any(is_own) {
                StatusFailure::no_such_resource()
            } else {
                StatusFailure::no_such_path()
            }
        };
        // Cluster-scoped resources are not served below a namespace.
        let is_itself = target.resource == "namespaces" && target.namespace == target.name;
        let is_anywhere = target.namespace.is_empty() || is_itself;
        let served = |version: &ApiVersion| version.served && version.name == target.version;
        let found_table = storage.table(&id(&target.group, &target.resource));
        let found_table = found_table.and_then(|table| {
            let version = table.resource.versions.iter().position(served)?;
            (is_anywhere || table.resource.namespaced).then(|| (table.resource.clone(), version))
        });
        let (resource, version) = found_table.ok_or_else(not_found)?;
        let is_custom = resource.family == Family::Custom;
        let has_subresource = match target.subresource.as_str() {
            // Built-in subresources have no paths below them; those of custom resources ignore them.
            _ if target.beyond && !is_custom => false,
            "" => true,
            "status" => resource.versions[version].status_subresource,
            _ => false,
        };
        if !has_subresource {
            return Err(if is_custom {
                StatusFailure::not_found(resource.qualified(), &target.name)
            } else {
                not_found()
            });
        }
        Ok(Self {
            version,
            ..Self::only(resource, target)
        })
    }

    /// Top-level fields that a write to this subresource cannot change.
    pub(crate) fn ignored_fields(&self) -> &'static [&'static str] {
        match (self.target.subresource.as_str(), self.resource.family) {
            ("status", _) if self.resource.decode.is_some() => &["spec"],
            ("status", _) => &["metadata", "spec"],
            (_, Family::Namespace) => &["status"],
            _ if self.version().status_subresource => &["status"],
            _ => &[],
        }
    }
}
