//! How an object came to what a finding says of it: a line of time with a mark for each event, and the events below it.

use jiff::{SignedDuration, Timestamp};

use super::{
    axis::{Axis, machine, utc},
    text::{place, shown},
};
use crate::{
    Report,
    story::{Changed, Event, Story, What},
    text::number::count,
};

/// The distance of the lanes of a line, and of the first from the top.
const LANE: f64 = 24.0;
const TOP: f64 = 14.0;

/// Where a line begins and ends, in percent of its width: a mark at an end has room.
const FROM: f64 = 5.0;
const UNTIL: f64 = 95.0;

/// Marks that are nearer to each other, in percent, are one: on a phone, a percent is three pixels.
const APART: f64 = 8.0;

/// A story on the page.
pub(super) struct StoryView {
    /// The line of time; none where nothing has a time of its own.
    pub(super) line: Option<Line>,
    pub(super) events: Vec<EventView>,
    pub(super) note: Option<String>,
}

/// A line of time, with a lane for what happened to the object, for its member, and for the driver.
pub(super) struct Line {
    pub(super) height: String,
    /// Where the lanes end.
    pub(super) bottom: String,
    pub(super) lanes: Vec<String>,
    /// Times that take long: steps, repeated writes, and gaps of the watch.
    pub(super) spans: Vec<Span>,
    pub(super) marks: Vec<Mark>,
    pub(super) from: String,
    pub(super) until: String,
    pub(super) told: String,
}

/// A span of time on a lane.
pub(super) struct Span {
    pub(super) class: &'static str,
    pub(super) x: String,
    pub(super) width: String,
    pub(super) y: String,
}

/// One event on a lane, or several that are near to each other.
pub(super) struct Mark {
    pub(super) class: &'static str,
    pub(super) x: String,
    pub(super) y: String,
    /// The numbers of its events.
    pub(super) label: String,
    /// How wide it is drawn, and where it begins, in pixels beside its place.
    pub(super) width: usize,
    pub(super) before: String,
    at: f64,
    numbers: Vec<usize>,
    lane: usize,
}

/// One event in the list.
pub(super) struct EventView {
    /// Its number; none for events that are left out.
    pub(super) number: Option<usize>,
    pub(super) class: &'static str,
    pub(super) at: String,
    pub(super) machine: String,
    pub(super) what: String,
    pub(super) version: String,
    pub(super) sets_field: bool,
    pub(super) changed: Vec<ChangedView>,
    pub(super) more: Option<String>,
}

/// A field that changed; a value that is absent is none.
pub(super) struct ChangedView {
    pub(super) path: String,
    pub(super) before: Option<String>,
    pub(super) after: Option<String>,
}

impl StoryView {
    pub(super) fn of(report: &Report, story: &Story) -> Self {
        let axis = report.evidence.header.window.map(Axis::new);
        let mut number = 0;
        let events = story.events.iter().map(|event| {
            let is_told = event.what != What::LeftOut;
            number += usize::from(is_told);
            EventView::of(event, is_told.then_some(number), axis.as_ref())
        });
        Self {
            events: events.collect(),
            line: Line::draw(&story.events),
            note: story.note.clone(),
        }
    }
}

impl EventView {
    fn of(event: &Event, number: Option<usize>, axis: Option<&Axis>) -> Self {
        let described = |at| axis.map_or_else(|| utc(at), |axis| axis.describe(at));
        let mut at = event.at.map(described).unwrap_or_default();
        let until = event.until.map(described).filter(|until| *until != at);
        if let (false, Some(until)) = (at.is_empty(), until) {
            at += &format!(" to {until}");
        }
        Self {
            number,
            class: class(event.what),
            at,
            machine: event.at.map(machine).unwrap_or_default(),
            what: event.in_words(shown),
            version: shown(&event.resource_version),
            sets_field: event.sets_field,
            changed: event.changed.iter().map(ChangedView::of).collect(),
            more: (event.more_changed > 0).then(|| count(event.more_changed, "more field")),
        }
    }
}

impl ChangedView {
    fn of(changed: &Changed) -> Self {
        let value = |value: &Option<String>| {
            let value = value.as_deref()?;
            Some(if value.is_empty() {
                r#""""#.to_owned()
            } else {
                shown(value)
            })
        };
        Self {
            path: shown(&changed.path),
            before: value(&changed.before),
            after: value(&changed.after),
        }
    }
}

impl Line {
    /// Draws the events that have a time; none if all have the same.
    fn draw(events: &[Event]) -> Option<Self> {
        let told = events.iter().filter(|event| event.what != What::LeftOut);
        let timed: Vec<(usize, &Event, Timestamp)> = told
            .enumerate()
            .filter_map(|(place, event)| Some((place + 1, event, event.at?)))
            .collect();
        let from = timed.iter().map(|(.., at)| *at).min()?;
        let until = timed.iter().map(|(_, event, at)| event.until.unwrap_or(*at));
        let until = until.max().filter(|until| *until > from)?;
        let length = until.duration_since(from).as_secs_f64();
        let x = |at: Timestamp| {
            let part = at.duration_since(from).as_secs_f64() / length;
            FROM + (UNTIL - FROM) * part.clamp(0.0, 1.0)
        };
        let mut used: Vec<usize> = timed.iter().map(|(_, event, _)| lane(event.what)).collect();
        used.sort_unstable();
        used.dedup();
        let row = |event: &Event| used.iter().position(|lane_used| *lane_used == lane(event.what));
        let y = |row: usize| TOP + LANE * row as f64;
        let (mut spans, mut marks) = (Vec::new(), Vec::<Mark>::new());
        for (number, event, at) in &timed {
            let row = row(event).unwrap_or_default();
            let begin = x(*at);
            if let Some(until) = event.until {
                spans.push(Span {
                    class: if event.what == What::Unwatched {
                        "f-gap"
                    } else {
                        "span"
                    },
                    x: place(begin),
                    width: place((x(until) - begin).max(0.1)),
                    y: place(y(row) - 5.0),
                });
            }
            let near = marks.iter_mut().rev().find(|mark| mark.lane == row);
            match near.filter(|mark| begin - mark.at < APART) {
                Some(mark) => mark.take(*number, event),
                None => marks.push(Mark::of(*number, event, begin, row, place(y(row)))),
            }
        }
        let bottom = y(used.len() - 1) + LANE / 2.0;
        let time = |at: Timestamp| at.strftime("%H:%M:%S").to_string();
        let is_long = until.duration_since(from) >= SignedDuration::from_hours(24);
        let time = |at| if is_long { utc(at) } else { time(at) };
        Some(Self {
            height: place(bottom + 20.0),
            bottom: place(bottom + 14.0),
            lanes: (0..used.len()).map(|row| place(y(row))).collect(),
            spans,
            marks,
            from: time(from),
            until: time(until),
            told: format!(
                "Line of time: {} from {} to {}, listed below",
                count(timed.len(), "event"),
                utc(from),
                utc(until)
            ),
        })
    }
}

impl Mark {
    fn of(number: usize, event: &Event, at: f64, lane: usize, y: String) -> Self {
        let mut mark = Self {
            class: "",
            x: place(at),
            y,
            label: String::new(),
            width: 0,
            before: String::new(),
            at,
            numbers: Vec::new(),
            lane,
        };
        mark.take(number, event);
        mark
    }

    /// Stands for that event, too.
    fn take(&mut self, number: usize, event: &Event) {
        let own = if event.sets_field {
            "m-field"
        } else {
            class(event.what)
        };
        if self.class != "m-field" {
            self.class = own;
        }
        self.numbers.push(number);
        self.label = match &*self.numbers {
            [first, _, .., last] => format!("{first}…{last}"),
            few => few.iter().map(usize::to_string).collect::<Vec<_>>().join(","),
        };
        self.width = 10 + 7 * self.label.chars().count();
        self.before = place(self.width as f64 / -2.0);
    }
}

/// The lane of an event: the object's, that of its member and who calls it, or the run's.
fn lane(what: What) -> usize {
    match what {
        What::Step | What::Staged => 0,
        What::Member | What::Called | What::Plugin => 2,
        _ => 1,
    }
}

/// The class of an event's mark.
fn class(what: What) -> &'static str {
    match what {
        What::Step | What::Staged => "m-step",
        What::Member | What::Called | What::Plugin => "m-member",
        What::Unwatched => "m-gap",
        What::Deleted => "m-deleted",
        What::LeftOut => "m-none",
        What::Listed | What::Created | What::Relisted | What::Changed => "m-object",
    }
}
