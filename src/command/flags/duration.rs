//! Durations on the command line.

use std::{str::FromStr, time::Duration};

use jiff::SignedDuration;

/// Why a text is no duration. Holds the meaning of a duration of zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// It has no number, no unit, or another unit.
    #[error("give a number with its unit, such as 30s, 5m or 1h30m, or 0s for {0}")]
    Unreadable(&'static str),
    /// It is less than nothing.
    #[error("it is negative: give a number with its unit, such as 30s, 5m or 1h30m, or 0s for {0}")]
    Negative(&'static str),
}

/// Reads a duration as people write it. `zero` is the meaning of `0s`.
///
/// # Errors
/// When it is none, or negative.
pub fn parse(given: &str, zero: &'static str) -> Result<Duration, DurationError> {
    let duration = SignedDuration::from_str(given).map_err(|_| DurationError::Unreadable(zero))?;
    Duration::try_from(duration).map_err(|_| DurationError::Negative(zero))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_people_write_them() {
        let read = |given| parse(given, "nothing");
        assert_eq!(read("0s"), Ok(Duration::ZERO));
        assert_eq!(read("1h30m"), Ok(Duration::from_secs(5400)));
        for refused in ["", "5", "-5m", "soon", "5 parsecs"] {
            assert!(
                read(refused).is_err_and(|error| error.to_string().ends_with("1h30m, or 0s for nothing")),
                "{refused}"
            );
        }
    }
}
