//! Lists the consumers' Secrets at the end, and keeps digests instead of values.

use std::sync::Arc;

use evidence::{Asked, Gap, Kind, Secret, Unreadable, api::names, lenient, lenient::Untyped};
use kube::client::Client;
use parking_lot::Mutex;
use serde_json::Value;

use super::{
    Wish,
    call::{Failure, segment},
    digester::new_digester,
    list::list,
    missing::NO_SECRETS,
    permissions::Permissions,
};

/// The Secrets that could be read.
#[derive(Debug, Default)]
pub(super) struct Secrets {
    pub secrets: Vec<Secret>,
    pub unreadable: Vec<Unreadable>,
}

/// Where the Secrets may be listed: everywhere (an empty name), or only in namespaces of the scope. Consumers'
/// namespaces are seldom those of the profiles, so everywhere is better.
pub(super) fn places(permissions: &Permissions, scope: &[String]) -> Vec<String> {
    if permissions.allows("list", "", "secrets", "") != Some(false) {
        return vec![String::new()];
    }
    let allowed = |name: &&String| permissions.allows("list", "", "secrets", name) == Some(true);
    scope.iter().filter(allowed).cloned().collect()
}

/// The path of the labelled Secrets of a namespace, or of all where that is empty.
pub(super) fn path(namespace: &str) -> String {
    let namespace = match namespace {
        "" => String::new(),
        name => format!("namespaces/{}/", segment(name)),
    };
    let label = segment(names::LABEL_SECRET_PROFILE);
    format!("/api/v1/{namespace}secrets?labelSelector={label}")
}

/// Whether Secrets are to be asked for, and where.
pub(super) fn asked(
    wish: &Wish,
    permissions: &Permissions,
    scope: &[String],
) -> (Asked, Vec<String>, Option<Gap>) {
    let places = places(permissions, scope);
    match wish {
        Wish::No(reason) => (Asked::No(reason.clone()), Vec::new(), None),
        Wish::Asked if places.is_empty() => (Asked::Yes, places, Some(gap(NO_SECRETS))),
        Wish::IfAllowed if places.is_empty() => (Asked::No(NO_SECRETS.to_owned()), places, None),
        Wish::Asked | Wish::IfAllowed => (Asked::Yes, places, None),
    }
}

/// Something of the Secrets that could not be had.
pub(super) fn gap(reason: impl Into<String>) -> Gap {
    Gap {
        kind: Kind::Secrets,
        from: None,
        until: None,
        object: None,
        reason: reason.into(),
    }
}

/// Lists and digests the labelled Secrets, sorted by namespace and name.
///
/// # Errors
/// When the hub refuses or does not answer. No message holds anything of a Secret.
pub(super) async fn secrets(client: &Client, places: &[String]) -> Result<Secrets, Failure> {
    let digester = Arc::new(new_digester());
    let found = Arc::new(Mutex::new(Secrets::default()));
    for namespace in places {
        let path = path(namespace);
        let (digester, into) = (Arc::clone(&digester), Arc::clone(&found));
        let each = move |json: &[u8]| {
            let digested = match serde_json::from_slice::<Value>(json) {
                Ok(value) => digester.secret(&value),
                Err(error) => Err(Box::new(Unreadable {
                    object: lenient::identity(Untyped::Text(json), "Secret"),
                    message: lenient::unparsable(json, &error),
                })),
            };
            let mut found = into.lock();
            match digested {
                Ok(secret) => found.secrets.push(secret),
                Err(unreadable) => found.unreadable.push(*unreadable),
            }
        };
        list(client, &path, each).await?;
    }
    let mut found = std::mem::take(&mut *found.lock());
    found
        .secrets
        .sort_by(|one, other| (&one.namespace, &one.name).cmp(&(&other.namespace, &other.name)));
    Ok(found)
}
