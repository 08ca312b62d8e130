//! What a run costs its hub: counts requests and bytes, and spaces the requests that a bad hub would provoke.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use evidence::Traffic;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

/// How far apart requests are that a hub provokes, on average.
const INTERVAL: Duration = Duration::from_secs(1);
/// How many such requests may follow each other at once, and how many more for each watch beyond the first: a hub that
/// restarts ends all of them together.
const BURST: u32 = 5;
const BURST_OF_WATCH: u32 = 2;

/// Counts and spaces the requests of one run to its hub.
#[derive(Debug, Default)]
pub(crate) struct RequestCost {
    requests: AtomicU64,
    bytes: AtomicU64,
    pace: Mutex<Pace>,
}

/// A leaky bucket of time.
#[derive(Debug, Default)]
struct Pace {
    /// The time that the requests so far would have taken, less what has passed.
    owed: Duration,
    at: Option<Instant>,
    /// Watches beyond the first.
    more_watches: u32,
}

impl RequestCost {
    /// Counts a request.
    pub fn request(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts bytes of an answer.
    pub fn bytes(&self, count: usize) {
        self.bytes.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// All so far.
    pub fn traffic(&self) -> Traffic {
        Traffic {
            requests: self.requests.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
        }
    }

    /// Lets so many watches be opened again at once.
    pub fn allow(&self, watches: usize) {
        let more = watches.saturating_sub(1);
        self.pace.lock().more_watches = u32::try_from(more).unwrap_or(u32::MAX);
    }

    /// Waits until a request that the hub has provoked may be sent: one a second on average, whatever the hub does.
    pub async fn turn(&self) {
        let wait = self.pace.lock().take(Instant::now());
        sleep(wait).await;
    }
}

impl Pace {
    /// Takes a turn, and says how long to wait for it.
    fn take(&mut self, now: Instant) -> Duration {
        let passed = self.at.map(|at| now.saturating_duration_since(at));
        self.at = Some(now);
        self.owed = self.owed.saturating_sub(passed.unwrap_or_default());
        let burst = BURST.saturating_add(self.more_watches.saturating_mul(BURST_OF_WATCH));
        let wait = (self.owed + INTERVAL).saturating_sub(INTERVAL.saturating_mul(burst));
        self.owed += INTERVAL;
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many turns are had in that time.
    async fn turns(cost: &RequestCost, seconds: u64) -> u64 {
        let end = Instant::now() + Duration::from_secs(seconds);
        let mut turns = 0;
        while Instant::now() < end {
            cost.turn().await;
            turns += 1;
        }
        turns
    }

    #[tokio::test(start_paused = true)]
    async fn a_few_at_once_then_one_a_second() {
        let cost = RequestCost::default();
        let began = Instant::now();
        for _ in 0..BURST {
            cost.turn().await;
        }
        assert_eq!(began.elapsed(), Duration::ZERO);
        assert_eq!(turns(&cost, 100).await, 100);
        sleep(Duration::from_secs(3600)).await;
        assert!(turns(&cost, 100).await <= 105);
    }

    #[tokio::test(start_paused = true)]
    async fn each_watch_may_come_back_at_once_when_the_hub_restarts() {
        let cost = RequestCost::default();
        cost.allow(50);
        let began = Instant::now();
        for _ in 0..50 {
            cost.turn().await;
        }
        assert_eq!(began.elapsed(), Duration::ZERO);
        assert!(turns(&cost, 600).await <= 700);
    }
}
