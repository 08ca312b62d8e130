//! Lists the Namespaces.

use evidence::{Namespace, Unreadable, lenient};
use serde_json::Value;

use super::permissions::Permissions;
use crate::{
    connect::{
        call::{TimedClient, get, segment},
        failure::Failure,
    },
    watch::list::fold_list,
};

/// The Namespaces that could be read.
#[derive(Debug, Default)]
pub(crate) struct Namespaces {
    pub namespaces: Vec<Namespace>,
    pub unreadable: Vec<Unreadable>,
}

impl Namespaces {
    fn take(&mut self, json: &[u8]) {
        match lenient::namespace(json) {
            Ok(namespace) => self.namespaces.push(namespace),
            Err(unreadable) => self.unreadable.push(*unreadable),
        }
    }
}

/// Whether the runner may list Namespaces, or get each of the scope.
pub(crate) fn allowed(permissions: &Permissions, scope: &[String]) -> bool {
    let by_name = || {
        !scope.is_empty()
            && scope
                .iter()
                .all(|name| permissions.allows("get", "", "namespaces", name) != Some(false))
    };
    permissions.allows("list", "", "namespaces", "") != Some(false) || by_name()
}

/// All namespaces or, where these may not be listed, those of the scope. Sorted by name.
pub(crate) async fn namespaces(
    client: &TimedClient,
    permissions: &Permissions,
    scope: &[String],
) -> Result<Namespaces, Failure> {
    let mut found = if permissions.allows("list", "", "namespaces", "") == Some(false) {
        let mut found = Namespaces::default();
        for name in scope {
            match get::<Value>(client, &format!("/api/v1/namespaces/{}", segment(name))).await {
                Ok(object) => found.take(object.to_string().as_bytes()),
                Err(failure) if failure.code() == 404 => {}
                Err(failure) => return Err(failure),
            }
        }
        found
    } else {
        fold_list(client, "/api/v1/namespaces", Namespaces::take).await?
    };
    found.namespaces.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(found)
}
