//! Counts the consumer Secrets of a profile by their metadata alone.

use std::sync::Arc;

use evidence::{ObjectKey, api::names};
use parking_lot::Mutex;
use serde_json::Value;

use super::session::RunContext;
use crate::{
    hub::{
        secrets::{places, selected},
        wanted::Wish,
    },
    watch::list::list_metadata,
};

/// The number of Secrets for a profile; none if they cannot be read, or are not wanted.
pub(super) async fn count(context: &RunContext<'_>, profile: &ObjectKey) -> Option<usize> {
    let places = places(context.permissions, &context.scope.namespaces);
    if places.is_empty() || matches!(context.secrets, Wish::No(_)) {
        return None;
    }
    let selector = format!("{}={}", names::LABEL_SECRET_PROFILE, profile.name);
    let namespaces = Arc::<Mutex<Vec<Value>>>::default();
    for place in places {
        let into = Arc::clone(&namespaces);
        let each = move |json: &[u8]| {
            let secret = serde_json::from_slice::<Value>(json).unwrap_or_default();
            let namespace = &secret["metadata"]["labels"][names::LABEL_SECRET_PROFILE_NAMESPACE];
            into.lock().push(namespace.clone());
        };
        list_metadata(context.client, &selected(&place, &selector), each)
            .await
            .ok()?;
    }
    // The label for the namespace is optional.
    let is_of_profile = |namespace: &&Value| namespace.is_null() || **namespace == *profile.namespace;
    let count = namespaces.lock().iter().filter(is_of_profile).count();
    Some(count)
}
