//! Which slices are of one decision (KEP-5313 › Slicing).

use super::{PlacementDecision, names};

/// A decision: by its key or, without one, by the name of its only slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DecisionId<'e> {
    /// The namespace of its slices.
    pub namespace: &'e str,
    /// The scheduler that its slices name; empty if they name none.
    pub scheduler: &'e str,
    /// The label `decision-key`; none if it is absent or empty.
    pub key: Option<&'e str>,
    /// The name of the slice; empty if the decision has a key.
    pub slice: &'e str,
}

impl<'e> DecisionId<'e> {
    /// The decision that a slice belongs to.
    pub fn of(slice: &'e PlacementDecision) -> Self {
        let key = slice.label(names::LABEL_DECISION_KEY);
        let key = key.filter(|key| !key.is_empty());
        Self {
            namespace: &slice.metadata.namespace,
            scheduler: slice.scheduler(),
            key,
            slice: match key {
                Some(_) => "",
                None => &slice.metadata.name,
            },
        }
    }

    /// The same; none for a slice without a key.
    pub fn of_keyed(slice: &'e PlacementDecision) -> Option<Self> {
        Some(Self::of(slice)).filter(|id| id.key.is_some())
    }

    /// Its key or, without one, the name of its slice.
    pub fn name(&self) -> &'e str {
        self.key.unwrap_or(self.slice)
    }

    /// `decision web in namespace apps`, or the slice that is a decision by itself.
    pub fn describe(&self) -> String {
        match self.key {
            Some(key) => format!("decision {key} in namespace {}", self.namespace),
            None => format!("slice {}/{}", self.namespace, self.slice),
        }
    }
}
