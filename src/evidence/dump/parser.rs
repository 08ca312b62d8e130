//! Parses profiles and slices on a thread of its own, while the text of the next ones is read.

use std::{
    sync::mpsc::{Receiver, SyncSender, channel, sync_channel},
    thread,
};

use crate::{
    Tracked as _, Unreadable,
    api::{ClusterProfile, ObjectKind, PlacementDecision},
};

/// How many objects wait to be parsed, or to be taken, at most.
pub(super) const AHEAD: usize = 32;

/// An object, or why it cannot be read.
pub(super) enum ParsedObject {
    Profile(Result<ClusterProfile, Box<Unreadable>>),
    Slice(Result<PlacementDecision, Box<Unreadable>>),
}

/// A thread that parses objects in order. Ends when this is dropped.
pub(super) struct Parser {
    texts: SyncSender<(ObjectKind, Box<str>)>,
    objects: Receiver<ParsedObject>,
}

impl Parser {
    pub fn start() -> Self {
        let (texts, received) = sync_channel::<(ObjectKind, Box<str>)>(AHEAD);
        let (parsed, objects) = channel();
        thread::spawn(move || {
            for (kind, text) in received {
                if parsed.send(parse(kind, &text)).is_err() {
                    break;
                }
            }
        });
        Self { texts, objects }
    }

    /// Begins to parse an object.
    pub fn begin(&self, kind: ObjectKind, json: &str) {
        let sent = self.texts.send((kind, json.into()));
        sent.expect("only a panic ends the thread before this is dropped");
    }

    /// The first object that was begun and not taken yet. Waits for it.
    pub fn next(&self) -> ParsedObject {
        self.objects
            .recv()
            .expect("the thread parses until this is dropped")
    }
}

fn parse(kind: ObjectKind, json: &str) -> ParsedObject {
    match kind {
        ObjectKind::ClusterProfile => ParsedObject::Profile(ClusterProfile::read(json.as_bytes())),
        ObjectKind::PlacementDecision => ParsedObject::Slice(PlacementDecision::read(json.as_bytes())),
    }
}
