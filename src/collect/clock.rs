//! The one source of time.
//!
//! Every timestamp that the suite or its lab writes comes from a [`Clock`]: a base timestamp plus the time that
//! tokio says has passed. Under tokio's paused clock, half an hour of observation so takes milliseconds and still
//! carries honest, evenly spaced timestamps.

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// A wall clock that follows tokio's time. Copies agree with one another.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    base: Timestamp,
    started: Instant,
}

impl Clock {
    /// A clock that starts at the machine's time of day.
    pub fn system() -> Self {
        // The one place where the machine is asked; everything else derives from here.
        #[allow(clippy::disallowed_methods)]
        let base = Timestamp::now();
        Self::starting_at(base)
    }

    /// A clock that starts at `base` now, whatever the machine says.
    pub fn starting_at(base: Timestamp) -> Self {
        Self {
            base,
            started: Instant::now(),
        }
    }

    /// The present moment.
    pub fn now(&self) -> Timestamp {
        let elapsed = SignedDuration::try_from(self.started.elapsed()).unwrap_or(SignedDuration::MAX);
        self.base.saturating_add(elapsed).unwrap_or(Timestamp::MAX)
    }

    /// This clock, running `by` ahead (behind, when negative): for worlds whose clocks disagree.
    pub fn skewed(&self, by: SignedDuration) -> Self {
        Self {
            base: self.base.saturating_add(by).unwrap_or(self.base),
            ..*self
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn follows_the_paused_time() {
        let clock = Clock::starting_at(Timestamp::UNIX_EPOCH);
        tokio::time::sleep(Duration::from_secs(1800)).await;
        assert_eq!(clock.now().as_second(), 1800);
        assert_eq!(
            clock.skewed(SignedDuration::from_secs(-60)).now().as_second(),
            1740
        );
    }
}
