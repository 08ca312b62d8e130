//! The write budget of one object: a token bucket (KEP-4322 › Scalability implication).

use crate::time::{Bucket, Events, Excess, Micros, SECOND, Series, timestamp};

/// The bucket's capacity: the maximum burst of writes on one object.
pub const BURST: i64 = 10;

/// Seconds until one more write becomes available.
pub const REFILL_SECONDS: i64 = 30;

const REFILL: Micros = REFILL_SECONDS * SECOND;

/// The bucket that the documents allow each object.
pub(crate) const BUDGET: Bucket = Bucket {
    burst: BURST,
    refill: REFILL,
    at_least: 0,
};

/// The reason for no verdict where writes seem to overdraw the bucket, and may have been slower.
pub(crate) const TOO_CLOSE: &str = "writes were seen in quicker succession than the budget allows, but their times are not exact enough to tell";

/// The series of writes that overdraws the bucket most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Overdraw {
    /// Number of writes.
    pub(crate) writes: i64,
    /// Reported time of the first write.
    pub(crate) from: Micros,
    /// Reported time of the last write.
    pub(crate) until: Micros,
    /// Maximum number of writes that the bucket allows in that span.
    pub(crate) allowed: i64,
    /// The places of the first and the last write among those that were counted.
    pub(crate) places: (usize, usize),
}

/// What the evidence tells of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spent {
    /// It was overdrawn, whenever the writes took place.
    Overdrawn(Overdraw),
    /// It seems so, but the writes may have kept to it.
    Doubtful,
    /// No such thing was seen.
    Kept,
}

/// The series of writes that overdraw a bucket which was full before the first write, worst first; none overlaps another.
pub(crate) fn overdrafts(writes: &Events, bucket: Bucket) -> Vec<Overdraw> {
    let series = writes.overdrafts(bucket).into_iter();
    series.map(|series| Overdraw::of(series, bucket)).collect()
}

/// Whether writes overdraw a bucket that was full before the first write.
pub(crate) fn spent(writes: &Events, bucket: Bucket) -> Spent {
    match writes.excess(&bucket) {
        Excess::Sure(series) => Spent::Overdrawn(Overdraw::of(series, bucket)),
        Excess::Doubtful => Spent::Doubtful,
        Excess::None => Spent::Kept,
    }
}

impl Spent {
    /// The worse of two.
    pub(crate) fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Overdrawn(_), _) | (Self::Doubtful, Self::Kept) => self,
            _ => other,
        }
    }

    /// The series that overdraws it, if one does.
    pub(crate) fn overdraw(self) -> Option<Overdraw> {
        match self {
            Self::Overdrawn(found) => Some(found),
            Self::Doubtful | Self::Kept => None,
        }
    }
}

impl Overdraw {
    fn of(series: Series, bucket: Bucket) -> Self {
        Self {
            writes: i64::try_from(series.count).unwrap_or(i64::MAX),
            from: series.first.reported,
            until: series.last.reported,
            allowed: bucket.allowed(series.span),
            places: series.places,
        }
    }

    /// Describes the number of writes and their time.
    pub(crate) fn observed(&self, what: &str) -> String {
        format!(
            "{} {what} in {} s, from {} on",
            self.writes,
            whole_seconds(self.until - self.from),
            timestamp(self.from)
        )
    }

    /// Describes the number of writes that the bucket allows in that time.
    pub(crate) fn expected(&self) -> String {
        format!(
            "at most {} in {} s",
            self.allowed,
            whole_seconds(self.until - self.from)
        )
    }
}

/// Rounds up to at least one second, so that a statement about the span stays true.
pub(crate) fn whole_seconds(span: Micros) -> i64 {
    (span.max(1) + SECOND - 1) / SECOND
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::time::Event as WriteTime;

    /// Writes that were seen at these seconds.
    fn seen(seconds: impl IntoIterator<Item = i64>) -> Events {
        let seconds = seconds.into_iter();
        seconds
            .map(|second| WriteTime::seen(timestamp(second * SECOND)))
            .collect()
    }

    fn overdraw(writes: &Events, capacity: i64, at_least: Micros) -> Option<Overdraw> {
        let bucket = Bucket {
            burst: capacity,
            at_least,
            ..BUDGET
        };
        spent(writes, bucket).overdraw()
    }

    #[test]
    fn storms_with_rest_between_them_are_series_of_their_own_the_worst_first() {
        let storms = seen([0; 12].into_iter().chain([10_000; 15]).chain([20_000; 10]));
        let found = overdrafts(&storms, BUDGET);
        let found: Vec<_> = found.iter().map(|found| (found.writes, found.places)).collect();
        assert_eq!(found, [(15, (12, 26)), (12, (0, 11))]);
        assert_eq!(overdrafts(&seen([0; 10]), BUDGET), []);
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
    fn delivered(times: &[Micros], delays: &[u32]) -> Events {
        let mut last = Micros::MIN;
        let mut moments = Vec::new();
        for (time, delay) in times.iter().zip(delays.iter().cycle()) {
            last = last.max(time + Micros::from(*delay));
            moments.push(WriteTime::seen(timestamp(last)));
        }
        moments.into()
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
