//! Who began a violation.

use evidence::{History, Version};

use super::{
    Hub, Judged,
    author::{Attribution, Author, AuthoredChange},
};
use crate::timeline::Timeline;

/// Whether the run or another client is known to have begun the violation of a field at a moment.
pub(super) fn began_with_others<'e, T: Judged>(
    hub: &Hub<'e>,
    timeline: &Timeline<'e, T>,
    lives: &[&'e History<T>],
    place: usize,
    field: &str,
) -> bool {
    let attribution = author_of_moment(hub, timeline, lives, place, field);
    attribution.is_some_and(|attribution| attribution.is_of_others())
}

/// Who made the change with which a moment began; none if nothing changed.
pub(super) fn author_of_moment<'e, T: Judged>(
    hub: &Hub<'e>,
    timeline: &Timeline<'e, T>,
    lives: &[&'e History<T>],
    place: usize,
    field: &str,
) -> Option<Attribution<'e>> {
    let authors = T::authors(hub);
    let known = place.checked_sub(1).and_then(|before| timeline.objects(before));
    let after = changed_version(known.as_deref().unwrap_or_default(), &timeline.objects(place)?)?;
    let Some(known) = known else {
        return Some(authors.of_listed(&after.object, field));
    };
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

/// The version that was not there before.
fn changed_version<'e, T>(known: &[&'e Version<T>], now: &[&'e Version<T>]) -> Option<&'e Version<T>> {
    let is_new = |version: &&&Version<T>| !known.iter().any(|old| std::ptr::eq(*old, **version));
    now.iter().find(is_new).copied()
}

impl Attribution<'_> {
    /// Whether the run or another client is known to be the author.
    pub(super) fn is_of_others(&self) -> bool {
        matches!(self.author, Author::Run | Author::Other)
    }
}
