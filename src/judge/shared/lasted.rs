//! Whether something lasted for longer than the grace, and how reports say so.

use evidence::Evidence;

use crate::{
    shared::clocks::{Age, CLOCKS_UNKNOWN, GRACE},
    subjects::Length,
    time::{Known, Stretch, While, Why, timestamp},
};

/// The reason for no verdict if a fault lasted for about the grace.
const RESOLUTION: &str = "a watch may tell up to 10 s late: whether a fault lasted for longer than the grace of 2 min, it does not show";

/// The reason for no verdict if a fault was open at the end.
pub(crate) const STILL_OPEN: &str =
    "too early to tell: a fault that was there at the end is not yet older than the grace of 2 min";

/// Whether the run looked on for faults that were open when its window ended, so that those that still are make a rule
/// inconclusive. Older suites did not.
pub(crate) fn looked_on(evidence: &Evidence) -> bool {
    evidence.header.settled.is_some()
}

/// Whether something lasted for longer than the grace; what tells the most comes last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lasted {
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

/// Whether something lasted for longer than the grace. `age` says how old it was when it was last seen, if that is not
/// seen: what the first list showed may be older than the window.
pub(crate) fn lasted(found: &While, age: impl FnOnce() -> Age) -> Lasted {
    let known = found.lasting(GRACE);
    match known {
        Known::Yes => Lasted::Long,
        // What more time alone would decide is as old as it is.
        _ if found.is_open() && (known == Known::No || known.is_unknown_for(Why::Ended)) => age().into(),
        Known::Unknown(_) if found.is_open() => Lasted::from(age()).max(Lasted::Untold(RESOLUTION)),
        Known::Unknown(_) => Lasted::Untold(RESOLUTION),
        Known::No => Lasted::Short,
    }
}

/// Says from when till when something lasted for longer than the grace: the last of its stretches. `at_least` if it may have begun earlier.
pub(crate) fn describe(stretches: &[Stretch], at_least: bool, ending: &str) -> String {
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
    let (length, grace) = (Length(stretch.total), Length(GRACE));
    format!("wrong for {least}{length}{again} (grace: {grace}), from {from} until {until}{ending}{last}")
}
