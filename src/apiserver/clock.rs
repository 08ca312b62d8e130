//! What time it is for a server.

use std::{fmt, sync::Arc};

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// Tells a server the time: it writes no timestamp that comes from elsewhere. Copies agree with one another.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// A clock that asks `now` each time.
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// A clock that starts at the machine's time of day and goes on with tokio's time, which may be paused.
    pub fn system() -> Self {
        // The one place where the machine is asked; everything else derives from here.
        #[allow(clippy::disallowed_methods)]
        let base = Timestamp::now();
        Self::starting_at(base)
    }

    /// A clock that starts at `base` now and goes on with tokio's time, which may be paused.
    pub fn starting_at(base: Timestamp) -> Self {
        let started = Instant::now();
        Self::new(move || {
            let elapsed = SignedDuration::try_from(started.elapsed()).unwrap_or(SignedDuration::MAX);
            base.saturating_add(elapsed).unwrap_or(Timestamp::MAX)
        })
    }

    /// The present moment.
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Clock").field(&self.now()).finish()
    }
}
