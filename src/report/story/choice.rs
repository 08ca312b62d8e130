//! Chooses the events that are told: what set the finding's field, and what happened around it.

use std::collections::BTreeSet;

use super::{
    draft::{Draft, Drafts, Source},
    event::{Event, What},
    object::StoryObject,
    testbed::{is_alike, is_run_alike},
};

/// How many events of a story are told.
const EVENTS: usize = 12;

/// How many of them set the finding's field, if others are near.
const SETTING: usize = 8;

/// The events that are told, each with its changes; what is left out is counted in its place.
pub(super) fn chosen<T: StoryObject>(drafts: Drafts<'_, T>) -> Vec<Event> {
    let Drafts { all, unread, field } = drafts;
    let folded = fold(all);
    let kept = near(&folded);
    let mut events: Vec<Event> = Vec::new();
    let mut left_out = unread[0];
    for (place, draft) in folded.iter().enumerate() {
        if kept.contains(&place) {
            events.extend(omission(left_out));
            left_out = 0;
            events.push(draft.describe(&field));
        } else {
            left_out += draft.count;
        }
    }
    events.extend(omission(left_out + unread[1]));
    events
}

/// Tells as one: successive writes of one author that change times alone, and successive calls that are alike.
fn fold<T: StoryObject>(drafts: Vec<Draft<'_, T>>) -> Vec<Draft<'_, T>> {
    let mut folded: Vec<Draft<T>> = Vec::new();
    for draft in drafts {
        match folded.last_mut() {
            Some(last) if is_told_with(last, &draft) => last.take(draft),
            _ => folded.push(draft),
        }
    }
    folded
}

fn is_told_with<T: StoryObject>(last: &Draft<'_, T>, next: &Draft<'_, T>) -> bool {
    let is_quiet = |draft: &Draft<T>| draft.is_noise && !draft.sets_field;
    match (&last.source, &next.source) {
        (_, Source::Change { .. }) => is_quiet(last) && is_quiet(next) && last.by == next.by,
        (Source::Called(last), Source::Called(next)) => is_alike(last, next),
        (Source::Plugin(last), Source::Plugin(next)) => is_run_alike(last, next),
        _ => false,
    }
}

impl<T: StoryObject> Draft<'_, T> {
    /// Stands for a later one, too.
    fn take(&mut self, later: Self) {
        match (&mut self.source, later.source) {
            (Source::Change { after, .. }, Source::Change { after: newer, .. }) => *after = newer,
            (_, source) => self.source = source,
        }
        self.until = later.at;
        self.count += later.count;
        self.is_finding_s |= later.is_finding_s;
    }
}

/// The places of the events that are told: those nearest to the last one up to the finding that set its field.
fn near<T: StoryObject>(drafts: &[Draft<'_, T>]) -> BTreeSet<usize> {
    let own = drafts.iter().rposition(|draft| draft.is_finding_s);
    let own = own.unwrap_or(drafts.len().saturating_sub(1));
    let until = drafts.get(..=own).unwrap_or_default();
    let centre = until.iter().rposition(|draft| draft.sets_field).unwrap_or(own);
    let mut order: Vec<usize> = (0..drafts.len()).collect();
    // Of two that are as near, the earlier one tells more.
    order.sort_by_key(|place| (place.abs_diff(centre), *place > centre));
    let (setting, others): (Vec<usize>, Vec<usize>) =
        order.into_iter().partition(|place| drafts[*place].sets_field);
    let (some, more) = setting.split_at(setting.len().min(SETTING));
    let mut chosen = BTreeSet::from([centre, own]);
    for place in some.iter().chain(&others).chain(more) {
        if chosen.len() < EVENTS {
            chosen.insert(*place);
        }
    }
    chosen
}

fn omission(count: usize) -> Option<Event> {
    (count > 0).then(|| Event {
        count,
        ..Event::of(What::LeftOut)
    })
}
