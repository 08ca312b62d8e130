//! A profile's conditions over time, as bars.

use std::collections::BTreeSet;

use evidence::{
    Evidence, Kind, ProfileHistory, Version,
    api::{Condition, names},
};
use jiff::Timestamp;

use super::{
    axis::{Axis, Tick, span},
    text::{brief, place, shown},
};
use crate::text::number::count;

/// The most conditions to draw.
const ROWS: usize = 8;
const ROW: f64 = 24.0;
const TOP: f64 = 8.0;

/// More changes than this are drawn by columns.
const SEGMENTS: usize = 160;

/// The narrowest bar that has room for a letter.
const FOR_A_LETTER: f64 = 11.0;

/// The drawing.
pub(super) struct Bars {
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

/// One condition.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) title: String,
    pub(super) y: String,
    pub(super) bars: Vec<Bar>,
}

/// A span of time in which a condition stays the same.
pub(super) struct Bar {
    pub(super) x: String,
    pub(super) width: String,
    pub(super) class: &'static str,
    pub(super) letter: &'static str,
    pub(super) title: String,
}

/// A time that the watch missed.
pub(super) struct Missed {
    pub(super) x: String,
    pub(super) width: String,
    pub(super) title: String,
}

/// The state of a condition at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    True,
    False,
    Unknown,
    Odd,
    Absent,
    NoProfile,
    Changing,
}

/// A condition's state from one time to another.
#[derive(Clone, Debug, PartialEq)]
struct Spell {
    from: Timestamp,
    until: Timestamp,
    state: State,
    reason: String,
}

impl Bars {
    /// Draws the conditions of the successive profiles of one name; `None` without any.
    pub(super) fn draw(evidence: &Evidence, histories: &[&ProfileHistory], axis: &Axis) -> Option<Self> {
        let kinds = kinds(histories);
        if kinds.is_empty() {
            return None;
        }
        let mut told = Vec::new();
        let mut rows = Vec::new();
        for (place_of_row, kind) in kinds.iter().take(ROWS).enumerate() {
            let spells = spells(histories, kind, axis);
            told.push(in_words(kind, &spells));
            rows.push(Row {
                name: brief(kind, 20),
                title: shown(kind),
                y: place(TOP + ROW * place_of_row as f64),
                bars: columns(spells, axis)
                    .iter()
                    .map(|spell| Bar::of(spell, axis))
                    .collect(),
            });
        }
        if kinds.len() > ROWS {
            told.push(format!(
                "{} not shown",
                count(kinds.len() - ROWS, "more condition")
            ));
        }
        let bottom = TOP + ROW * rows.len() as f64;
        Some(Self {
            rows,
            gaps: missed(evidence, histories, axis),
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
        Self {
            x: place(from),
            width: place(width),
            class,
            letter: if width >= FOR_A_LETTER { letter } else { "" },
            title: format!(
                "{word}{reason} from {} for {}",
                axis.describe(spell.from),
                span(spell.seconds())
            ),
        }
    }
}

impl State {
    /// Its class, letter and word.
    fn sign(self) -> (&'static str, &'static str, &'static str) {
        match self {
            State::True => ("c-true", "T", "True"),
            State::False => ("c-false", "F", "False"),
            State::Unknown => ("c-unknown", "U", "Unknown"),
            State::Odd => ("c-odd", "?", "another value"),
            State::Absent => ("c-absent", "–", "absent"),
            State::NoProfile => ("c-gone", "", "no profile"),
            State::Changing => ("c-changing", "~", "changing"),
        }
    }

    fn of(condition: Option<&Condition>) -> Self {
        match condition.map(|condition| &*condition.status) {
            Some("True") => State::True,
            Some("False") => State::False,
            Some("Unknown") => State::Unknown,
            Some(_) => State::Odd,
            None => State::Absent,
        }
    }
}

impl Spell {
    fn seconds(&self) -> i64 {
        self.until.duration_since(self.from).as_secs()
    }
}

/// Lists the types of all conditions that ever existed, the documents' own first.
fn kinds<'a>(histories: &[&'a ProfileHistory]) -> Vec<&'a str> {
    let versions = histories.iter().flat_map(|history| &history.versions);
    let kinds: BTreeSet<&str> = versions
        .flat_map(|version| version.object.status.conditions.iter())
        .map(|condition| &*condition.kind)
        .collect();
    let mut kinds: Vec<&str> = kinds.into_iter().collect();
    let own = [names::CONDITION_HEALTHY, names::CONDITION_JOINED];
    kinds.sort_by_key(|kind| own.iter().position(|name| name == kind).unwrap_or(own.len()));
    kinds
}

/// Returns a condition's states through the window.
fn spells(histories: &[&ProfileHistory], kind: &str, axis: &Axis) -> Vec<Spell> {
    let mut spells: Vec<Spell> = Vec::new();
    let mut put = |from: Timestamp, state: State, reason: &str| {
        let from = from.clamp(axis.from(), axis.until());
        if let Some(last) = spells.last_mut() {
            if last.state == state && last.reason == reason {
                return;
            }
            last.until = from;
        }
        spells.push(Spell {
            from,
            until: axis.until(),
            state,
            reason: reason.to_owned(),
        });
    };
    put(axis.from(), State::NoProfile, "");
    // A name may be given again once its profile is gone.
    let mut histories = histories.to_vec();
    histories.sort_by_key(|history| history.versions.first().map(Version::received));
    for history in histories {
        for version in &history.versions {
            let conditions = &version.object.status.conditions;
            let condition = conditions.iter().find(|condition| *condition.kind == *kind);
            let reason = condition.map_or(String::new(), |condition| brief(&condition.reason, 60));
            if let Some(at) = version.at {
                put(at, State::of(condition), &reason);
            }
        }
        if let Some(deleted) = history.deleted {
            put(deleted, State::NoProfile, "");
        }
    }
    spells.retain(|spell| spell.until > spell.from);
    spells
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
        match merged.last_mut() {
            Some(last) if is_short && last.state == State::Changing => last.until = spell.until,
            _ if is_short => merged.push(Spell {
                state: State::Changing,
                reason: String::new(),
                ..spell
            }),
            _ => merged.push(spell),
        }
    }
    merged
}

/// Lists the times that the watch missed of a profile.
fn missed(evidence: &Evidence, histories: &[&ProfileHistory], axis: &Axis) -> Vec<Missed> {
    let is_its = |name: &str, namespace: &str| {
        histories.iter().any(|history| {
            let metadata = &history.last().metadata;
            *metadata.name == *name && *metadata.namespace == *namespace
        })
    };
    evidence
        .gaps(Kind::Timeline)
        .filter(|gap| {
            let object = gap.object.as_ref();
            object.is_none_or(|object| is_its(&object.name, &object.namespace))
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

/// Describes a condition's states in one sentence.
fn in_words(kind: &str, spells: &[Spell]) -> String {
    let kind = brief(kind, 60);
    let (Some(first), Some(last)) = (spells.first(), spells.last()) else {
        return format!("{kind}: nothing observed");
    };
    let (_, _, end) = last.state.sign();
    let states: Vec<State> = spells
        .chunk_by(|a, b| a.state == b.state)
        .map(|same| same[0].state)
        .collect();
    if states.len() == 1 {
        let (_, _, word) = first.state.sign();
        return format!("{kind}: {word} throughout");
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
        "{kind}: {}, {}; at the end {end}",
        count(states.len() - 1, "change"),
        times.join(", ")
    )
}
