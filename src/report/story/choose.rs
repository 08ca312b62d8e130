//! Chooses the events of a story, and the fields that each of them changed: without credentials, and shortened.

use std::collections::BTreeSet;

use evidence::redact::redact_value;
use serde_json::Value;

use super::{
    Changed, Event, What, beginning, clean,
    gather::{Draft, Gathered, is_of},
    size,
};
use crate::text::{
    difference::{Masked, differences, leads},
    yaml::flow,
};

/// How many events a story has.
const EVENTS: usize = 12;

/// How many of them set the finding's field, if others are near.
const SETTING: usize = 8;

/// How many changed fields of an event are listed.
const FIELDS: usize = 6;

/// The parts of a member's answers that are listed first.
const FIRST: [&str; 2] = ["version", "readyz"];

/// The keys of a kubeconfig with this end have files in base64 as values.
const DATA: &str = "-data";

/// The fields of an item that are listed first, as its value may be shortened.
const IDENTIFYING: [&str; 6] = ["type", "name", "status", "reason", "value", "server"];

impl Gathered {
    /// The events of the story. Omitted events are counted in their place.
    pub(super) fn events(self) -> Vec<Event> {
        let folded = fold(self.drafts);
        let places = near(&folded);
        let mut events: Vec<Event> = Vec::new();
        let mut left_out = self.unread[0];
        for (place, draft) in folded.into_iter().enumerate() {
            if places.contains(&place) {
                events.extend(omission(left_out));
                left_out = 0;
                events.push(draft.into_event(&self.field));
            } else {
                left_out += draft.event.count;
            }
        }
        events.extend(omission(left_out + self.unread[1]));
        events
    }
}

/// Joins successive writes of one author that change only times, and successive calls that are alike.
fn fold(drafts: Vec<Draft>) -> Vec<Draft> {
    let mut folded: Vec<Draft> = Vec::new();
    for draft in drafts {
        match folded.last_mut() {
            Some(last) if draft.fold_key.is_some() && last.fold_key == draft.fold_key => last.join(draft),
            _ => folded.push(draft),
        }
    }
    folded
}

/// The places of the chosen events: those nearest to the last one up to the finding that set its field.
fn near(drafts: &[Draft]) -> BTreeSet<usize> {
    let finding_place = drafts.iter().rposition(|draft| draft.is_finding);
    let finding_place = finding_place.unwrap_or(drafts.len().saturating_sub(1));
    let sets_field = |place: &usize| drafts[*place].event.sets_field;
    let centre = (0..=finding_place)
        .rev()
        .find(|place| drafts.get(*place).is_some_and(|draft| draft.event.sets_field));
    let centre = centre.unwrap_or(finding_place);
    let mut order: Vec<usize> = (0..drafts.len()).collect();
    // Of two that are as near, the earlier one explains more.
    order.sort_by_key(|place| (place.abs_diff(centre), *place > centre));
    let (setting, plain): (Vec<usize>, Vec<usize>) = order.into_iter().partition(sets_field);
    let (some, more) = setting.split_at(setting.len().min(SETTING));
    let mut places = BTreeSet::from([centre, finding_place]);
    for place in some.iter().chain(&plain).chain(more) {
        if places.len() < EVENTS {
            places.insert(*place);
        }
    }
    places
}

fn omission(count: usize) -> Option<Event> {
    (count > 0).then(|| Event {
        count,
        ..Event::of(What::LeftOut)
    })
}

impl Draft {
    /// Represents a later draft, too.
    fn join(&mut self, later: Self) {
        if let (Some((_, after)), Some((_, newer))) = (&mut self.values, later.values) {
            *after = newer;
        }
        self.event.until = later.event.at;
        self.event.count += later.event.count;
        self.event.detail = later.event.detail;
        self.event.resource_version = later.event.resource_version;
        self.is_finding |= later.is_finding;
    }

    /// The event with the fields that it changed, those of the finding first.
    fn into_event(self, field: &str) -> Event {
        let mut event = self.event;
        event.count = event.count.max(1);
        let Some((before, after)) = self.values else {
            return event;
        };
        let (old, new) = (
            before.as_ref().map(without_credentials),
            without_credentials(&after),
        );
        let old = before.as_ref().zip(old.as_ref());
        let old = old.map(|(value, shown)| Masked { value, shown });
        let new = Masked {
            value: &after,
            shown: &new,
        };
        let mut changes = differences(old, new);
        changes.sort_by_key(|change| {
            let is_field = !field.is_empty() && is_of(&change.at, field);
            let is_first = FIRST.iter().any(|first| leads(first, &change.at));
            (!is_field, !is_first)
        });
        event.more_changed = changes.len().saturating_sub(FIELDS);
        event.changed = Vec::from_iter(changes.iter().take(FIELDS).map(|change| Changed {
            path: clean(&change.at),
            before: change.old.as_ref().map(text),
            after: change.new.as_ref().map(text),
        }));
        event
    }
}

/// The value of a field in an object's first version.
pub(super) fn first_value(value: &Value, field: &str) -> Option<Changed> {
    let shown = without_credentials(value);
    let masked = Masked { value, shown: &shown };
    Some(Changed {
        path: clean(field),
        before: None,
        after: Some(text(masked.field(field)?)),
    })
}

fn without_credentials(value: &Value) -> Value {
    let mut redacted = value.clone();
    shorten(&mut redacted);
    redact_value(&mut redacted);
    redacted
}

/// Replaces texts that take long to search for credentials by their length.
fn shorten(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > super::SEARCHED => *text = size(text),
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    // A certificate would hide the server next to it.
                    Value::String(text) if key.ends_with(DATA) => *text = size(text),
                    other => shorten(other),
                }
            }
        }
        _ => {}
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => clean(text),
        other => beginning(&flow(other, &IDENTIFYING)),
    }
}
