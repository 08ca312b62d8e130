//! One stream of events: from its opening until the hub, or the network, ends it.

use jiff::{SignedDuration, Timestamp};

use crate::watch::lines::Lines;

/// A change that arrives this soon after an interruption may have happened during it.
const CATCHING_UP: SignedDuration = SignedDuration::from_secs(1);
/// A stream that lasts so long is progress, whatever it brings.
const LASTING: SignedDuration = SignedDuration::from_secs(10);
/// A stream that lasts so long shows that the hub keeps its history for a while.
const WITH_HISTORY: SignedDuration = SignedDuration::from_secs(30);
/// A stream that lasts so long may be followed by the next one immediately.
const OLD: SignedDuration = SignedDuration::from_secs(60);

/// A stream of events.
pub(super) struct Stream {
    pub lines: Lines,
    opened: Timestamp,
    /// Whether the hub has sent everything until some moment of this stream.
    pub is_current: bool,
    /// Whether it has brought what the record lacked.
    pub has_new_versions: bool,
    /// Whether it has brought nothing at all, not even a bookmark.
    pub is_empty: bool,
}

/// What a stream was that has ended.
#[derive(Debug, Default)]
pub(super) struct Ended {
    lasted: SignedDuration,
    has_new_versions: bool,
    is_empty: bool,
}

impl Stream {
    /// The stream of a watch that goes on from a resourceVersion.
    pub fn resumed(lines: Lines, now: Timestamp) -> Self {
        Self {
            lines,
            opened: now,
            is_current: false,
            has_new_versions: false,
            is_empty: true,
        }
    }

    /// The stream of a list that is whole by now.
    pub fn of_list(lines: Lines, now: Timestamp) -> Self {
        Self {
            is_current: true,
            is_empty: false,
            ..Self::resumed(lines, now)
        }
    }

    /// Whether what comes now happens now.
    pub fn has_caught_up(&self, now: Timestamp) -> bool {
        self.is_current || now.duration_since(self.opened) >= CATCHING_UP
    }

    /// Ends it.
    pub fn end(self, now: Timestamp) -> Ended {
        Ended {
            lasted: now.duration_since(self.opened),
            has_new_versions: self.has_new_versions,
            is_empty: self.is_empty,
        }
    }
}

impl Ended {
    /// Whether the watch has progressed by it.
    pub fn has_progressed(&self) -> bool {
        self.has_new_versions || self.lasted >= LASTING
    }

    /// Whether the hub keeps its history for a while.
    pub fn has_kept_history(&self) -> bool {
        self.lasted >= WITH_HISTORY
    }

    /// Whether it ended as watches do on every hub.
    pub fn is_old(&self) -> bool {
        self.lasted >= OLD
    }

    /// Whether it ended as soon as it began, and brought nothing.
    pub fn is_empty(&self) -> bool {
        self.is_empty && self.lasted < CATCHING_UP
    }
}
