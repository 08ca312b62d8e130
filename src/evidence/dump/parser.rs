//! Parses profiles and slices on a thread of its own, while the text of the next ones is read.

use std::{
    collections::VecDeque,
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

/// What the parser does not see of an object.
pub(super) struct Parsing {
    /// The version that the object or its list names.
    pub api_version: String,
    pub line: usize,
    /// Its size in bytes.
    size: usize,
}

/// A thread that parses objects in order. Ends when this is dropped.
pub(super) struct Parser {
    /// The objects that were begun and not taken yet, and their size together.
    queue: VecDeque<Parsing>,
    size: usize,
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
        Self {
            queue: VecDeque::new(),
            size: 0,
            texts,
            objects,
        }
    }

    /// Begins to parse an object.
    pub fn begin(&mut self, kind: ObjectKind, json: &str, api_version: &str, line: usize) {
        self.size += json.len();
        self.queue.push_back(Parsing {
            api_version: api_version.to_owned(),
            line,
            size: json.len(),
        });
        let result = self.texts.send((kind, json.into()));
        result.expect("only a panic ends the thread before this is dropped");
    }

    /// Whether more objects, or more bytes, were begun and not taken yet.
    pub fn has_more_than(&self, count: usize, size: usize) -> bool {
        self.queue.len() > count || self.size > size
    }

    /// Takes no object any more: the dump is not read on.
    pub fn give_up(&mut self) {
        self.queue.clear();
        self.size = 0;
    }

    /// The first object that was begun and not taken yet; none if there is none. Waits for it.
    pub fn next(&mut self) -> Option<(Parsing, ParsedObject)> {
        let parsing = self.queue.pop_front()?;
        self.size -= parsing.size;
        let parsed = self.objects.recv();
        Some((
            parsing,
            parsed.expect("only a panic ends the thread before this is dropped"),
        ))
    }
}

fn parse(kind: ObjectKind, json: &str) -> ParsedObject {
    match kind {
        ObjectKind::ClusterProfile => ParsedObject::Profile(ClusterProfile::read(json.as_bytes())),
        ObjectKind::PlacementDecision => ParsedObject::Slice(PlacementDecision::read(json.as_bytes())),
    }
}
