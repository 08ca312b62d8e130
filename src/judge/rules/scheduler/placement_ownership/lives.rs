//! The writes of an audit log by slice.

use std::collections::BTreeMap;

use evidence::{Evidence, Request, Requests};

use crate::who::{
    is_at,
    logged::{Creations, Key, creates, deletes, key_of, logged_key},
};

/// A slice from its creation to its deletion: one name may have several lives. In doubt, a life ends early.
#[derive(Default)]
pub(super) struct Life<'e> {
    /// All writes that name it.
    pub(super) writes: Vec<&'e Request>,
    has_ended: bool,
}

/// Whether the hub carried a request out for somebody other than the suite.
pub(super) fn counts(request: &Request) -> bool {
    request.is_write() && !request.is_the_suites()
}

/// The lives of all slices, judged or not. A request on a whole collection is a deletion of each slice that the watch saw go
/// then, unless another request names it.
pub(super) fn lives<'e>(evidence: &'e Evidence, requests: &'e Requests) -> BTreeMap<Key<'e>, Vec<Life<'e>>> {
    let begins = requests.covers.from.as_microsecond();
    let mut creations = Creations::of(&evidence.slices, begins);
    let mut all: BTreeMap<Key<'e>, Vec<Life<'e>>> = BTreeMap::new();
    for request in requests.events.iter().filter(|request| counts(request)) {
        let key = logged_key(request);
        if &*request.verb == "deletecollection" {
            for key in deleted(evidence, requests, request) {
                let lives = all.entry(key).or_default();
                if lives.last().is_none_or(|life| life.has_ended) {
                    lives.push(Life::default());
                }
                if let Some(life) = lives.last_mut() {
                    life.writes.push(request);
                    life.has_ended = true;
                }
            }
            continue;
        } else if key.1.is_empty() {
            continue;
        }
        let lives = all.entry(key).or_default();
        if !creations.until(key, request.at.as_microsecond()).is_empty() {
            lives.push(Life::default());
        }
        if creates(request) || lives.last().is_none_or(|life| life.has_ended) {
            lives.push(Life::default());
        }
        if let Some(life) = lives.last_mut() {
            life.writes.push(request);
            life.has_ended = deletes(request);
        }
    }
    all
}

/// The slices that a request on a collection deleted, as the watch saw.
fn deleted<'e>(evidence: &'e Evidence, requests: &'e Requests, collection: &Request) -> Vec<Key<'e>> {
    let in_namespace = evidence.slices.iter().filter(|history| {
        let namespace = &history.last().metadata.namespace;
        **namespace == *collection.namespace
    });
    let gone = in_namespace.filter(|history| {
        let went = history.went().map(|(_, at)| at);
        let Some(gone) = went.filter(|gone| is_at(evidence, collection, *gone)) else {
            return false;
        };
        let mut events = requests.events.iter().filter(|event| event.is_write());
        !events.any(|event| {
            deletes(event) && logged_key(event) == key_of(history) && is_at(evidence, event, gone)
        })
    });
    gone.map(key_of).collect()
}
