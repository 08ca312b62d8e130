//! Decides which writes changed their object.
//!
//! A write that changes nothing leaves the resourceVersion as it was, and no version ever comes back. So a write has
//! changed nothing where one version was there before it began and after it ended; that holds however much else the log
//! leaves out. That a write has changed something follows from two versions that differ, as far as the log tells of all
//! writes in between. Whatever overlaps in time proves neither.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use jiff::Timestamp;

use super::answered::Answered;

/// A write, as far as it tells of its object's versions.
#[derive(Clone, Copy, Debug)]
struct Write<'a> {
    received: Timestamp,
    answered: Timestamp,
    /// Whether the object was not there before.
    creates: bool,
    /// The version that it was made upon: the hub refuses it on any other.
    before: Option<&'a str>,
    /// The version in the answer.
    after: Option<&'a str>,
}

/// Tells for each write whether it changed its object. They stand in the order of the answers.
pub(super) fn tell_changes(answered: &mut [Answered]) {
    let mut objects: BTreeMap<(Arc<str>, Arc<str>), Vec<usize>> = BTreeMap::new();
    for (place, Answered { request, .. }) in answered.iter().enumerate() {
        if !request.is_write() {
            continue;
        }
        if &*request.verb == "deletecollection" {
            // It may have touched each of them.
            let same_namespace = |key: &&(Arc<str>, Arc<str>)| key.0 == request.namespace;
            let touched: Vec<_> = objects.keys().filter(same_namespace).cloned().collect();
            for key in touched {
                objects.entry(key).or_default().push(place);
            }
        } else {
            let key = (Arc::clone(&request.namespace), Arc::clone(&request.name));
            objects.entry(key).or_default().push(place);
        }
    }
    for places in objects.values() {
        let writes: Vec<Write> = places.iter().map(|place| Write::of(&answered[*place])).collect();
        let changes = changes(&writes);
        for (place, changed) in places.iter().zip(changes) {
            let request = &mut answered[*place].request;
            if matches!(&*request.verb, "create" | "update" | "patch") {
                request.changed = changed;
            }
        }
    }
}

/// Decides it for the writes on one object.
fn changes(writes: &[Write]) -> Vec<Option<bool>> {
    // When the first of those that stand behind was received.
    let mut behind = vec![Timestamp::MAX; writes.len() + 1];
    for (place, write) in writes.iter().enumerate().rev() {
        behind[place] = behind[place + 1].min(write.received);
    }
    // When each version was first known to be there.
    let mut known: HashMap<&str, Timestamp> = HashMap::new();
    let mut previous: Option<Write> = None;
    let mut changes = Vec::with_capacity(writes.len());
    for (place, write) in writes.iter().enumerate() {
        // They stand in the order of the answers, so that the one before was the last to end.
        let is_alone = previous.is_none_or(|previous| previous.answered <= write.received)
            && behind[place + 1] >= write.answered;
        let before = write.before.or_else(|| previous.filter(|_| is_alone)?.after);
        let next = writes.get(place + 1);
        let after = write.after.or_else(|| next.filter(|_| is_alone)?.before);
        let was_there = |version: &str| known.get(version).is_some_and(|since| *since <= write.received);
        changes.push(match (before, after) {
            _ if write.creates => Some(true),
            (_, Some(after)) if was_there(after) => Some(false),
            (Some(before), Some(after)) => Some(before != after),
            _ => None,
        });
        for version in [write.before, write.after].into_iter().flatten() {
            known.entry(version).or_insert(write.answered);
        }
        previous = Some(*write);
    }
    changes
}

impl<'a> Write<'a> {
    fn of(answered: &'a Answered) -> Self {
        Self {
            received: answered.request.at,
            answered: answered.done,
            creates: answered.request.code == 201,
            before: answered.based_on.as_deref(),
            after: answered.stored.as_deref(),
        }
    }
}
