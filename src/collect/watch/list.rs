//! Lists, page by page, and how they show that a hub was restored from a backup: its history is a new one, and gives
//! resourceVersions out again.
//!
//! A watch from a resourceVersion that such a hub has not reached yet brings nothing, not even a bookmark, and so looks like
//! a quiet hub. A list shows how far the hub has come.

use bytes::BytesMut;
use evidence::{LARGEST_OBJECT, Reason, ReasonId, lenient::masked};
use http::{HeaderName, HeaderValue, Method, header};
use http_body_util::BodyExt as _;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use tokio::{join, task::coop::consume_budget};

use crate::connect::{ATTEMPTS, RequestFailure, TimedClient, request, retry, segment, send, within};

/// The largest page in bytes: up to two pages are in memory as a whole.
const LARGEST_PAGE: usize = 256 << 20;
/// Pages with fewer items are not asked for immediately: the hub is spared.
const SMALL_PAGE: usize = 100;

/// Why a list is missing that began.
pub(super) const NO_WHOLE_LIST: &str = "no whole list came";

/// What a list asks for.
#[derive(Clone, Copy)]
pub(crate) struct ListOptions {
    /// Headers other than those that all requests have.
    headers: &'static [(HeaderName, &'static str)],
    /// How many items a page has at most. Servers may send smaller ones.
    limit: usize,
}

/// Asks for whole objects, in pages as kubectl does.
const OBJECTS: ListOptions = ListOptions {
    headers: &[(header::ACCEPT, "application/json")],
    limit: 500,
};
/// Asks for profiles or slices. API servers answer only the first page from memory: for the later ones they read etcd as
/// soon as nothing has changed for some minutes, which takes them ten times as long.
pub(super) const TRACKED: ListOptions = ListOptions {
    limit: 10_000,
    ..OBJECTS
};
/// Asks for metadata alone, of objects whose content must not arrive.
pub(crate) const METADATA: ListOptions = ListOptions {
    headers: &[(
        header::ACCEPT,
        "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
    )],
    ..OBJECTS
};
/// Asks for metadata, or for whole objects from servers that cannot leave out the rest.
const PREFER_METADATA: &str =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
pub(crate) const SMALL: ListOptions = ListOptions {
    headers: &[(header::ACCEPT, PREFER_METADATA)],
    ..OBJECTS
};
/// Does the same, and closes the connection.
pub(crate) const SMALL_AND_LAST: ListOptions = ListOptions {
    headers: &[(header::ACCEPT, PREFER_METADATA), (header::CONNECTION, "close")],
    ..OBJECTS
};

/// A page of a list.
#[derive(Deserialize)]
struct Page<'a> {
    #[serde(default)]
    metadata: ListMetadata,
    #[serde(borrow, deserialize_with = "items")]
    items: Vec<&'a RawValue>,
}

impl<'a> Page<'a> {
    /// Reads a page with objects of any content as its items. Bytes that are not UTF-8 must be masked: they spoil an
    /// object, not the list.
    fn read(text: &'a str) -> Result<Self, RequestFailure> {
        let is_object = |item: &&RawValue| item.get().starts_with('{');
        match serde_json::from_str::<Self>(text) {
            Ok(page) if page.items.iter().all(is_object) => Ok(page),
            _ => Err(RequestFailure::broken("the answer cannot be read as a list")),
        }
    }
}

/// Reads items; `null` is an empty list, as some servers write it.
fn items<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<&'de RawValue>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// The metadata of a list.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ListMetadata {
    pub resource_version: String,
    /// From where the list goes on; empty at its end.
    #[serde(rename = "continue")]
    pub rest: String,
    /// How many items the rest has, if the server reports it.
    pub remaining_item_count: Option<u64>,
}

/// Lists what is at `path`, and hands each item's JSON to `each`. Returns the list's resourceVersion, from which a watch
/// goes on.
/// Items may have been handed on before a failure.
pub(crate) async fn list(
    client: &TimedClient,
    path: &str,
    each: impl FnMut(&[u8]),
) -> Result<String, RequestFailure> {
    list_with(client, path, OBJECTS, each).await
}

/// Lists what is at `path`, and has `each` add the JSON of each item to the result.
pub(crate) async fn fold_list<A: Default>(
    client: &TimedClient,
    path: &str,
    mut each: impl FnMut(&mut A, &[u8]),
) -> Result<A, RequestFailure> {
    let mut sum = A::default();
    list(client, path, |json| each(&mut sum, json)).await?;
    Ok(sum)
}

/// Lists what is at `path` with these options.
/// Items may have been handed on before a failure.
pub(crate) async fn list_with(
    client: &TimedClient,
    path: &str,
    options: ListOptions,
    each: impl FnMut(&[u8]),
) -> Result<String, RequestFailure> {
    let listing = pages(client, path, options, each);
    within(client.list_timeout, NO_WHOLE_LIST, listing).await
}

async fn pages(
    client: &TimedClient,
    path: &str,
    options: ListOptions,
    mut each: impl FnMut(&[u8]),
) -> Result<String, RequestFailure> {
    let separator = if path.contains('?') { '&' } else { '?' };
    let first = format!("{path}{separator}limit={}", options.limit);
    let mut bytes = 0;
    let mut body = download(client, &first, options, &mut bytes).await?;
    let (mut list_version, mut token) = (String::new(), String::new());
    loop {
        let text = masked(&body);
        let page = Page::read(&text)?;
        if token.is_empty() {
            list_version.clone_from(&page.metadata.resource_version);
        } else if page.metadata.rest == token {
            return Err(RequestFailure::broken("the list does not end"));
        }
        token.clone_from(&page.metadata.rest);
        // The hub prepares the next page while the items of this one are read.
        let (next, items) = join!(
            next_page(client, &first, &page, options, &mut bytes),
            visit_items(client, &page, &text, &body, &mut each)
        );
        items?;
        drop(text);
        match next? {
            Some(next) => body = next,
            None => return Ok(list_version),
        }
    }
}

/// Downloads the page after this one; `None` after the last one.
async fn next_page(
    client: &TimedClient,
    first: &str,
    page: &Page<'_>,
    options: ListOptions,
    bytes: &mut u64,
) -> Result<Option<BytesMut>, RequestFailure> {
    let token = &page.metadata.rest;
    if token.is_empty() {
        return Ok(None);
    }
    if page.items.len() < SMALL_PAGE {
        client.cost.turn().await;
    }
    let path = format!("{first}&continue={}", segment(token));
    let body = download(client, &path, options, bytes).await;
    body.map(Some).map_err(|failure| match failure.code() {
        // Only a new list can be whole.
        410 => RequestFailure::broken("the list expired before its last page"),
        _ => failure,
    })
}

/// Calls `each` with the JSON of each item, without the runner's own credentials. `text` is the masked `body`.
async fn visit_items(
    client: &TimedClient,
    page: &Page<'_>,
    text: &str,
    body: &[u8],
    each: &mut impl FnMut(&[u8]),
) -> Result<(), RequestFailure> {
    let redaction = client.secrets.redaction();
    for item in &page.items {
        consume_budget().await;
        if item.get().len() > LARGEST_OBJECT {
            return Err(RequestFailure::broken("an object of the list is too large"));
        }
        // Masking keeps all bytes in their places.
        let start = item.get().as_ptr() as usize - text.as_ptr() as usize;
        each(&redaction.redact(&body[start..start + item.get().len()]));
    }
    Ok(())
}

/// The metadata of the list at `path`, and the number of items on its first page. Asks for a page of one item.
pub(crate) async fn list_head(
    client: &TimedClient,
    path: &str,
) -> Result<(ListMetadata, usize), RequestFailure> {
    let body = download(client, &format!("{path}?limit=1"), SMALL, &mut 0).await?;
    let text = masked(&body);
    let page = Page::read(&text)?;
    Ok((page.metadata, page.items.len()))
}

/// Downloads one page, and adds its bytes to those of the list.
async fn download(
    client: &TimedClient,
    path: &str,
    options: ListOptions,
    bytes: &mut u64,
) -> Result<BytesMut, RequestFailure> {
    let mut request = request(Method::GET, path)?;
    for (name, value) in options.headers {
        request
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    let mut answer = send(client, request).await?.into_body();
    let mut whole = BytesMut::new();
    let limit = client.request_timeout;
    let late = "nothing more of the list came";
    while let Some(frame) = within(limit, late, async { Ok(answer.frame().await) }).await? {
        consume_budget().await;
        if let Ok(piece) = frame?.into_data() {
            *bytes += piece.len() as u64;
            client.check_list(*bytes)?;
            if whole.len() + piece.len() > LARGEST_PAGE {
                return Err(RequestFailure::broken("a page of the list is too large"));
            }
            whole.extend_from_slice(&piece);
        }
    }
    Ok(whole)
}

/// Checks that the hub at `path` still has the history in which it has given out `earlier`.
pub(super) async fn check_history(
    client: &TimedClient,
    path: &str,
    earlier: &str,
) -> Result<(), RequestFailure> {
    let asking = retry(ATTEMPTS, RequestFailure::may_pass, || list_head(client, path));
    let (newest, _) = within(client.request_timeout, "no answer came", asking).await?;
    check_newer(earlier, &newest.resource_version)
}

/// Compares the newest resourceVersion of a hub with one that it has given out before. Versions that are not numbers cannot be
/// compared.
pub(super) fn check_newer(earlier: &str, newest: &str) -> Result<(), RequestFailure> {
    match (earlier.parse::<u64>(), newest.parse::<u64>()) {
        (Ok(earlier), Ok(newest)) if newest < earlier => Err(RequestFailure::restored(earlier, newest)),
        _ => Ok(()),
    }
}

/// Why changes are missing, if the hub has a new history.
pub(super) fn missed_reason(words: String, failure: &RequestFailure) -> Reason {
    if failure.is_restored() {
        Reason::of(ReasonId::HubRestored, words)
    } else {
        words.into()
    }
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, sync::Arc};

    use http::{Request, Response};
    use kube::client::{Body, Client};
    use serde_json::json;

    use super::*;
    use crate::connect::call::REQUEST_TIMEOUT;

    #[test]
    fn only_a_lesser_number_is_a_new_history() {
        for (earlier, newest) in [("9", "10"), ("10", "10"), ("x9", "x8"), ("", "7"), ("7", "")] {
            assert!(check_newer(earlier, newest).is_ok(), "{earlier} {newest}");
        }
        let failure = check_newer("10", "9").expect_err("it went back");
        assert!(failure.is_restored());
        assert_eq!(
            failure.to_string(),
            "the hub's resourceVersion went back from 10 to 9, as after a restored backup"
        );
    }

    /// A hub whose pages, of a hundred items each, do not end.
    fn endless() -> TimedClient {
        let service = tower::service_fn(|request: Request<Body>| {
            let items: Vec<_> = (0..100).map(|number| json!({"n": number})).collect();
            let token = request.uri().query().map_or(1, str::len) + 1;
            let page =
                json!({"metadata": {"continue": "x".repeat(token), "resourceVersion": "1"}, "items": items});
            async move { Ok::<_, Infallible>(Response::new(Body::from(page.to_string().into_bytes()))) }
        });
        let client = Client::new(service, "default");
        TimedClient::new(client, REQUEST_TIMEOUT, Arc::default(), 0)
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_brings_no_more_than_it_may() {
        let mut hub = endless();
        hub.most_of_list = 1 << 20;
        let failure = list(&hub, "/items", |_| {}).await.expect_err("it is too large");
        assert!(
            failure
                .to_string()
                .contains("the list is too large: more than 1 MiB"),
            "{failure}"
        );
        let read = hub.cost.traffic().bytes;
        assert!((1 << 20..(1 << 20) + (64 << 10)).contains(&read), "{read}");
    }

    #[test]
    fn a_page_has_objects_of_any_content() {
        let items =
            json!([{"a": "}]\"\\", "items": [1, {"b": ","}]}, {}, {"metadata": {"items": [{"x": []}]}}]);
        let text =
            format!(r#"{{"note": ["items"], "items" : {items}, "metadata": {{"resourceVersion": "7"}}}}"#);
        let page = Page::read(&text).expect("a page");
        assert_eq!(page.metadata.resource_version, "7");
        let read: Vec<serde_json::Value> = page
            .items
            .iter()
            .map(|item| item.get().parse().expect("JSON"))
            .collect();
        assert_eq!(json!(read), items);
        for empty in [r#"{"items": []}"#, r#"{"items": null, "kind": "L"}"#] {
            assert!(
                Page::read(empty).is_ok_and(|page| page.items.is_empty()),
                "{empty}"
            );
        }
        for text in [
            "",
            "{}",
            "[]",
            r#"{"items": {}}"#,
            r#"{"items": [1]}"#,
            r#"{"items": [null]}"#,
            r#"{"items": [{}]"#,
        ] {
            assert!(Page::read(text).is_err(), "{text}");
        }
    }
}
