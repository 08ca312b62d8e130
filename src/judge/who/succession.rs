//! Successions: one identity may change hands. A new replica's certificate, a renamed account or another program takes over,
//! and the one before writes no more.

use jiff::{SignedDuration, Timestamp};

/// Longer than the clocks of two API servers differ, and than a request of the one before may still be under way.
const APART: SignedDuration = SignedDuration::from_secs(10);

/// The span of somebody's writes in a log, from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WriteSpan {
    from: Timestamp,
    until: Timestamp,
}

/// How one who writes comes after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Succession {
    /// It took over: the other one writes no more.
    Sure,
    /// The other one wrote on for so short a time that its last writes may have been under way, or the clocks of two API
    /// servers differ.
    Possible,
    /// Both write.
    None,
}

impl WriteSpan {
    /// The span of writes at these times; none if there are none.
    pub(crate) fn of(writes: impl Iterator<Item = Timestamp> + Clone) -> Option<Self> {
        let (from, until) = (writes.clone().min()?, writes.max()?);
        Some(Self { from, until })
    }

    /// When the first of the writes was.
    pub(crate) fn from(&self) -> Timestamp {
        self.from
    }

    /// Whether who wrote then succeeds who wrote in another span. Two API servers stamp the log, and their clocks may differ.
    pub(crate) fn succeeds(&self, other: &Self) -> Succession {
        let overlap = other.until.duration_since(self.from);
        if overlap.is_negative() {
            Succession::Sure
        } else if overlap <= APART {
            Succession::Possible
        } else {
            Succession::None
        }
    }
}

/// Whether two write in turns, each of them twice: neither has taken over from the other.
pub(crate) fn in_turns(one: &[Timestamp], other: &[Timestamp]) -> bool {
    let alternate = |turns: [&[Timestamp]; 2]| {
        let mut turns = turns.into_iter().cycle().take(4);
        let last = turns.try_fold(Timestamp::MIN, |after, writes| {
            let at = writes.iter().filter(|at| **at >= after).min()?;
            at.checked_add(APART).ok()
        });
        last.is_some()
    };
    alternate([one, other]) || alternate([other, one])
}
