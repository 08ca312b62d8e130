//! When a profile's status may be written (KEP-4322 › Scalability implication).

use std::time::Duration;

use tokio::time::Instant;

/// Writes in a row. The documents allow ten; the manager keeps its own share smaller, for others write as well.
const BURST: f64 = 8.0;
/// What a manager that starts anew takes for left: it does not know what it wrote before.
const CAUTIOUS: f64 = 2.0;
/// How long it takes until one more write may be made.
const REFILL: Duration = Duration::from_secs(30);

/// What is left of one profile's budget.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    left: f64,
    at: Instant,
}

impl Budget {
    /// The budget of a profile that is new.
    pub(super) fn full() -> Self {
        Self::with(BURST)
    }

    /// The budget of a profile that was there before.
    pub(super) fn unknown() -> Self {
        Self::with(CAUTIOUS)
    }

    fn with(left: f64) -> Self {
        let at = Instant::now();
        Self { left, at }
    }

    /// Whether a write may be made now; then it counts as made.
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
