//! Doors for the fuzz targets to what reads a hub's answers.

use std::time::Duration;

use evidence::{Origin, api::ClusterProfile};
use http::Response;
use http_body_util::BodyExt as _;
use jiff::Timestamp;
use kube::client::Body;

use super::{
    lines::{Event, Lines},
    record::Record,
    splitter::Splitter,
};

/// Reads a list that arrives in pieces of that many bytes.
pub fn list(body: &[u8], piece: usize) {
    let (mut splitter, mut record) = (Splitter::default(), Record::<ClusterProfile>::default());
    let pass = record.begin(Origin::Listed);
    for piece in body.chunks(piece.max(1)) {
        let met = |item: &[u8]| drop(record.met(item, pass, Timestamp::UNIX_EPOCH));
        if splitter.feed(piece, met).is_err() {
            return;
        }
    }
    let _ = splitter.finish();
    record.end(pass, None, Timestamp::UNIX_EPOCH);
    record.take();
}

/// Reads a watch up to the first line that is no event.
pub async fn watch(body: &[u8]) {
    let (mut lines, mut record) = (
        Lines::new(Response::new(Body::from(body.to_vec()).boxed_unsync())),
        Record::<ClusterProfile>::default(),
    );
    while let Ok(Some(line)) = lines.next(Duration::from_secs(1)).await {
        match Event::read(&line) {
            Ok(Event::Added(json)) => record.changed(json, Origin::Created, Timestamp::UNIX_EPOCH),
            Ok(Event::Modified(json)) => record.changed(json, Origin::Relisted, Timestamp::UNIX_EPOCH),
            Ok(Event::Deleted(json)) => record.deleted(json, Timestamp::UNIX_EPOCH),
            Ok(Event::Bookmark { resource_version, .. }) => resource_version,
            Err(_) => break,
        };
    }
    record.take();
}
