//! The time axis, the same for all drawings of a report so that they line up.

use evidence::Window;
use jiff::{SignedDuration, Timestamp};

use super::text::place;

/// Where the axis begins in a drawing, and its width: names are on the left.
pub(super) const LEFT: f64 = 150.0;
pub(super) const WIDTH: f64 = 730.0;

/// The possible distances of ticks, in seconds.
const STEPS: [i64; 18] = [
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400, 604_800,
];

/// The most ticks.
const TICKS: i64 = 8;

/// A span of time, laid out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    from: Timestamp,
    until: Timestamp,
}

/// A tick, with its time since the beginning and in UTC.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    pub(super) x: String,
    pub(super) since: String,
    pub(super) utc: String,
}

impl Axis {
    /// Lays out a window, of one second at least.
    pub(super) fn new(window: Window) -> Self {
        let shortest = window.from.saturating_add(SignedDuration::from_secs(1));
        Self {
            from: window.from,
            until: window.until.max(shortest.unwrap_or(window.until)),
        }
    }

    pub(super) fn from(&self) -> Timestamp {
        self.from
    }

    pub(super) fn until(&self) -> Timestamp {
        self.until
    }

    /// Seconds since the beginning.
    pub(super) fn since(&self, at: Timestamp) -> f64 {
        at.duration_since(self.from).as_secs_f64()
    }

    /// Returns the place of a time; times outside go to the nearer end.
    pub(super) fn x(&self, at: Timestamp) -> f64 {
        LEFT + WIDTH * (self.since(at) / self.seconds()).clamp(0.0, 1.0)
    }

    /// How long it is.
    pub(super) fn seconds(&self) -> f64 {
        self.until.duration_since(self.from).as_secs_f64().max(1.0)
    }

    pub(super) fn ticks(&self) -> Vec<Tick> {
        let all = self.until.duration_since(self.from).as_secs().max(1);
        let step = STEPS
            .into_iter()
            .find(|step| all / step <= TICKS)
            .unwrap_or(all / TICKS + 1);
        (0..=all / step)
            .filter_map(|number| {
                let since = SignedDuration::from_secs(number * step);
                let at = self.from.checked_add(since).ok()?;
                Some(Tick {
                    x: place(self.x(at)),
                    since: format!("+{}", span(number * step)),
                    utc: at.strftime("%H:%M:%S").to_string(),
                })
            })
            .collect()
    }

    /// Describes a time, in UTC and since the beginning.
    pub(super) fn describe(&self, at: Timestamp) -> String {
        let since = at.duration_since(self.from).as_secs();
        let sign = if since < 0 { '−' } else { '+' };
        format!(
            "{} UTC ({sign}{})",
            at.strftime("%H:%M:%S"),
            span(since.saturating_abs())
        )
    }
}

/// A time with its day.
pub(crate) fn utc(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// Formats a time for machines.
pub(crate) fn machine(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A length of time, such as `2 min 5 s`.
pub(super) fn span(seconds: i64) -> String {
    let parts = [
        (seconds / 86_400, "d"),
        (seconds / 3600 % 24, "h"),
        (seconds / 60 % 60, "min"),
        (seconds % 60, "s"),
    ];
    let told: Vec<String> = parts
        .into_iter()
        .filter(|(number, _)| *number != 0)
        .map(|(number, unit)| format!("{number} {unit}"))
        .collect();
    if told.is_empty() {
        "0 s".to_owned()
    } else {
        told.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_an_hour_has_ticks_every_five_minutes() {
        let from = Timestamp::UNIX_EPOCH;
        let until = from + SignedDuration::from_mins(30);
        let axis = Axis::new(Window { from, until });
        let told: Vec<_> = axis.ticks().into_iter().map(|tick| tick.since).collect();
        assert_eq!(
            told,
            [
                "+0 s", "+5 min", "+10 min", "+15 min", "+20 min", "+25 min", "+30 min"
            ]
        );
        assert_eq!(axis.x(from), LEFT);
        assert_eq!(axis.x(until), LEFT + WIDTH);
        assert_eq!(axis.x(until + SignedDuration::from_mins(1)), LEFT + WIDTH);
        assert_eq!(
            axis.describe(from + SignedDuration::from_secs(65)),
            "00:01:05 UTC (+1 min 5 s)"
        );
    }

    #[test]
    fn any_window_has_few_ticks() {
        for seconds in [0, 1, 7, 61, 3_599, 90_000, 31_536_000] {
            let from = Timestamp::UNIX_EPOCH;
            let until = from + SignedDuration::from_secs(seconds);
            let ticks = Axis::new(Window { from, until }).ticks();
            assert!((1..=9).contains(&ticks.len()), "{seconds}: {ticks:?}");
        }
    }
}
