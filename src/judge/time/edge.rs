//! The span in which a change took place.

use super::Micros;

/// Some moment of a closed span, by the runner's clock. Either end may be infinite ([`Micros::MIN`], [`Micros::MAX`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    /// The earliest possible moment.
    pub(crate) earliest: Micros,
    /// The latest possible moment.
    pub(crate) latest: Micros,
}

impl Edge {
    pub(crate) fn at(moment: Micros) -> Self {
        Self {
            earliest: moment,
            latest: moment,
        }
    }

    /// Some moment up to `latest`, but not before `earliest`. What contradicts the latest moment is not believed.
    pub(crate) fn between(earliest: Micros, latest: Micros) -> Self {
        Self {
            earliest: earliest.min(latest),
            latest,
        }
    }

    /// Some moment of either.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            earliest: self.earliest.min(other.earliest),
            latest: self.latest.max(other.latest),
        }
    }

    /// Whether a moment may be the one.
    #[cfg(test)]
    pub(crate) fn holds(self, moment: Micros) -> bool {
        (self.earliest..=self.latest).contains(&moment)
    }
}

/// Narrows the edges of one object: its changes come in order, so none is before the one before it, nor after the next.
pub(crate) fn put_in_order<'a>(edges: impl DoubleEndedIterator<Item = &'a mut Edge>) {
    let mut edges: Vec<&mut Edge> = edges.collect();
    let mut bound = Micros::MAX;
    for edge in edges.iter_mut().rev() {
        bound = bound.min(edge.latest);
        edge.latest = bound;
        edge.earliest = edge.earliest.min(bound);
    }
    let mut bound = Micros::MIN;
    for edge in &mut edges {
        bound = bound.max(edge.earliest);
        edge.earliest = bound;
    }
}
