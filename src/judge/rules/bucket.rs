//! The write budget of one object: a token bucket (KEP-4322 › Scalability implication).

use super::write_time::{Micros, SECOND, WriteTime, timestamp};

/// The bucket's capacity: the maximum burst of writes on one object.
pub const BURST: i64 = 10;

/// Seconds until one more write becomes available.
pub const REFILL_SECONDS: i64 = 30;

const REFILL: Micros = REFILL_SECONDS * SECOND;

/// A series of writes that overdraws the bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Overdraw {
    /// Number of writes.
    pub(super) writes: i64,
    /// Reported time of the first write.
    pub(super) from: Micros,
    /// Reported time of the last write, which is the first one too many.
    pub(super) until: Micros,
    /// Maximum number of writes that the bucket allows in that span.
    pub(super) allowed: i64,
}

/// Maximum number of writes that a bucket of that capacity allows in a span.
pub(super) fn allowed(capacity: i64, span: Micros) -> i64 {
    capacity + span.max(0) / REFILL
}

/// The state of the bucket after one write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Draw {
    /// The index of the earlier write from which the balance is worst.
    first: usize,
    /// The index of the write.
    last: usize,
    /// The balance, as the time that it takes to earn it; negative if the bucket is overdrawn.
    left: Micros,
}

/// Finds the first write that overdraws a bucket that was full before the first write, at any possible time of each
/// write. Only series that last at least `at_least` count. The write times must be in order.
pub(super) fn overdraw(moments: &[WriteTime], capacity: i64, at_least: Micros) -> Option<Overdraw> {
    let draw = draws(moments, capacity, at_least).find(Draw::is_too_much)?;
    let (first, last) = (moments[draw.first], moments[draw.last]);
    Some(Overdraw {
        writes: i64::try_from(draw.last - draw.first + 1).unwrap_or(i64::MAX),
        from: first.reported,
        until: last.reported,
        allowed: allowed(capacity, last.latest - first.earliest),
    })
}

/// Returns the best possible balance after each write, given the uncertainty of the write times.
///
/// Writes keep to the bucket if, between any two of them, they are at most the capacity plus what was earned meanwhile.
/// So each write needs only the earlier one from which the balance is worst.
pub(super) fn draws(
    moments: &[WriteTime],
    capacity: i64,
    at_least: Micros,
) -> impl Iterator<Item = Draw> + '_ {
    // The unit is time: a write costs one refill, and time earns it back.
    let cost = |index: usize| REFILL.saturating_mul(i64::try_from(index).unwrap_or(i64::MAX));
    let start_balance = move |index: usize| cost(index).saturating_sub(moments[index].earliest);
    let mut worst: Option<usize> = None;
    let mut next = 0;
    moments.iter().enumerate().filter_map(move |(last, moment)| {
        while next <= last && moment.latest.saturating_sub(moments[next].earliest) >= at_least {
            if worst.is_none_or(|first| start_balance(next) < start_balance(first)) {
                worst = Some(next);
            }
            next += 1;
        }
        let first = worst?;
        let balance = cost(last + 1)
            .saturating_sub(moment.latest)
            .saturating_sub(start_balance(first));
        let left = (capacity * REFILL).saturating_sub(balance);
        Some(Draw { first, last, left })
    })
}

impl Draw {
    /// Whether the write overdraws the bucket.
    fn is_too_much(&self) -> bool {
        self.left < 0
    }

    /// How many writes are left.
    pub(super) fn writes_left(&self) -> f64 {
        self.left as f64 / REFILL as f64
    }
}

impl Overdraw {
    /// Describes the number of writes and their time.
    pub(super) fn observed(&self, what: &str) -> String {
        format!(
            "{} {what} in {} s, from {} on",
            self.writes,
            whole_seconds(self.until - self.from),
            timestamp(self.from)
        )
    }

    /// Describes the number of writes that the bucket allows in that time.
    pub(super) fn expected(&self) -> String {
        format!(
            "at most {} in {} s",
            self.allowed,
            whole_seconds(self.until - self.from)
        )
    }
}

/// Rounds up to at least one second, so that a statement about the span stays true.
pub(super) fn whole_seconds(span: Micros) -> i64 {
    (span.max(1) + SECOND - 1) / SECOND
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    /// Writes that were seen at these seconds.
    fn seen(seconds: impl IntoIterator<Item = i64>) -> Vec<WriteTime> {
        seconds
            .into_iter()
            .map(|second| WriteTime::seen(timestamp(second * SECOND)))
            .collect()
    }

    #[test]
    fn the_burst_and_one_write_each_refill_pass() {
        let steady = seen([0; 10].into_iter().chain((1..100).map(|n| n * REFILL_SECONDS)));
        assert_eq!(overdraw(&steady, BURST, 0), None);
    }

    #[test]
    fn the_write_after_the_burst_overdraws() {
        let found = overdraw(&seen([0; 12]), BURST, 0).expect("overdrawn");
        assert_eq!((found.writes, found.allowed), (11, 10));
        // Up to a second may be lost between hub and runner: at 29 s the eleventh token may be available.
        assert!(overdraw(&seen([0; 10].into_iter().chain([28])), BURST, 0).is_some());
        assert_eq!(overdraw(&seen([0; 10].into_iter().chain([29])), BURST, 0), None);
    }

    #[test]
    fn rest_fills_the_bucket_but_no_further() {
        let rested = [0; 10].into_iter().chain([10_000; 10]);
        assert_eq!(overdraw(&seen(rested.clone()), BURST, 0), None);
        assert!(overdraw(&seen(rested.chain([10_000])), BURST, 0).is_some());
    }

    #[test]
    fn short_runs_do_not_count_where_only_long_ones_do() {
        let storm = seen((0..20).map(|n| n * 20));
        assert_eq!(overdraw(&storm, 1, 600 * SECOND), None);
        let lasting = seen((0..40).map(|n| n * 20));
        assert!(overdraw(&lasting, 1, 600 * SECOND).is_some());
        let slow = seen((0..40).map(|n| n * 30));
        assert_eq!(overdraw(&slow, 1, 600 * SECOND), None);
    }

    /// The times, in microseconds, of the writes of a writer that keeps to the bucket and would like to pause so
    /// long.
    fn obedient(pauses: &[u32]) -> (Vec<Micros>, f64) {
        let (mut now, mut tokens, mut times) = (0, BURST as f64, Vec::new());
        for pause in pauses {
            let mut wait = Micros::from(*pause);
            let earned = |wait: Micros| wait as f64 / REFILL as f64;
            if (tokens + earned(wait)).min(BURST as f64) < 1.0 {
                wait = ((1.0 - tokens) * REFILL as f64).ceil() as Micros;
            }
            now += wait;
            tokens = (tokens + earned(wait)).min(BURST as f64) - 1.0;
            times.push(now);
        }
        (times, tokens)
    }

    /// The writes as a watch delivers them: in order, each delayed by less than a second.
    fn delivered(times: &[Micros], delays: &[u32]) -> Vec<WriteTime> {
        let mut last = Micros::MIN;
        let mut moments = Vec::new();
        for (time, delay) in times.iter().zip(delays.iter().cycle()) {
            last = last.max(time + Micros::from(*delay));
            moments.push(WriteTime::seen(timestamp(last)));
        }
        moments
    }

    proptest! {
        #[test]
        fn never_alarms_on_a_writer_that_obeys(
            pauses in vec(prop_oneof![0..1_000u32, 0..90_000_000u32], 1..120),
            delays in vec(0..1_000_000u32, 1..40),
        ) {
            let (times, _) = obedient(&pauses);
            prop_assert_eq!(overdraw(&delivered(&times, &delays), BURST, 0), None);
        }

        #[test]
        fn always_alarms_on_one_write_more_than_allowed(
            pauses in vec(prop_oneof![0..1_000u32, 0..90_000_000u32], 1..120),
            delays in vec(0..500_000u32, 1..40),
        ) {
            let (mut times, tokens) = obedient(&pauses);
            // Spends all remaining tokens when the next one has just begun to fill.
            let rest = ((1.0 - tokens.fract()) * REFILL as f64) as Micros;
            let now = times.last().expect("at least one") + rest;
            let left = (tokens + rest as f64 / REFILL as f64 + 0.01).min(BURST as f64) as i64;
            times.extend((0..=left).map(|_| now));
            prop_assert!(overdraw(&delivered(&times, &delays), BURST, 0).is_some());
        }
    }
}
