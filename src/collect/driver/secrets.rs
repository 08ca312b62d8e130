//! Counts the consumer Secrets of a profile by their metadata alone.

use std::time::Duration;

use evidence::{
    ObjectKey,
    api::{Labels, names},
};
use http::{HeaderValue, Method, header};
use serde::Deserialize;

use super::run_context::RunContext;
use crate::{
    Wish,
    call::{Failure, read, request, segment, send},
    list::next_page,
    secrets::places,
};

/// Interval of asking whether they are gone.
pub(super) const EVERY: Duration = Duration::from_secs(5);
/// Asks for metadata alone.
const METADATA: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

#[derive(Default, Deserialize)]
#[serde(default)]
struct List {
    /// An API server writes `null` where there are none.
    items: Option<Vec<Item>>,
    metadata: ListMetadata,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ListMetadata {
    /// The token of the next page; empty at the end.
    #[serde(rename = "continue")]
    rest: String,
}

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

/// How many Secrets name that profile; none where they cannot be read, or are not wanted.
pub(super) async fn count(context: &RunContext<'_>, profile: &ObjectKey) -> Option<usize> {
    let places = places(context.permissions, &context.plan.scope.namespaces);
    if places.is_empty() || matches!(context.plan.secrets, Wish::No(_)) {
        return None;
    }
    let mut count = 0;
    for place in places {
        count += count_in(context, &place, profile).await.ok()?;
    }
    Some(count)
}

async fn count_in(context: &RunContext<'_>, place: &str, profile: &ObjectKey) -> Result<usize, Failure> {
    let namespace = match place {
        "" => String::new(),
        name => format!("namespaces/{}/", segment(name)),
    };
    let selector = format!("{}={}", names::LABEL_SECRET_PROFILE, profile.name);
    let path = format!("/api/v1/{namespace}secrets?labelSelector={}", segment(&selector));
    let is_its = |item: &Item| {
        let labels = item.metadata.labels.as_ref();
        let namespace = labels.and_then(|labels| labels.get(names::LABEL_SECRET_PROFILE_NAMESPACE));
        namespace.is_none_or(|namespace| *namespace == profile.namespace)
    };
    let (mut count, mut page) = (0, path.clone());
    loop {
        let mut request = request(Method::GET, &page)?;
        request
            .headers_mut()
            .insert(header::ACCEPT, HeaderValue::from_static(METADATA));
        let answer = send(context.client, request).await?;
        let list: List = read(answer, &path, context.client.request_timeout).await?;
        count += list.items.iter().flatten().filter(|item| is_its(item)).count();
        let next = next_page(&path, &list.metadata.rest);
        if list.metadata.rest.is_empty() {
            return Ok(count);
        }
        if next == page {
            return Err(Failure::broken("the hub's list does not end"));
        }
        context.client.toll.turn().await;
        page = next;
    }
}
