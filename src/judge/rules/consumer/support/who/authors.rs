//! Finds who changed an object, by managedFields.

use std::collections::BTreeSet;

use evidence::{Tracked, api::Writer};

pub(crate) use super::program::{is_actor, is_by_program, is_program, may_be_a_producer_s};

/// The field managers that wrote between two versions; empty without managedFields. One that only lost a field to
/// another did not write: the hub keeps its time.
pub(crate) fn authors<'a, T: Tracked>(before: &T, after: &'a T) -> BTreeSet<&'a str> {
    let old = before.metadata().writers.as_deref().unwrap_or_default();
    let new = after.metadata().writers.as_deref().unwrap_or_default();
    let has_not_written = |old: &Writer, new: &Writer| {
        (&old.manager, &old.operation, &old.subresource, &old.time)
            == (&new.manager, &new.operation, &new.subresource, &new.time)
            && new.owns.iter().all(|part| old.owns.contains(part))
    };
    let wrote = |new: &&Writer| !old.iter().any(|old| has_not_written(old, new));
    let names = new.iter().filter(wrote).map(|writer| &*writer.manager);
    names.filter(|name| is_actor(name)).collect()
}
