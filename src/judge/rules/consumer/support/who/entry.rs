//! The entries of managedFields: which parts of an object a field manager owns, and how it wrote them.

use evidence::{Tracked, api::Writer};

use super::program::SUITE;

/// An entry of managedFields.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Entry<'o>(&'o Writer);

/// The entries of an object; none if the evidence shows none.
pub(crate) fn entries<T: Tracked>(object: &T) -> impl Iterator<Item = Entry<'_>> {
    let writers = object.metadata().writers.as_deref().unwrap_or_default();
    writers.iter().map(Entry)
}

impl<'o> Entry<'o> {
    /// The field manager.
    pub(crate) fn by(self) -> &'o str {
        &self.0.manager
    }

    /// Whether it is this suite's.
    pub(crate) fn is_the_suites(self) -> bool {
        self.by() == SUITE
    }

    /// The parts that it owns.
    pub(crate) fn parts(self) -> impl Iterator<Item = &'o str> {
        self.0.owns.iter().map(|part| &**part)
    }

    /// The first such part that it owns.
    pub(crate) fn owned(self, is_it: impl Fn(&str) -> bool) -> Option<&'o str> {
        self.parts().find(|part| is_it(part))
    }
}
