//! Since when decisions name their profiles, in whichever slice.

use std::collections::HashMap;

use evidence::{
    SliceHistory,
    api::{PlacementDecision, names},
};

use super::{
    fleet::Fleet,
    naming::{Key, Named, Naming},
    spans::{Span, add_near},
};
use crate::rules::{
    placement::{RESCHEDULE, owner_uid},
    write_time::{LATE, Micros},
};

/// How long a move of a cluster from slice to slice may take, in which none names it.
const MOVE: Micros = RESCHEDULE + LATE;

/// When decisions named profiles, in any of their slices.
pub(super) struct Selections<'e>(HashMap<(Tie<'e>, Key<'e>), Vec<Span>>);

/// What the slices of a decision have in common: namespace, scheduler, and the key, the owner or the name.
type Tie<'e> = (&'e str, &'e str, &'e str);

impl<'e> Selections<'e> {
    /// Those of all slices that name the wanted profiles.
    pub(super) fn of(fleet: &Fleet<'e>, named_by: &[(&'e SliceHistory, Naming<'e>)]) -> Self {
        let mut all: HashMap<(Tie, Key), Vec<Span>> = HashMap::new();
        for (history, naming) in named_by {
            for named in &naming.wanted {
                let spans = named.spans.iter();
                let spans = spans.map(|(from, until)| (fleet.named_since(history, *from), *until));
                all.entry((tie(named.slice), named.key))
                    .or_default()
                    .extend(spans);
            }
        }
        for spans in all.values_mut() {
            spans.sort_unstable();
            let mut joined: Vec<Span> = Vec::new();
            for span in spans.drain(..) {
                add_near(&mut joined, span, MOVE);
            }
            *spans = joined;
        }
        Self(all)
    }

    /// Since when the decision has named the profile that one of its slices names at a time.
    pub(super) fn since(&self, named: &Named<'e>, at: Micros) -> Micros {
        let spans = self.0.get(&(tie(named.slice), named.key));
        let mut spans = spans.into_iter().flatten();
        let holds = |span: &&Span| (span.0..=span.1).contains(&at);
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
