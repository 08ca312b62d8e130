//! An action that needs authorization.

use std::borrow::Cow;

use serde::Deserialize;

use crate::request::info::RequestInfo;

/// An action, as RBAC sees it.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Act<'a> {
    pub(crate) verb: &'a str,
    pub(crate) group: &'a str,
    pub(crate) resource: &'a str,
    pub(crate) subresource: &'a str,
    /// Empty at the cluster scope.
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    /// The path of a request that is about no resource.
    pub(crate) path: Option<&'a str>,
}

impl<'a> Act<'a> {
    /// The action of a request.
    pub(crate) fn of(info: &'a RequestInfo) -> Self {
        match &info.target {
            Some(target) => Self {
                verb: info.verb,
                group: &target.group,
                resource: &target.resource,
                subresource: &target.subresource,
                namespace: &target.namespace,
                name: &target.name,
                path: None,
            },
            None => Self {
                verb: info.verb,
                path: Some(&info.path),
                ..Self::default()
            },
        }
    }

    /// `widgets`, `widgets/status`
    pub(super) fn whole_resource(&self) -> Cow<'a, str> {
        match self.subresource {
            "" => self.resource.into(),
            subresource => format!("{}/{subresource}", self.resource).into(),
        }
    }
}
