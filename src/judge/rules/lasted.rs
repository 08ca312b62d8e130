//! Whether something lasted for longer than the grace, and how reports say so.

use super::{
    clocks::{Age, CLOCKS_UNKNOWN, GRACE},
    finding::Length,
    write_time::timestamp,
};
use crate::time::{Known, Stretch, While};

/// The reason for no verdict if a fault lasted for about the grace.
const RESOLUTION: &str = "a watch may tell up to 10 s late: whether a fault lasted for longer than the grace of 2 min, it does not show";

/// Whether something lasted for longer than the grace; what tells the most comes last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Lasted {
    /// It did not.
    Short,
    /// It had just begun when the window ended.
    New,
    /// The evidence does not tell.
    Untold(&'static str),
    /// It did.
    Long,
}

impl From<Age> for Lasted {
    /// What is as old as that at the end of the window.
    fn from(age: Age) -> Self {
        match age {
            Age::Settled => Lasted::Long,
            Age::Unsure => Lasted::Untold(CLOCKS_UNKNOWN),
            Age::New => Lasted::New,
        }
    }
}

/// Whether something lasted for longer than the grace. `age` says how old it is at the end of the window if that is not
/// seen: what the first list showed may be older than the window.
pub(super) fn lasted(found: &While, age: impl FnOnce() -> Age) -> Lasted {
    match found.lasting(GRACE) {
        Known::Yes => Lasted::Long,
        Known::Unknown(_) | Known::No if found.is_open() => age().into(),
        Known::Unknown(_) => Lasted::Untold(RESOLUTION),
        Known::No => Lasted::Short,
    }
}

/// Says from when till when something lasted: the last of its stretches. `at_least` if it may have begun earlier.
pub(super) fn describe(stretches: &[Stretch], at_least: bool, ending: &str) -> String {
    let Some(stretch) = stretches.last() else {
        return String::new();
    };
    let (from, until) = (timestamp(stretch.from), timestamp(stretch.until));
    let least = if at_least { "at least " } else { "" };
    let again = match stretch.times {
        1 => String::new(),
        times => format!(" in all, {times} times"),
    };
    let last = match stretches.len() {
        1 => String::new(),
        times => format!(", the last of {times} times"),
    };
    let length = Length(stretch.total);
    format!("wrong for {least}{length}{again}, from {from} until {until}{ending}{last}")
}
