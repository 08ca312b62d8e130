//! The one source of time, and how far a hub's clock is from it.
//!
//! Every timestamp that the suite or its lab writes comes from a [`Clock`]: a base timestamp plus the time that
//! tokio says has passed. Under tokio's paused clock, half an hour of observation so takes milliseconds and still
//! carries honest, evenly spaced timestamps.

use std::time::Duration;

use http::{HeaderMap, header};
use jiff::{SignedDuration, Timestamp, fmt::rfc2822::DateTimeParser};
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
        later(self.base, self.started.elapsed())
    }

    /// This clock, running `by` ahead (behind, when negative): for worlds whose clocks disagree.
    pub fn skewed(&self, by: SignedDuration) -> Self {
        Self {
            base: self.base.saturating_add(by).unwrap_or(self.base),
            ..*self
        }
    }
}

/// The moment plus the duration, or the latest time that there is.
pub(crate) fn later(moment: Timestamp, duration: Duration) -> Timestamp {
    moment.saturating_add(duration).unwrap_or(Timestamp::MAX)
}

/// The bounds of how far the hub's clock runs ahead, by all answers so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Skew(Option<(SignedDuration, SignedDuration)>);

/// When an answer was written, by the server's clock, cut to the second.
pub(crate) fn date(headers: &HeaderMap) -> Option<Timestamp> {
    let date = headers.get(header::DATE)?.to_str().ok()?;
    DateTimeParser::new().parse_timestamp(date).ok()
}

impl Skew {
    /// Takes an answer into account: when it was asked for, when it came, and its headers.
    pub fn note(&mut self, requested: Timestamp, came: Timestamp, headers: &HeaderMap) {
        let Some(date) = date(headers) else { return };
        // The date is cut to the second, and was written at some time between asking and answering.
        let low = date.duration_since(came);
        let high = date.duration_since(requested) + SignedDuration::from_secs(1);
        self.0 = match self.0 {
            Some((lowest, highest)) if low.max(lowest) <= high.min(highest) => {
                Some((low.max(lowest), high.min(highest)))
            }
            // A clock that was set between two answers: the later one counts.
            _ => Some((low, high)),
        };
    }

    /// In milliseconds: 0 where clocks that agree explain the answers, and none if no answer has a Date.
    pub fn millis(&self) -> Option<i64> {
        let (low, high) = self.0?;
        let agree = low <= SignedDuration::ZERO && high >= SignedDuration::ZERO;
        Some(if agree {
            0
        } else {
            i64::try_from((low + high).as_millis() / 2).unwrap_or(i64::MAX)
        })
    }
}

#[cfg(test)]
mod tests {
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

    use http::HeaderValue;

    #[test]
    fn tells_only_what_seconds_and_travel_cannot_explain() {
        for (date, requested, came, expected) in [
            ("11:00:00 GMT", "11:00:00.2", "11:00:00.3", Some(0)),
            ("11:00:00 GMT", "11:00:00.9", "11:00:03", Some(0)),
            ("11:00:00 GMT", "11:01:00", "11:01:01", Some(-60_000)),
            ("11:00:00 GMT", "10:59:00", "10:59:00", Some(60_500)),
            ("11 o'clock", "10:59:00", "10:59:00", None),
        ] {
            let mut skew = Skew::default();
            let date = HeaderValue::try_from(format!("Fri, 20 Nov 2026 {date}")).expect("a header");
            let [requested, came] =
                [requested, came].map(|time| format!("2026-11-20T{time}Z").parse().expect("a time"));
            skew.note(requested, came, &HeaderMap::from_iter([(header::DATE, date)]));
            assert_eq!(skew.millis(), expected, "{requested} {came}");
        }
    }
}
