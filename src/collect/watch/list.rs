//! Lists, read while they stream, page by page.

use std::{mem, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderValue, Method, header};
use http_body_util::BodyExt as _;
use parking_lot::Mutex;
use tokio::{
    task::{JoinHandle, coop::consume_budget, spawn_blocking},
    time::{Instant, timeout},
};

use super::splitter::{FrameMetadata, Splitter};
use crate::connect::{
    call::{ListBudget, TimedClient, request, segment, send},
    failure::Failure,
    own_credentials::Redaction,
};

/// Pages with fewer items are asked for no faster than the hub is spared: a list of many such pages is none to hurry for.
const SMALL_PAGE: usize = 100;
/// From this size on, a batch is read beside the network rather than in turns with it.
const WORTH_A_THREAD: usize = 256 * 1024;
/// A smaller batch is read after that time, so that a list that never ends has shown what it brought.
const WORTH_A_LOOK: Duration = Duration::from_secs(1);

/// Asks for whole objects.
const OBJECTS: &str = "application/json";
/// Asks for metadata alone.
const METADATA: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/// Lists what is at `path`, hands each item's JSON to `each`, and keeps none of it. Returns the list's
/// resourceVersion, from which a watch goes on. Servers may cut a list into pages without being asked.
///
/// # Errors
/// When there is no whole list within the client's time. Items may have been handed on by then.
pub(crate) async fn list<F>(client: &TimedClient, path: &str, each: F) -> Result<String, Failure>
where
    F: FnMut(&[u8]) + Send + 'static,
{
    whole(client, path, OBJECTS, each).await
}

/// Lists what is at `path`, and has `each` add the JSON of each item to the result.
///
/// # Errors
/// When there is no whole list within the client's time.
pub(crate) async fn fold_list<A, F>(client: &TimedClient, path: &str, mut each: F) -> Result<A, Failure>
where
    A: Default + Send + 'static,
    F: FnMut(&mut A, &[u8]) + Send + 'static,
{
    let found = Arc::new(Mutex::new(A::default()));
    let into = Arc::clone(&found);
    list(client, path, move |json: &[u8]| each(&mut into.lock(), json)).await?;
    let found = mem::take(&mut *found.lock());
    Ok(found)
}

/// Lists the metadata of each item at `path`.
///
/// # Errors
/// When there is no whole list within the client's time. Items may have been handed on by then.
pub(crate) async fn list_metadata<F>(client: &TimedClient, path: &str, each: F) -> Result<String, Failure>
where
    F: FnMut(&[u8]) + Send + 'static,
{
    whole(client, path, METADATA, each).await
}

async fn whole<F>(client: &TimedClient, path: &str, accept: &'static str, each: F) -> Result<String, Failure>
where
    F: FnMut(&[u8]) + Send + 'static,
{
    let limit = client.list_timeout;
    let late = || Failure::silent("no whole list came", limit);
    timeout(limit, pages(client, path, accept, each))
        .await
        .map_err(|_| late())?
}

async fn pages<F>(client: &TimedClient, path: &str, accept: &'static str, each: F) -> Result<String, Failure>
where
    F: FnMut(&[u8]) + Send + 'static,
{
    let budget = client.list_budget();
    let (first, mut each, mut items) = page(client, path, accept, budget, each).await?;
    let mut rest = first.rest;
    while !rest.is_empty() {
        if items < SMALL_PAGE {
            client.cost.turn().await;
        }
        let (next, returned, read) = match page(client, &next_page(path, &rest), accept, budget, each).await {
            // Only a new list can be whole.
            Err(failure) if failure.code() == 410 => {
                return Err(Failure::broken("the hub's list expired before its last page"));
            }
            read => read?,
        };
        if next.rest == rest {
            return Err(Failure::broken("the hub's list does not end"));
        }
        (rest, each, items) = (next.rest, returned, read);
    }
    Ok(first.resource_version)
}

/// The resourceVersion of the hub as of now, for what is at `path`. Reads a page of one item, without its content.
///
/// # Errors
/// When the hub does not answer so.
pub(super) async fn newest_version(client: &TimedClient, path: &str) -> Result<String, Failure> {
    let path = format!("{path}?limit=1");
    let (frame, ..) = page(client, &path, METADATA, client.list_budget(), |_: &[u8]| {}).await?;
    Ok(frame.resource_version)
}

/// The path of the page that a `continue` token leads to.
pub(crate) fn next_page(path: &str, token: &str) -> String {
    let separator = if path.contains('?') { '&' } else { '?' };
    format!("{path}{separator}continue={}", segment(token))
}

/// Reads one page. Returns its metadata, `each` for the next one, and the number of its items.
async fn page<F>(
    client: &TimedClient,
    path: &str,
    accept: &'static str,
    budget: ListBudget,
    each: F,
) -> Result<(FrameMetadata, F, usize), Failure>
where
    F: FnMut(&[u8]) + Send + 'static,
{
    let mut request = request(Method::GET, path)?;
    let accept = HeaderValue::from_static(accept);
    request.headers_mut().insert(header::ACCEPT, accept);
    let mut body = send(client, request).await?.into_body();
    let splitter = Splitter::default();
    let mut reader = Turn::Mine(Reader {
        splitter,
        redaction: client.own.redaction(),
        each,
        items: 0,
    });
    let (mut batch, mut size, mut began) = (Vec::<Bytes>::new(), 0, Instant::now());
    let limit = client.request_timeout;
    let late = || Failure::silent("nothing more of the list came", limit);
    while let Some(frame) = timeout(limit, body.frame()).await.map_err(|_| late())? {
        consume_budget().await;
        budget.check(&client.cost)?;
        let Ok(piece) = frame?.into_data() else { continue };
        size += piece.len();
        batch.push(piece);
        if size >= WORTH_A_THREAD || began.elapsed() >= WORTH_A_LOOK {
            let mine = reader.back().await?;
            let full = mem::take(&mut batch);
            (size, began) = (0, Instant::now());
            // The thread never waits for the network, so that a paused clock cannot come to a stop.
            reader = Turn::Threads(spawn_blocking(move || mine.read(&full)));
        }
    }
    let Reader {
        splitter,
        each,
        items,
        ..
    } = reader.back().await?.read(&batch)?;
    let frame = splitter.finish().map_err(Failure::broken)?;
    Ok((frame.metadata, each, items))
}

/// Who has the reader.
enum Turn<F> {
    Mine(Reader<F>),
    Threads(JoinHandle<Result<Reader<F>, Failure>>),
}

impl<F> Turn<F> {
    async fn back(self) -> Result<Reader<F>, Failure> {
        match self {
            Turn::Mine(reader) => Ok(reader),
            Turn::Threads(handle) => handle
                .await
                .map_err(|_| Failure::broken("the reader of the list failed"))?,
        }
    }
}

struct Reader<F> {
    splitter: Splitter,
    redaction: Redaction,
    each: F,
    items: usize,
}

impl<F: FnMut(&[u8])> Reader<F> {
    fn read(mut self, batch: &[Bytes]) -> Result<Self, Failure> {
        let (each, items, redaction) = (&mut self.each, &mut self.items, &self.redaction);
        let mut counted = |json: &[u8]| {
            *items += 1;
            each(&redaction.redact(json));
        };
        for piece in batch {
            self.splitter.feed(piece, &mut counted).map_err(Failure::broken)?;
        }
        Ok(self)
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

    /// A hub whose pages, of a hundred items each, do not end.
    fn endless() -> TimedClient {
        let service = tower::service_fn(|asked: Request<Body>| {
            let items: Vec<_> = (0..100).map(|number| json!({"n": number})).collect();
            let token = asked.uri().query().map_or(1, str::len) + 1;
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
            failure.to_string().contains("the hub's list has more than 1 MiB"),
            "{failure}"
        );
        let read = hub.cost.traffic().bytes;
        assert!((1 << 20..(1 << 20) + (64 << 10)).contains(&read), "{read}");
    }
}
