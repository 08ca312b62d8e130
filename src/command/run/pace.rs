//! How often the evidence of a run that goes on is copied.

use std::time::Duration;

use tokio::time::Instant;

/// The work on a copy takes at most one part in so many of the time.
const SHARE: u32 = 20;

/// When the next copy is due: after an interval, and later where the work on one takes long. One is worked on at a time.
pub struct Pace {
    every: Duration,
    next: Instant,
    is_busy: bool,
}

impl Pace {
    /// The first copy is due after `first`, each other one after an interval.
    pub fn new(first: Duration, every: Duration) -> Self {
        Self {
            every,
            next: Instant::now() + first,
            is_busy: false,
        }
    }

    /// Returns `true` if a copy is due.
    pub fn is_due(&self) -> bool {
        !self.is_busy && Instant::now() >= self.next
    }

    /// A copy was taken.
    pub fn begin(&mut self) {
        self.is_busy = true;
    }

    /// The work on a copy, which began then, has ended.
    pub fn end(&mut self, began: Instant) {
        let now = Instant::now();
        self.is_busy = false;
        self.next = (began + self.every).max(now + SHARE * (now - began));
    }
}
