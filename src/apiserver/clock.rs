//! The clock of a server.

use std::{fmt, sync::Arc};

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// The source of every timestamp that a server writes. Clones agree with one another.
#[derive(Clone)]
pub struct ServerClock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl ServerClock {
    /// A clock that calls `now` each time.
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// A clock that starts at the machine's time and advances with tokio's clock, which may be paused.
    pub fn system() -> Self {
        // The only place that reads the machine's clock; all else derives from it.
        #[allow(clippy::disallowed_methods)]
        let base = Timestamp::now();
        Self::starting_at(base)
    }

    /// A clock that starts at `base` and advances with tokio's clock, which may be paused.
    pub fn starting_at(base: Timestamp) -> Self {
        let started = Instant::now();
        Self::new(move || {
            let elapsed = SignedDuration::try_from(started.elapsed()).unwrap_or(SignedDuration::MAX);
            base.saturating_add(elapsed).unwrap_or(Timestamp::MAX)
        })
    }

    /// The current time.
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl fmt::Debug for ServerClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ServerClock").field(&self.now()).finish()
    }
}
