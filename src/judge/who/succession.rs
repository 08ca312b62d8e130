//! Successions: one identity may change hands. A new replica's certificate, a renamed account or another program takes over,
//! and the one before writes no more.

use jiff::Timestamp;

use crate::time::SERVERS_APART;

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
    /// Both wrote within the time by which the clocks of two API servers may differ.
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
        match other.until.as_microsecond() - self.from.as_microsecond() {
            ..0 => Succession::Sure,
            0..=SERVERS_APART => Succession::Possible,
            _ => Succession::None,
        }
    }
}
