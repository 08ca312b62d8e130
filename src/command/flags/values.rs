//! Durations and sizes on the command line.

use std::{fmt, str::FromStr, time::Duration};

use jiff::SignedDuration;

/// Why a text is not a duration. Holds the meaning of a duration of zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("give a number with its unit, such as 30s, 5m or 1h30m, or 0s for {0}")]
pub struct DurationError(&'static str);

/// Reads a duration as people write it. `zero` is the meaning of `0s`.
///
/// # Errors
/// When the text is not a duration, or a negative one.
pub fn duration(given: &str, zero: &'static str) -> Result<Duration, DurationError> {
    let duration = SignedDuration::from_str(given).map_err(|_| DurationError(zero))?;
    Duration::try_from(duration).map_err(|_| DurationError(zero))
}

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

/// Why a text is not a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("give a whole number with its unit, such as 500Mi or 4Gi")]
pub struct SizeError;

/// The binary units of Kubernetes' quantities, the largest first.
const UNITS: [(&str, u64); 4] = [("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)];

impl FromStr for Size {
    type Err = SizeError;

    /// Reads a number with a unit. Without a unit it counts bytes.
    fn from_str(given: &str) -> Result<Self, SizeError> {
        let unit = UNITS
            .iter()
            .find_map(|(name, bytes)| Some((given.strip_suffix(name)?, *bytes)));
        let (digits, bytes) = unit.unwrap_or((given, 1));
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(SizeError);
        }
        let number = digits.parse::<u64>().map_err(|_| SizeError)?;
        number.checked_mul(bytes).map(Self).ok_or(SizeError)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_whole = |bytes: u64| self.0 > 0 && self.0.is_multiple_of(bytes);
        match UNITS.iter().find(|(_, bytes)| is_whole(*bytes)) {
            Some((unit, bytes)) => write!(f, "{}{unit}", self.0 / bytes),
            None => write!(f, "{}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        let read = |given| duration(given, "nothing");
        assert_eq!(read("0s"), Ok(Duration::ZERO));
        assert_eq!(read("1h30m"), Ok(Duration::from_secs(5400)));
        for refused in ["", "5", "-5m", "soon", "5 parsecs"] {
            assert_eq!(read(refused), Err(DurationError("nothing")), "{refused}");
        }
    }

    #[test]
    fn sizes_have_the_units_of_kubernetes() {
        for (given, bytes) in [("4Gi", 4 << 30), ("500Mi", 500 << 20), ("1025", 1025), ("0", 0)] {
            assert_eq!(given.parse(), Ok(Size(bytes)), "{given}");
            assert_eq!(Size(bytes).to_string(), given);
        }
        for given in [
            "",
            "Gi",
            "-1",
            "1.5Gi",
            "4 Gi",
            "4gi",
            "many",
            "1e9",
            "+4Gi",
            "99999999999Ti",
        ] {
            assert_eq!(given.parse::<Size>(), Err(SizeError), "{given}");
        }
    }
}
