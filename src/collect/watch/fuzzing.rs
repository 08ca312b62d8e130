//! Doors for the fuzz targets to what reads a hub's answers.

use std::{convert::Infallible, sync::Arc, time::Duration};

use evidence::{Origin, api::ClusterProfile};
use http::{Request, Response};
use http_body_util::BodyExt as _;
use jiff::Timestamp;
use kube::{Client, client::Body};

use super::{
    lines::{WatchEvent, WatchLines},
    record::HistoryRecord,
};
use crate::connect::{OwnCredentials, REQUEST_TIMEOUT, TimedClient};

/// Reads a list of one page.
pub async fn list(body: &[u8]) {
    let body = body.to_vec();
    let service = tower::service_fn(move |_: Request<Body>| {
        let response = Response::new(Body::from(body.clone()));
        async move { Ok::<_, Infallible>(response) }
    });
    let client = TimedClient::new(
        Client::new(service, "default"),
        REQUEST_TIMEOUT,
        Arc::default(),
        0,
    );
    let mut record = HistoryRecord::<ClusterProfile>::default();
    let pass = record.begin(Origin::Listed);
    let each = |item: &[u8]| drop(record.met(item, pass, Timestamp::UNIX_EPOCH));
    let _ = super::list::list(&client, "/items", each).await;
    record.end(pass, None, Timestamp::UNIX_EPOCH);
    record.take();
}

/// Reads a watch up to the first line that is not an event.
pub async fn watch(body: &[u8]) {
    let (mut lines, mut record) = (
        WatchLines::new(
            Response::new(Body::from(body.to_vec()).boxed_unsync()),
            OwnCredentials::default(),
        ),
        HistoryRecord::<ClusterProfile>::default(),
    );
    while let Ok(Some(line)) = lines.next(Duration::from_secs(1)).await {
        match WatchEvent::read(&line) {
            Ok(WatchEvent::Added(json)) => record.changed(json, Origin::Created, Timestamp::UNIX_EPOCH),
            Ok(WatchEvent::Modified(json)) => record.changed(json, Origin::Relisted, Timestamp::UNIX_EPOCH),
            Ok(WatchEvent::Deleted(json)) => record.deleted(json, Timestamp::UNIX_EPOCH),
            Ok(WatchEvent::Bookmark { resource_version, .. }) => resource_version,
            Err(_) => break,
        };
    }
    record.take();
}
