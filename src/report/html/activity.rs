//! How often all profiles or decisions change over time.

use super::{
    axis::{Axis, Tick, span},
    entries::Ranking,
    text::place,
};
use crate::text::number::{count, thousands};

const COLUMNS: usize = 73;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 94.0;

/// The drawing.
pub(super) struct Activity {
    pub(super) columns: Vec<Column>,
    /// The height of the highest column, in words.
    pub(super) highest: String,
    pub(super) ticks: Vec<Tick>,
    pub(super) told: String,
}

/// The changes in one part of the window.
pub(super) struct Column {
    pub(super) x: String,
    pub(super) y: String,
    pub(super) width: String,
    pub(super) height: String,
    pub(super) title: String,
}

impl Activity {
    /// Counts the changes; `None` without any.
    pub(super) fn draw(ranking: &Ranking, axis: &Axis) -> Option<Self> {
        let Ranking { words, entries } = ranking;
        let changes = || entries.iter().flat_map(|entry| &entry.changes);
        let mut counts = [0_usize; COLUMNS];
        for at in changes() {
            let part = axis.since(*at) / axis.seconds();
            counts[((part * COLUMNS as f64).max(0.0) as usize).min(COLUMNS - 1)] += 1;
        }
        let (all, highest) = (changes().count(), counts.into_iter().max().unwrap_or(0));
        if all == 0 {
            return None;
        }
        let (from, until) = (axis.x(axis.from()), axis.x(axis.until()));
        let width = (until - from) / COLUMNS as f64;
        let columns = counts.iter().enumerate().filter(|(_, number)| **number > 0);
        let seconds = |column: usize| (axis.seconds() * column as f64 / COLUMNS as f64) as i64;
        Some(Self {
            columns: columns
                .map(|(column, number)| {
                    let height = (BOTTOM - TOP) * *number as f64 / highest as f64;
                    Column {
                        x: place(from + width * column as f64),
                        y: place(BOTTOM - height),
                        width: place(width - 1.0),
                        height: place(height),
                        title: format!(
                            "{} from +{} to +{}",
                            count(*number, words.change),
                            span(seconds(column)),
                            span(seconds(column + 1))
                        ),
                    }
                })
                .collect(),
            highest: thousands(highest),
            ticks: axis.ticks(),
            told: format!(
                "{} on {} in {}; at most {} per {:.0} s (one column).",
                count(all, words.change),
                count(
                    entries.iter().filter(|entry| !entry.changes.is_empty()).count(),
                    words.one
                ),
                span(axis.seconds() as i64),
                thousands(highest),
                axis.seconds() / COLUMNS as f64
            ),
        })
    }
}
