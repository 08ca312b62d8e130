//! When nobody watched an object.

use std::borrow::Cow;

use evidence::{Evidence, Gap, Kind, Tracked};

use super::{Micros, Set};

/// The gaps in the watch of one object, or of any of several: spans in order and apart from each other. Objects without a gap of
/// their own share those of all.
#[derive(Clone, Default)]
pub(crate) struct Gaps<'e>(Cow<'e, [(Micros, Micros)]>);

impl<'e> Gaps<'e> {
    /// The gaps in the watch of one object, in its window and after it.
    pub(crate) fn of<T: Tracked>(evidence: &'e Evidence, namespace: &str, name: &str) -> Self {
        Self::of_any::<T>(evidence, std::iter::once((namespace, name)))
    }

    /// The gaps in the watch of any of these objects.
    pub(crate) fn of_any<'n, T: Tracked>(
        evidence: &'e Evidence,
        mut objects: impl Iterator<Item = (&'n str, &'n str)> + Clone,
    ) -> Self {
        let all = objects.clone();
        let has_own = |(namespace, name)| {
            let mut own = evidence.gaps.of_object(T::WATCHED, namespace, name);
            own.next().is_some()
        };
        if evidence.later.gaps.is_empty() && !objects.any(has_own) {
            return Self(Cow::Borrowed(evidence.gaps.times_of_all(T::WATCHED).apart()));
        }
        let gaps = all.flat_map(|(namespace, name)| {
            let later = evidence.later.gaps.concerning(T::WATCHED, namespace, name);
            evidence.gaps.concerning(T::WATCHED, namespace, name).chain(later)
        });
        Self(Cow::Owned(Set::of(gaps.map(Gap::span)).spans().to_vec()))
    }

    /// The first that holds a moment, or begins or ends there.
    pub(crate) fn around(&self, moment: Micros) -> Option<(Micros, Micros)> {
        let first = self.0.partition_point(|(_, until)| *until < moment);
        let gap = self.0.get(first).copied();
        gap.filter(|(from, _)| *from <= moment)
    }

    /// The gap that began before a moment and ends there or later.
    pub(crate) fn before(&self, moment: Micros) -> Option<(Micros, Micros)> {
        self.around(moment).filter(|(from, _)| *from < moment)
    }

    /// The gaps that end in a closed span.
    pub(crate) fn ending_in(&self, since: Micros, until: Micros) -> &[(Micros, Micros)] {
        let first = self.0.partition_point(|gap| gap.1 < since);
        let last = self.0.partition_point(|gap| gap.1 <= until).max(first);
        &self.0[first..last]
    }
}

/// The earliest beginning of a gap that concerns one object and ends at a moment or later.
pub(crate) fn earliest(
    evidence: &Evidence,
    kind: Kind,
    (namespace, name): (&str, &str),
    moment: Micros,
) -> Option<Micros> {
    let own = evidence.gaps.of_object(kind, namespace, name).map(Gap::span);
    let own = own.filter(|(_, until)| *until >= moment).map(|(from, _)| from);
    let of_all = evidence.gaps.times_of_all(kind).earliest(moment);
    own.chain(of_all).min()
}
