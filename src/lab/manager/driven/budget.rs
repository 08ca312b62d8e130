//! Limits the writes of a profile's status (KEP-4322 › Scalability implication).

use std::time::Duration;

use tokio::time::Instant;

/// Writes in a row. The documents allow ten; the manager uses fewer, since others write too.
const BURST: f64 = 8.0;
/// The budget after a restart: the manager does not know what it wrote before.
const CAUTIOUS: f64 = 2.0;
/// The time until one more write is allowed.
const REFILL: Duration = Duration::from_secs(30);

/// The remaining budget of one profile.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    left: f64,
    at: Instant,
}

impl Budget {
    /// The budget of a new profile.
    pub(super) fn full() -> Self {
        Self::with(BURST)
    }

    /// The budget of a profile that existed before a restart.
    pub(super) fn unknown() -> Self {
        Self::with(CAUTIOUS)
    }

    fn with(left: f64) -> Self {
        let at = Instant::now();
        Self { left, at }
    }

    /// Returns true, and counts the write, if one is allowed now.
    pub(super) fn allows_one(&mut self) -> bool {
        let now = Instant::now();
        let refilled = (now - self.at).as_secs_f64() / REFILL.as_secs_f64();
        self.at = now;
        self.left = (self.left + refilled).min(BURST);
        let allowed = self.left >= 1.0;
        if allowed {
            self.left -= 1.0;
        }
        allowed
    }
}
