//! Since when decisions name their profiles, in whichever slice.

use std::collections::HashMap;

use evidence::api::{PlacementDecision, names};

use super::naming::{Key, Named, Naming};
use crate::{
    shared::placement::{RESCHEDULE, owner_uid},
    time::{Micros, Set},
};

/// When decisions named profiles, in any of their slices; at the longest, and until a move to another slice is over.
pub(super) struct Selections<'e>(HashMap<(Tie<'e>, Key<'e>), Set>);

/// What the slices of a decision have in common: namespace, scheduler, and the key, the owner or the name.
type Tie<'e> = (&'e str, &'e str, &'e str);

impl<'e> Selections<'e> {
    /// Those of all slices that name the wanted profiles.
    pub(super) fn of(namings: &[Naming<'e>]) -> Self {
        let mut all: HashMap<(Tie, Key), Vec<(Micros, Micros)>> = HashMap::new();
        for named in namings.iter().flat_map(|naming| &naming.wanted) {
            let spans = named.when.possible().iter();
            let spans = spans.map(|(from, until)| (*from, until.saturating_add(RESCHEDULE)));
            all.entry((tie(named.slice), named.key))
                .or_default()
                .extend(spans);
        }
        Self(
            all.into_iter()
                .map(|(key, spans)| (key, Set::of(spans)))
                .collect(),
        )
    }

    /// Since when the decision may have named the profile that one of its slices names at a time.
    pub(super) fn since(&self, named: &Named<'e>, at: Micros) -> Micros {
        let spans = self.0.get(&(tie(named.slice), named.key));
        let mut spans = spans.into_iter().flat_map(Set::spans);
        let holds = |span: &&(Micros, Micros)| (span.0..=span.1).contains(&at);
        spans.find(holds).map_or(at, |span| span.0)
    }
}

fn tie(slice: &PlacementDecision) -> Tie<'_> {
    let key = slice.label(names::LABEL_DECISION_KEY);
    let tie = key.filter(|key| !key.is_empty()).or_else(|| owner_uid(slice));
    let metadata = &slice.metadata;
    (
        &metadata.namespace,
        slice.scheduler(),
        tie.unwrap_or(&metadata.name),
    )
}
