//! What becomes of an object over time, as bars: a row for each of its parts.

use std::{cmp::Reverse, collections::BTreeSet};

use evidence::{Evidence, History, Tracked, Version};
use jiff::Timestamp;

use super::{
    axis::{Axis, Tick, span},
    state::State,
    text::{brief, label, place, shown},
};
use crate::text::number::count;

/// The most rows of a drawing.
const ROWS: usize = 8;
const ROW: f64 = 24.0;
const TOP: f64 = 8.0;

/// More changes than this are drawn by columns.
const SEGMENTS: usize = 160;

/// How much room a letter in a bar takes, and what is beside a text.
const LETTER: f64 = 6.5;
const BESIDE: f64 = 4.5;

/// How many letters a bar shows of its reason, at least and at most.
const FEW: usize = 8;
const MANY: usize = 48;

/// From so many on, parts of which the same is said stand in one sentence.
const ALIKE: usize = 3;

/// The drawing.
pub(super) struct Bars {
    /// What it shows, such as `Conditions`.
    pub(super) title: &'static str,
    pub(super) rows: Vec<Row>,
    /// Times that the watch missed.
    pub(super) gaps: Vec<Missed>,
    pub(super) ticks: Vec<Tick>,
    /// Where the rows end.
    pub(super) bottom: String,
    pub(super) height: String,
    /// The drawing in words.
    pub(super) told: Vec<String>,
}

/// A part of an object.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) title: String,
    pub(super) y: String,
    pub(super) bars: Vec<Bar>,
}

/// A span of time in which a part stays the same.
pub(super) struct Bar {
    pub(super) x: String,
    pub(super) width: String,
    pub(super) class: &'static str,
    pub(super) letter: String,
    pub(super) title: String,
}

/// A time that the watch missed.
#[derive(Clone)]
pub(super) struct Missed {
    pub(super) x: String,
    pub(super) width: String,
    pub(super) title: String,
}

/// A part of an object, to be drawn.
pub(super) struct Track {
    pub(super) name: String,
    pub(super) spells: Vec<Spell>,
}

/// A state from one time to another.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Spell {
    from: Timestamp,
    until: Timestamp,
    state: State,
    reason: String,
}

impl Bars {
    /// Draws what became of the first parts: `what` names such a part, as in `condition`. `None` without any.
    pub(super) fn draw(
        (title, what): (&'static str, &str),
        tracks: Vec<Track>,
        gaps: Vec<Missed>,
        axis: &Axis,
    ) -> Option<Self> {
        if tracks.is_empty() {
            return None;
        }
        let hidden = tracks.len().saturating_sub(ROWS);
        let (mut told, mut rows) = (Vec::new(), Vec::new());
        for (place_of_row, track) in tracks.into_iter().take(ROWS).enumerate() {
            told.push((brief(&track.name, 60), track.in_words()));
            rows.push(Row {
                name: label(&track.name, 20),
                title: shown(&track.name),
                y: place(TOP + ROW * place_of_row as f64),
                bars: columns(track.spells, axis)
                    .iter()
                    .map(|spell| Bar::of(spell, axis))
                    .collect(),
            });
        }
        let mut told = together(&told);
        if hidden > 0 {
            told.push(format!("{} not shown", count(hidden, &format!("more {what}"))));
        }
        let bottom = TOP + ROW * rows.len() as f64;
        Some(Self {
            title,
            rows,
            gaps,
            ticks: axis.ticks(),
            bottom: place(bottom),
            height: place(bottom + 34.0),
            told,
        })
    }
}

impl Bar {
    fn of(spell: &Spell, axis: &Axis) -> Self {
        let (from, until) = (axis.x(spell.from), axis.x(spell.until));
        let width = (until - from).max(1.0);
        let (class, letter, word) = spell.state.sign();
        let reason = match &*spell.reason {
            "" => String::new(),
            reason => format!(" ({reason})"),
        };
        let room = ((width - BESIDE) / LETTER).max(0.0) as usize;
        let letter = if spell.state.shows_reason() && room >= FEW {
            label(&spell.reason, room.min(MANY))
        } else if letter.chars().count() <= room {
            letter.to_owned()
        } else {
            String::new()
        };
        Self {
            x: place(from),
            width: place(width),
            class,
            letter,
            title: format!(
                "{word}{reason} from {} for {}",
                axis.describe(spell.from),
                span(spell.seconds())
            ),
        }
    }
}

impl Track {
    /// Follows a part through the window: `absent` until the first of the changes, each with its time and reason.
    pub(super) fn of(
        name: String,
        absent: State,
        changes: impl IntoIterator<Item = (Timestamp, State, String)>,
        axis: &Axis,
    ) -> Self {
        let mut spells: Vec<Spell> = Vec::new();
        let begin = (axis.from(), absent, String::new());
        for (from, state, reason) in [begin].into_iter().chain(changes) {
            let from = from.clamp(axis.from(), axis.until());
            if let Some(last) = spells.last_mut() {
                if last.state == state && last.reason == reason {
                    continue;
                }
                last.until = from;
            }
            spells.push(Spell {
                from,
                until: axis.until(),
                state,
                reason,
            });
        }
        spells.retain(|spell| spell.until > spell.from);
        Self { name, spells }
    }

    /// Follows a part of the successive objects of one name: `state` tells what it is in a version, and why.
    pub(super) fn of_histories<T: Tracked>(
        name: String,
        absent: State,
        histories: &[&History<T>],
        state: impl Fn(&T) -> (State, String),
        axis: &Axis,
    ) -> Self {
        // A name may be given again once its object is gone.
        let mut histories = histories.to_vec();
        histories.sort_by_key(|history| history.versions.first().map(Version::received));
        let mut changes = Vec::new();
        for history in histories {
            changes.extend(history.versions.iter().map(|version| {
                let (state, reason) = state(&version.object);
                (version.received(), state, reason)
            }));
            changes.extend(history.deleted.map(|deleted| (deleted, absent, String::new())));
        }
        Self::of(name, absent, changes, axis)
    }

    /// Describes its states, as what follows its name in a sentence.
    fn in_words(&self) -> String {
        let spells = &self.spells;
        let (Some(first), Some(last)) = (spells.first(), spells.last()) else {
            return "nothing observed".to_owned();
        };
        let (_, _, word) = last.state.sign();
        let end = if last.state.shows_reason() {
            &last.reason
        } else {
            word
        };
        let states: Vec<State> = spells
            .chunk_by(|a, b| a.state == b.state)
            .map(|same| same[0].state)
            .collect();
        if states.len() == 1 {
            return match spells.len() {
                _ if !first.state.shows_reason() => format!("{word} throughout"),
                1 => format!("{word} throughout ({end})"),
                several => format!(
                    "{word} throughout, {}; at the end {end}",
                    count(several - 1, "change")
                ),
            };
        }
        let times: Vec<String> = states
            .iter()
            .collect::<BTreeSet<_>>()
            .into_iter()
            .map(|state| {
                let of_state = spells.iter().filter(|spell| spell.state == *state);
                let (_, _, word) = state.sign();
                format!("{word} for {}", span(of_state.map(Spell::seconds).sum()))
            })
            .collect();
        format!(
            "{}, {}; at the end {end}",
            count(states.len() - 1, "change"),
            times.join(", ")
        )
    }
}

impl Spell {
    fn seconds(&self) -> i64 {
        self.until.duration_since(self.from).as_secs()
    }
}

/// Says what is alike of several neighbours once.
fn together(told: &[(String, String)]) -> Vec<String> {
    let alike = told.chunk_by(|(_, one), (_, other)| one == other);
    let sentences = alike.flat_map(|parts| match parts {
        [(first, words), rest @ .., (last, _)] if parts.len() >= ALIKE => {
            vec![format!("{first} to {last} ({}): {words}", rest.len() + 2)]
        }
        few => few
            .iter()
            .map(|(name, words)| format!("{name}: {words}"))
            .collect(),
    });
    sentences.collect()
}

/// Puts first what changes most, if not all can be drawn.
pub(super) fn most_changing_first(mut tracks: Vec<Track>) -> Vec<Track> {
    if tracks.len() > ROWS {
        tracks.sort_by_key(|track| Reverse(track.spells.len()));
        tracks[..ROWS].sort_by(|one, other| one.name.cmp(&other.name));
    }
    tracks
}

/// Reduces too many spells: for each column, the one that fills it, or that it changes.
fn columns(spells: Vec<Spell>, axis: &Axis) -> Vec<Spell> {
    if spells.len() <= SEGMENTS {
        return spells;
    }
    let column = |at: Timestamp| ((axis.since(at) / axis.seconds()) * SEGMENTS as f64) as i64;
    let mut merged: Vec<Spell> = Vec::new();
    for spell in spells {
        let is_short = column(spell.from) == column(spell.until);
        let mixed = spell.state.mixed();
        match merged.last_mut() {
            Some(last) if is_short && last.state == mixed => last.until = spell.until,
            _ if is_short => merged.push(Spell {
                state: mixed,
                reason: String::new(),
                ..spell
            }),
            _ => merged.push(spell),
        }
    }
    merged
}

/// Lists the times that the watch missed of some objects.
pub(super) fn missed<T: Tracked>(evidence: &Evidence, histories: &[&History<T>], axis: &Axis) -> Vec<Missed> {
    let names: BTreeSet<(&str, &str)> = histories
        .iter()
        .map(|history| {
            let metadata = history.last().metadata();
            (&*metadata.namespace, &*metadata.name)
        })
        .collect();
    evidence
        .gaps(T::WATCHED)
        .filter(|gap| match &gap.object {
            Some(object) => names.contains(&(&*object.namespace, &*object.name)),
            None => true,
        })
        .take(SEGMENTS)
        .map(|gap| {
            let (from, until) = (gap.from.unwrap_or(axis.from()), gap.until.unwrap_or(axis.until()));
            let (x, end) = (axis.x(from), axis.x(until));
            Missed {
                x: place(x),
                width: place((end - x).max(1.0)),
                title: format!(
                    "not observed, from {}: {}",
                    axis.describe(from),
                    shown(&gap.reason)
                ),
            }
        })
        .collect()
}
