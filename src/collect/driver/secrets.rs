//! Counts the consumer Secrets of a profile by their metadata alone.

use std::{sync::Arc, time::Duration};

use evidence::{
    ObjectKey,
    api::{Labels, names},
};
use parking_lot::Mutex;
use serde::Deserialize;

use super::run_context::RunContext;
use crate::{
    hub::{
        secrets::{places, selected},
        wanted::Wish,
    },
    watch::list::list_metadata,
};

/// Interval of asking whether they are gone.
pub(super) const EVERY: Duration = Duration::from_secs(5);

#[derive(Default, Deserialize)]
#[serde(default)]
struct Item {
    metadata: Metadata,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Metadata {
    labels: Option<Labels>,
}

impl Item {
    /// Whether it names that namespace, or none.
    fn is_of(&self, namespace: &str) -> bool {
        let labels = self.metadata.labels.as_ref();
        let named = labels.and_then(|labels| labels.get(names::LABEL_SECRET_PROFILE_NAMESPACE));
        named.is_none_or(|named| *named == *namespace)
    }
}

/// How many Secrets name that profile; none where they cannot be read, or are not wanted.
pub(super) async fn count(context: &RunContext<'_>, profile: &ObjectKey) -> Option<usize> {
    let places = places(context.permissions, &context.scope.namespaces);
    if places.is_empty() || matches!(context.secrets, Wish::No(_)) {
        return None;
    }
    let mut count = 0;
    for place in places {
        count += count_in(context, &place, profile).await?;
    }
    Some(count)
}

async fn count_in(context: &RunContext<'_>, place: &str, profile: &ObjectKey) -> Option<usize> {
    let path = selected(
        place,
        &format!("{}={}", names::LABEL_SECRET_PROFILE, profile.name),
    );
    let count = Arc::new(Mutex::new(Some(0)));
    let (counted, namespace) = (Arc::clone(&count), profile.namespace.clone());
    let each = move |json: &[u8]| {
        let mut counted = counted.lock();
        *counted = match serde_json::from_slice::<Item>(json) {
            Ok(item) => counted.map(|count| count + usize::from(item.is_of(&namespace))),
            Err(_) => None,
        };
    };
    list_metadata(context.client, &path, each).await.ok()?;
    *count.lock()
}
