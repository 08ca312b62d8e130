//! Exponential backoff with jitter, reset by progress.
//!
//! Progress of a watch is a version that the record lacked, or a watch that has stayed open for a while. An answer with
//! status 200 is not, nor is a bookmark: a hub that ends each watch after one would be asked without a pause.

use std::time::Duration;

/// Waits that grow until there is progress. Equal seeds give equal waits.
#[derive(Clone, Debug)]
pub(crate) struct Backoff {
    first: Duration,
    longest: Duration,
    /// How many waits of each row are left out.
    free: u32,
    waits: u32,
    random: fastrand::Rng,
}

impl Backoff {
    /// Waits of up to `first`, then of up to twice as long each time, and never longer than `longest`.
    pub fn new(first: Duration, longest: Duration, seed: u64) -> Self {
        Self {
            first,
            longest,
            free: 0,
            waits: 0,
            random: fastrand::Rng::with_seed(seed),
        }
    }

    /// Leaves out the first waits after progress.
    pub fn with_free(self, free: u32) -> Self {
        Self { free, ..self }
    }

    /// How long to wait now: between half of the growing wait and all of it, so that clients do not come back together.
    pub fn next(&mut self) -> Duration {
        let waits = self.waits;
        self.waits = waits.saturating_add(1);
        let Some(exponent) = waits.checked_sub(self.free) else {
            return Duration::ZERO;
        };
        let growing = self.first.saturating_mul(2_u32.saturating_pow(exponent.min(16)));
        growing.min(self.longest).mul_f64(0.5 + self.random.f64() / 2.0)
    }

    /// Begins again with the first wait.
    pub fn reset(&mut self) {
        self.waits = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Duration = Duration::from_secs(1);
    const LONGEST: Duration = Duration::from_secs(15);

    #[test]
    fn waits_grow_to_the_longest_and_begin_again_after_progress() {
        for seed in 0..100 {
            let mut backoff = Backoff::new(FIRST, LONGEST, seed);
            for _ in 0..2 {
                for most in [1, 2, 4, 8, 15, 15] {
                    let (wait, most) = (backoff.next(), Duration::from_secs(most));
                    assert!(wait >= most / 2 && wait <= most, "{wait:?} of {most:?}");
                }
                backoff.reset();
            }
            backoff.waits = u32::MAX;
            assert!(backoff.next() <= LONGEST);
        }
    }

    #[test]
    fn seeds_differ_and_repeat() {
        let waits = |seed| {
            let mut backoff = Backoff::new(FIRST, LONGEST, seed);
            [(); 4].map(|()| backoff.next())
        };
        assert_eq!(waits(1), waits(1));
        assert_ne!(waits(1), waits(2));
    }

    #[test]
    fn the_first_waits_may_be_left_out() {
        let mut backoff = Backoff::new(FIRST, LONGEST, 0).with_free(1);
        assert_eq!(backoff.next(), Duration::ZERO);
        assert!(backoff.next() >= FIRST / 2);
        backoff.reset();
        assert_eq!(backoff.next(), Duration::ZERO);
    }
}
