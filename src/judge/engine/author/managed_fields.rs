//! The managedFields of an object, as a source of authors.

use std::collections::BTreeSet;

use evidence::{
    Reason, Tracked,
    api::{Metadata, Writer},
    parse_time,
};
use jiff::Timestamp;

use super::{Attribution, Author, Authors};

/// Field managers that many programs have by default. They identify a program only if they are configured.
const DEFAULT_FIELD_MANAGERS: [&str; 8] = [
    "",
    "controller",
    "controller-manager",
    "Go-http-client",
    "main",
    "manager",
    "operator",
    "unknown",
];

/// The fields of an object that a program owns by writes of one kind.
pub(crate) struct ProgramFields<'o> {
    /// The program.
    pub(crate) attribution: Attribution<'o>,
    /// Its name, its last write, and the paths of the fields.
    pub(crate) entry: &'o Writer,
}

impl ProgramFields<'_> {
    /// When the program last wrote them.
    pub(crate) fn written_at(&self) -> Option<Timestamp> {
        parse_time(self.entry.time.as_deref()?)
    }

    /// Whether the implementation owns the fields. An inferred name that many programs have does not show it.
    pub(crate) fn is_of_implementation(&self) -> bool {
        let is_default = DEFAULT_FIELD_MANAGERS.contains(&&*self.entry.manager);
        self.attribution.author == Author::Implementation && !(self.attribution.is_inferred && is_default)
    }
}

impl<'e> Authors<'e> {
    /// The fields of an object by the programs that own them; none without managedFields.
    pub(crate) fn owned_fields<'o>(&'o self, object: &'o Metadata) -> Option<Vec<ProgramFields<'o>>> {
        let entries = object.writers.as_deref()?.iter();
        let recorded = entries.filter(|entry| is_recorded_manager(&entry.manager));
        let owned = recorded.map(|entry| ProgramFields {
            attribution: self.of_field_manager(&entry.manager),
            entry,
        });
        Some(owned.collect())
    }

    /// Why no field manager is known to be the implementation's; none if one is.
    pub(crate) fn why_no_field_manager(&self) -> Option<Reason> {
        let field_managers = self.writers.keys().filter(|name| !name.is_client());
        let mut unknown = None;
        for name in field_managers {
            match self.names.of_writer(*name).author {
                Author::Implementation => return None,
                Author::Unknown(reason) => unknown = Some(reason),
                Author::Run | Author::Other => {}
            }
        }
        Some(unknown.unwrap_or_else(|| self.advice()))
    }
}

/// The field managers with an entry that is new, has a new timestamp, or gained a field. An entry that only lost fields
/// to another field manager keeps its timestamp.
pub(super) fn moved_entries<'e, T: Tracked>(before: &T, after: &'e T) -> BTreeSet<&'e str> {
    let is_unmoved = |old: &Writer, new: &Writer| {
        old.manager == new.manager
            && old.operation == new.operation
            && old.subresource == new.subresource
            && old.time == new.time
            && new.owns.iter().all(|path| old.owns.contains(path))
    };
    let is_moved = |entry: &&Writer| !entries(before).iter().any(|old| is_unmoved(old, entry));
    field_managers(entries(after).iter().filter(is_moved))
}

/// The field managers that own a field, a part of it, or a field that contains it.
pub(in crate::engine) fn owners<'e, T: Tracked>(object: &'e T, field: &str) -> BTreeSet<&'e str> {
    field_managers(owning_entries(object, field))
}

/// Whether a part of a field lost its owner. The client that removed it may own none of the rest.
pub(super) fn is_partly_removed<T: Tracked>(before: &T, after: &T, field: &str) -> bool {
    let is_owned = |path| entries(after).iter().any(|entry| entry.owns.contains(path));
    let mut parts = entries(before).iter().flat_map(|entry| entry.owns.iter());
    parts.any(|path| contains(field, path) && !is_owned(path))
}

/// The entries with that field, a part of it, or a field that contains it.
pub(super) fn owning_entries<'e, T: Tracked>(object: &'e T, field: &str) -> impl Iterator<Item = &'e Writer> {
    let is_owned = move |path: &str| contains(path, field) || contains(field, path);
    let is_owner = move |entry: &&Writer| entry.owns.iter().any(|path| is_owned(path));
    entries(object).iter().filter(is_owner)
}

/// Whether a path is another one, or a part of it.
fn contains(path: &str, part: &str) -> bool {
    let rest = part.strip_prefix(path);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// The entries of an object's managedFields.
pub(super) fn entries<T: Tracked>(object: &T) -> &[Writer] {
    object.metadata().writers.as_deref().unwrap_or_default()
}

/// The field managers of entries.
pub(super) fn field_managers<'e>(entries: impl IntoIterator<Item = &'e Writer>) -> BTreeSet<&'e str> {
    let names = entries.into_iter().map(|entry| &*entry.manager);
    names.filter(|name| is_recorded_manager(name)).collect()
}

/// Whether a field manager is a client's. The API server invents the other two for fields without a recorded manager.
pub(super) fn is_recorded_manager(name: &str) -> bool {
    !matches!(name, "before-first-apply" | "ancient-changes")
}
