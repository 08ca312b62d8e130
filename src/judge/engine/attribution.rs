//! Who began a violation.

use evidence::{History, Tracked, Version, parse_time};
use jiff::Timestamp;

use super::{
    Hub, Judged,
    author::{Attribution, Author, AuthoredChange, Authors},
};
use crate::timeline::Timeline;

/// Who made the change of a field with which a moment began; none if nothing changed.
pub(super) fn author_of_moment<'e, T: Judged>(
    hub: &Hub<'e>,
    timeline: &Timeline<'e, T>,
    lives: &[&'e History<T>],
    place: usize,
    field: &str,
) -> Option<Attribution<'e>> {
    author_of_group(hub, timeline, lives, place, field, &|_| true)
}

/// Who made the change of a field in a group with which a moment began; none if no object that matters to the rule changed.
pub(super) fn author_of_group<'e, T: Judged>(
    hub: &Hub<'e>,
    timeline: &Timeline<'e, T>,
    lives: &[&'e History<T>],
    place: usize,
    field: &str,
    is_member: &dyn Fn(&Version<T>) -> bool,
) -> Option<Attribution<'e>> {
    let authors = T::authors(hub);
    let mut now = timeline.objects(place)?;
    now.retain(|version| is_member(version));
    let Some(known) = place.checked_sub(1).and_then(|before| timeline.objects(before)) else {
        return author_of_listed(authors, &now, field);
    };
    let after = changed_version(&known, &now)?;
    let uid = &after.object.metadata().uid;
    let before = known
        .iter()
        .copied()
        .find(|version| version.object.metadata().uid == *uid);
    if before.is_none() {
        let life = lives.iter().find(|life| life.last().metadata().uid == *uid)?;
        return Some(authors.of_creation(life));
    }
    Some(authors.of_change(&AuthoredChange {
        before,
        after,
        at: timeline.moments()[place].since,
        is_over_gap: false,
        field,
    }))
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
        let written = authors.last_write_of(&version.object, field);
        std::ptr::eq(*version, *newest) || written.is_some_and(|at| Some(at) < created(&newest.object))
    };
    if objects.iter().all(is_older) {
        return Some(authors.of_listed(&newest.object, field));
    }
    let owners = objects
        .iter()
        .map(|version| authors.of_listed(&version.object, field));
    Attribution::common(owners)
}

fn created<T: Tracked>(object: &T) -> Option<Timestamp> {
    parse_time(object.metadata().creation_timestamp.as_deref()?)
}

/// The version that was not there before.
fn changed_version<'e, T>(known: &[&'e Version<T>], now: &[&'e Version<T>]) -> Option<&'e Version<T>> {
    let is_new = |version: &&&Version<T>| !known.iter().any(|old| std::ptr::eq(*old, **version));
    now.iter().find(is_new).copied()
}

/// The moments in which something holds that no other client began. Its first author counts for as long as it holds.
pub(super) fn not_begun_by_others(
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

impl Attribution<'_> {
    /// Whether the run or another client is known to be the author.
    pub(super) fn is_of_others(&self) -> bool {
        matches!(self.author, Author::Run | Author::Other)
    }
}
