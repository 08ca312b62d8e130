//! The entries of managedFields: which parts of an object a field manager owns, and how it wrote them.

use evidence::{Tracked, api::Writer, parse_time};
use jiff::{SignedDuration, Timestamp};

use super::program::{SUITE, is_actor};

/// Age from which on the entry of a writer that wrote nothing since is a remnant, compared with the newest write.
pub(crate) const OUTDATED: SignedDuration = SignedDuration::from_hours(24);

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

    /// Whether it is a writer's, and not one that the API server invented.
    pub(crate) fn is_an_actors(self) -> bool {
        is_actor(self.by())
    }

    /// Whether it is this suite's.
    pub(crate) fn is_the_suites(self) -> bool {
        self.by() == SUITE
    }

    /// The subresource of the write; empty for the object itself.
    pub(crate) fn subresource(self) -> &'o str {
        &self.0.subresource
    }

    /// When it last changed, by the hub's clock.
    pub(crate) fn written_at(self) -> Option<Timestamp> {
        self.0.time.as_deref().and_then(parse_time)
    }

    /// The parts that it owns.
    pub(crate) fn parts(self) -> impl Iterator<Item = &'o str> {
        self.0.owns.iter().map(|part| &**part)
    }

    /// The first such part that it owns.
    pub(crate) fn owned(self, is_it: impl Fn(&str) -> bool) -> Option<&'o str> {
        self.parts().find(|part| is_it(part))
    }

    /// Whether it owns parts of the status.
    pub(crate) fn owns_status(self) -> bool {
        self.owned(is_status).is_some()
    }

    /// Whether it writes the status, or owns parts of it.
    pub(crate) fn writes_status(self) -> bool {
        writes_status(self.0)
    }
}

/// Whether an entry writes the status, or owns parts of it.
pub(crate) fn writes_status(writer: &Writer) -> bool {
    &*writer.subresource == "status" || Entry(writer).owns_status()
}

/// Whether an owned part is of the status.
pub(crate) fn is_status(part: &str) -> bool {
    part == "status" || part.starts_with("status.")
}
