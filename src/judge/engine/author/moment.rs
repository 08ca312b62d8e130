//! The author of the change with which a moment began.

use std::ptr;

use evidence::{Tracked, Version};

use super::{Attribution, Authors, sources::owning_entries, time_of};
use crate::{
    engine::{Hub, Judged},
    time::Micros,
    timeline::Timeline,
};

/// Who made the change of a field with which a moment began; none if no object that matters to the rule changed.
pub(in crate::engine) fn author_of_moment<'e, T: Judged>(
    hub: &Hub<'e>,
    timeline: &Timeline<'e, T>,
    place: usize,
    field: &str,
    is_member: &dyn Fn(&Version<T>) -> bool,
) -> Option<Attribution<'e>> {
    let authors = T::authors(hub);
    let mut now = timeline.objects(place)?.to_vec();
    now.retain(|version| is_member(version));
    let Some(known) = place.checked_sub(1).and_then(|before| timeline.objects(before)) else {
        return author_of_listed(authors, &now, field);
    };
    let is_known = |version: &Version<T>| known.iter().any(|old| ptr::eq(*old, version));
    let changed = now.into_iter().find(|version| !is_known(version))?;
    Some(authors.of_change(&timeline.change_to(place, changed)?, field))
}

/// Who gave the objects of a list a field: the owner in the newest object, if the owners in all others wrote before it was
/// created.
fn author_of_listed<'e, T: Judged>(
    authors: &Authors<'e>,
    objects: &[&'e Version<T>],
    field: &str,
) -> Option<Attribution<'e>> {
    let newest = objects.iter().max_by_key(|version| created(&version.object))?;
    let is_older = |version: &&'e Version<T>| {
        let entries = owning_entries(&version.object, field);
        let written = entries
            .map(|entry| time_of(entry.time.as_deref()))
            .max()
            .flatten();
        ptr::eq(*version, *newest) || written.is_some_and(|at| Some(at) < created(&newest.object))
    };
    if objects.iter().all(is_older) {
        return Some(authors.of_listed(&newest.object, field));
    }
    let owners = objects.iter();
    Attribution::common(owners.map(|version| authors.of_listed(&version.object, field)))
}

fn created<T: Tracked>(object: &T) -> Option<Micros> {
    time_of(object.metadata().creation_timestamp.as_deref())
}

/// The moments in which something holds that no other client began. Its first author counts for as long as it holds.
pub(in crate::engine) fn not_begun_by_others(
    moments: usize,
    holds: impl Fn(usize) -> bool,
    began_with_others: impl Fn(usize) -> bool,
) -> Vec<bool> {
    let mut is_of_others = None;
    let is_counted = |place: usize| {
        if !holds(place) {
            is_of_others = None;
            return false;
        }
        !*is_of_others.get_or_insert_with(|| began_with_others(place))
    };
    (0..moments).map(is_counted).collect()
}
