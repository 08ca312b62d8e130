//! When a slice named which profiles.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
};

use evidence::{
    Evidence, SliceHistory,
    api::{ClusterDecision, ClusterProfileReference, PlacementDecision},
};

use super::spans::{Span, add};
use crate::rules::write_time::{Micros, written};

/// Namespace and name of a profile.
pub(super) type Key<'e> = (&'e str, &'e str);

/// One profile that a slice named.
pub(super) struct Named<'e> {
    /// The profile.
    pub(super) key: Key<'e>,
    /// When the slice named it.
    pub(super) spans: Vec<Span>,
    /// The last version that named it.
    pub(super) slice: &'e PlacementDecision,
    /// Its place in that version.
    pub(super) index: usize,
}

impl<'e> Named<'e> {
    fn new(key: Key<'e>, slice: &'e PlacementDecision) -> Self {
        Self {
            key,
            spans: Vec::new(),
            slice,
            index: 0,
        }
    }

    /// Whether the slice exists and names the profile in its last version.
    pub(super) fn is_current_in(&self, history: &SliceHistory) -> bool {
        history
            .current()
            .is_some_and(|last| std::ptr::eq(last, self.slice))
    }
}

/// The profiles that a slice named.
#[derive(Default)]
pub(super) struct Naming<'e> {
    /// Whether it named any.
    pub(super) is_any: bool,
    /// Those that the rule asked for, in the order in which the slice first named them.
    pub(super) wanted: Vec<Named<'e>>,
}

/// The profile that a reference is to: without a namespace, it is in that of the slice.
pub(super) fn key_of<'e>(slice: &'e PlacementDecision, reference: &'e ClusterProfileReference) -> Key<'e> {
    match &*reference.namespace {
        "" => (&slice.metadata.namespace, &reference.name),
        namespace => (namespace, &reference.name),
    }
}

/// Finds when a slice named the `wanted` profiles. A slice that waits for its finalizers is on its way out: its scheduler
/// has dropped all that it names.
pub(super) fn naming<'e>(
    evidence: &Evidence,
    history: &'e SliceHistory,
    wanted: impl Fn(Key<'e>, &ClusterDecision) -> bool,
) -> Naming<'e> {
    let mut naming = Naming::default();
    let mut places: HashMap<Key, usize> = HashMap::new();
    for reign in reigns(evidence, history, end_of(evidence, history)) {
        for (index, decision) in reign.slice.clusters().iter().enumerate() {
            let Some(reference) = &decision.cluster_profile_ref else {
                continue;
            };
            naming.is_any = true;
            let key = key_of(reign.slice, reference);
            if !wanted(key, decision) {
                continue;
            }
            let place = match places.entry(key) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(new) => {
                    naming.wanted.push(Named::new(key, reign.slice));
                    *new.insert(naming.wanted.len() - 1)
                }
            };
            let named = &mut naming.wanted[place];
            add(&mut named.spans, reign.span);
            (named.slice, named.index) = (reign.slice, index);
        }
    }
    naming
}

/// When a slice was deleted, or when the run stopped looking at it. A dump shows it for a moment.
fn end_of(evidence: &Evidence, history: &SliceHistory) -> Micros {
    let last = history
        .versions
        .last()
        .map_or(Micros::MIN, |last| last.at.as_microsecond());
    let window = || evidence.end_of(&history.last().metadata.namespace);
    let end = history.deleted.or_else(window);
    end.map_or(last, |end| end.as_microsecond().max(last))
}

/// A list of clusters, and how long the slice had it.
struct Reign<'e> {
    span: Span,
    /// The last version with the list.
    slice: &'e PlacementDecision,
}

/// The lists that a slice had, one after the other. Versions that change something else share their list.
fn reigns<'e>(evidence: &Evidence, history: &'e SliceHistory, end: Micros) -> Vec<Reign<'e>> {
    let mut reigns: Vec<Reign> = Vec::new();
    for (index, version) in history.versions.iter().enumerate() {
        let slice = &version.object;
        let Some(decisions) = &slice.decisions else {
            continue;
        };
        if slice.metadata.deletion_timestamp.is_some() {
            continue;
        }
        let from = version.at.as_microsecond();
        let next = history.versions.get(index + 1);
        let until = next.map_or(end, |next| next.at.as_microsecond()).max(from);
        match reigns.last_mut() {
            Some(last) if last.span.1 == from && is_same(last.slice, decisions) => {
                last.span.1 = until;
                last.slice = slice;
            }
            last => {
                let before = history.before(index);
                let mut from = from;
                // The watch may have delivered the new list late.
                if let Some(last) = last.filter(|last| last.span.1 == from) {
                    from = written(evidence, before, version).max(last.span.0);
                    last.span.1 = from;
                }
                reigns.push(Reign {
                    span: (from, until),
                    slice,
                });
            }
        }
    }
    reigns
}

fn is_same(slice: &PlacementDecision, decisions: &Arc<[ClusterDecision]>) -> bool {
    let own = slice.decisions.as_ref();
    own.is_some_and(|own| Arc::ptr_eq(own, decisions) || own == decisions)
}
