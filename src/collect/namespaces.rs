//! Namespaces, listed.

use std::sync::{Arc, Mutex, PoisonError};

use kube::client::Client;
use serde::Deserialize;

use super::{
    call::{Failure, get, segment},
    list::list,
    permissions::Permissions,
};
use crate::{api::Labels, evidence::Namespace};

/// What of a Namespace is of use.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Object {
    metadata: Metadata,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Metadata {
    name: String,
    uid: String,
    resource_version: String,
    labels: Option<Labels>,
}

impl From<Object> for Namespace {
    fn from(Object { metadata }: Object) -> Self {
        Namespace {
            name: metadata.name,
            uid: metadata.uid,
            resource_version: metadata.resource_version,
            labels: metadata.labels.unwrap_or_default(),
        }
    }
}

/// Whether namespaces can be had at all: listed, or each of the scope by its name.
pub(super) fn allowed(permissions: &Permissions, scope: &[String]) -> bool {
    let by_name = || {
        !scope.is_empty()
            && scope
                .iter()
                .all(|name| permissions.allows("get", "", "namespaces", name) != Some(false))
    };
    permissions.allows("list", "", "namespaces", "") != Some(false) || by_name()
}

/// All namespaces or, where these may not be listed, those of the scope. Sorted by name.
///
/// # Errors
/// When the hub refuses or does not answer.
pub(super) async fn namespaces(
    client: &Client,
    permissions: &Permissions,
    scope: &[String],
) -> Result<Vec<Namespace>, Failure> {
    let mut found = if permissions.allows("list", "", "namespaces", "") == Some(false) {
        let mut found = Vec::new();
        for name in scope {
            match get::<Object>(client, &format!("/api/v1/namespaces/{}", segment(name))).await {
                Ok(object) => found.push(object.into()),
                Err(failure) if failure.code() == 404 => {}
                Err(failure) => return Err(failure),
            }
        }
        found
    } else {
        let found = Arc::new(Mutex::new(Vec::<Namespace>::new()));
        let into = Arc::clone(&found);
        let each = move |json: &[u8]| {
            if let Ok(object) = serde_json::from_slice::<Object>(json) {
                into.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(object.into());
            }
        };
        list(client, "/api/v1/namespaces", each).await?;
        std::mem::take(&mut *found.lock().unwrap_or_else(PoisonError::into_inner))
    };
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(found)
}
