//! Decides which writes changed their object.
//!
//! A write that changes nothing leaves the resourceVersion as it was, and no version ever comes back. So a write has
//! changed nothing if one version existed before it began and after it ended, however much else the log leaves out. A
//! write that was made upon one version and answered with another has changed something, whatever the clocks. All else
//! follows from the order of the writes, if the log has all writes in between. Writes that overlap in time prove
//! nothing, and nor do writes that are closer than the clocks of two API servers may be apart.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};

use super::events::Answered;

/// Decides for each write whether it changed its object. The writes are in the order of the answers.
pub(super) fn tell_changes(answered: &mut [Answered]) {
    let mut objects: BTreeMap<(Arc<str>, Arc<str>), Vec<usize>> = BTreeMap::new();
    for (place, Answered { request, .. }) in answered.iter().enumerate() {
        if !request.is_write() {
            continue;
        }
        if &*request.verb == "deletecollection" {
            // It may have touched all of them.
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
    let clock_gap = objects
        .values()
        .map(|places| clocks_apart(&writes_of(answered, places)))
        .max()
        .unwrap_or_default();
    for places in objects.values() {
        let changes = changes(&writes_of(answered, places), clock_gap);
        for (place, changed) in places.iter().zip(changes) {
            let request = &mut answered[*place].request;
            if matches!(&*request.verb, "create" | "update" | "patch") {
                request.changed = changed;
            }
        }
    }
}

fn writes_of<'a>(answered: &'a [Answered], places: &[usize]) -> Vec<&'a Answered> {
    places.iter().map(|place| &answered[*place]).collect()
}

/// How far the clocks of the API servers that wrote the log may be apart: twice what the writes on one object show. A
/// write that began after another had ended, and found an older version, shows that the two clocks disagree.
fn clocks_apart(writes: &[&Answered]) -> SignedDuration {
    let number = |version: &str| version.parse::<u64>().ok();
    // The newest version so far, and when the first write that knew it had ended.
    let mut newest: Option<(u64, Timestamp)> = None;
    let mut clock_gap = SignedDuration::ZERO;
    for write in writes {
        let versions = [write.version_before(), write.version_after()];
        let Some(version) = versions.into_iter().flatten().filter_map(number).max() else {
            continue;
        };
        match newest {
            Some((known, ended)) if version < known => {
                clock_gap = clock_gap.max(write.request.at.duration_since(ended))
            }
            Some((known, _)) if version == known => {}
            _ => newest = Some((version, write.end)),
        }
    }
    clock_gap * 2
}

/// Whether each write on one object changed it, if the log shows it. Clocks of API servers differ by up to `clock_gap`.
fn changes(writes: &[&Answered], clock_gap: SignedDuration) -> Vec<Option<bool>> {
    let is_after = |later: Timestamp, earlier: Timestamp| later.duration_since(earlier) >= clock_gap;
    // When the first of the later writes was received.
    let mut behind = vec![Timestamp::MAX; writes.len() + 1];
    for (place, write) in writes.iter().enumerate().rev() {
        behind[place] = behind[place + 1].min(write.request.at);
    }
    // When each version was first known to exist.
    let mut first_answers: HashMap<&str, Timestamp> = HashMap::new();
    let mut previous: Option<&Answered> = None;
    let mut changes = Vec::with_capacity(writes.len());
    for (place, write) in writes.iter().enumerate() {
        // In the order of the answers, the write before was the last to end.
        let is_alone = previous.is_none_or(|previous| is_after(write.request.at, previous.end))
            && is_after(behind[place + 1], write.end);
        let (own_before, own_after) = (write.version_before(), write.version_after());
        let before = own_before.or_else(|| previous.filter(|_| is_alone)?.version_after());
        let next = writes.get(place + 1);
        let after = own_after.or_else(|| next.filter(|_| is_alone)?.version_before());
        let was_there = |version: &str| {
            first_answers
                .get(version)
                .is_some_and(|since| is_after(write.request.at, *since))
        };
        changes.push(match (before, after) {
            _ if write.request.code == 201 => Some(true),
            // Its own versions decide.
            _ if own_before.is_some() && own_after.is_some() => Some(own_before != own_after),
            (_, Some(after)) if was_there(after) => Some(false),
            (Some(before), Some(after)) => Some(before != after),
            _ => None,
        });
        for version in own_before.into_iter().chain(own_after) {
            first_answers.entry(version).or_insert(write.end);
        }
        previous = Some(write);
    }
    changes
}
