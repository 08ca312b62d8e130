//! The writes of an audit log by slice.

use std::collections::BTreeMap;

use evidence::{Evidence, Request, Requests};

use crate::rules::logged::{Creations, Key, creates, deletes, logged_key};

/// A slice from its creation to its deletion: one name may have several lives. In doubt, a life ends early.
#[derive(Default)]
pub(super) struct Life<'e> {
    /// The user who created it; none if the log does not tell.
    pub(super) creator: Option<&'e str>,
    /// All writes that name it.
    pub(super) writes: Vec<&'e Request>,
    has_ended: bool,
}

/// Whether the hub carried a request out for somebody other than the suite.
pub(super) fn counts(request: &Request) -> bool {
    request.is_write() && !request.is_the_suites()
}

/// The lives of all slices, judged or not. Requests on whole collections name no slice.
pub(super) fn lives<'e>(evidence: &'e Evidence, requests: &'e Requests) -> BTreeMap<Key<'e>, Vec<Life<'e>>> {
    let begins = requests.covers.from.as_microsecond();
    let mut creations = Creations::of(&evidence.slices, begins);
    let mut all: BTreeMap<Key<'e>, Vec<Life<'e>>> = BTreeMap::new();
    for request in requests.events.iter().filter(|request| counts(request)) {
        let key = logged_key(request);
        if &*request.verb == "deletecollection" || key.1.is_empty() {
            continue;
        }
        let lives = all.entry(key).or_default();
        if !creations.until(key, request.at.as_microsecond()).is_empty() {
            lives.push(Life::default());
        }
        if creates(request) {
            lives.push(Life {
                creator: Some(&request.user),
                ..Life::default()
            });
        } else if lives.last().is_none_or(|life| life.has_ended) {
            lives.push(Life::default());
        }
        if let Some(life) = lives.last_mut() {
            life.writes.push(request);
            life.has_ended = deletes(request);
        }
    }
    all
}
