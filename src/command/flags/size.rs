//! Sizes on the command line, in bytes.

use std::{fmt, str::FromStr};

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

/// Why a text is no size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    /// It has no number, or another unit.
    #[error("give a whole number with its unit, such as 500Mi or 4Gi")]
    Unreadable,
    /// It is more than can be counted.
    #[error("it is too large: give a number with its unit, such as 500Mi or 4Gi")]
    TooLarge,
}

/// The units of Kubernetes' quantities, the largest first.
const UNITS: [(&str, u64); 8] = [
    ("Ti", 1 << 40),
    ("T", 1_000_000_000_000),
    ("Gi", 1 << 30),
    ("G", 1_000_000_000),
    ("Mi", 1 << 20),
    ("M", 1_000_000),
    ("Ki", 1 << 10),
    ("k", 1_000),
];

impl FromStr for Size {
    type Err = SizeError;

    /// Reads a number with a unit of Kubernetes' quantities; `B` may follow it. Without a unit it counts bytes.
    fn from_str(given: &str) -> Result<Self, SizeError> {
        let digits = given.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
        let unit = given[digits.len()..].trim_end_matches('B');
        let unit = match UNITS.iter().find(|(name, _)| *name == unit) {
            Some((_, bytes)) => *bytes,
            None if unit.is_empty() => 1,
            None => return Err(SizeError::Unreadable),
        };
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(SizeError::Unreadable);
        }
        let number = digits.parse::<u64>().map_err(|_| SizeError::TooLarge)?;
        number.checked_mul(unit).map(Self).ok_or(SizeError::TooLarge)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match UNITS
            .iter()
            .find(|(_, bytes)| self.0 > 0 && self.0.is_multiple_of(*bytes))
        {
            Some((unit, bytes)) => write!(f, "{}{unit}", self.0 / bytes),
            None => write!(f, "{}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_kubernetes_writes_them() {
        for (given, bytes, shown) in [
            ("4Gi", 4 << 30, "4Gi"),
            ("4GiB", 4 << 30, "4Gi"),
            ("500Mi", 500 << 20, "500Mi"),
            ("2G", 2_000_000_000, "2G"),
            ("3k", 3000, "3k"),
            ("1025", 1025, "1025"),
            ("0", 0, "0"),
        ] {
            let size = given.parse::<Size>();
            assert_eq!(size, Ok(Size(bytes)), "{given}");
            assert_eq!(size.map(|size| size.to_string()), Ok(shown.to_owned()));
        }
        for given in ["", "Gi", "-1", "1.5Gi", "4 Gi", "4gi", "many", "1e9", "+4Gi"] {
            assert_eq!(given.parse::<Size>(), Err(SizeError::Unreadable), "{given}");
        }
        for given in ["99999999999999999999", "99999999999Ti"] {
            assert_eq!(given.parse::<Size>(), Err(SizeError::TooLarge), "{given}");
        }
    }
}
