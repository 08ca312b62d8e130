//! The string formats that the API server checks. Formats it does not know say nothing.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use regex::Regex;

use crate::lab::apiserver::names;

/// A format that is checked, by its name in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Format(&'static str);

/// Whether a text is of a format.
type Check = fn(&str) -> bool;

/// What is of each format. Formats of numbers say nothing about texts.
const CHECKS: [(&str, Check); 22] = [
    ("int32", |_| true),
    ("int64", |_| true),
    ("float", |_| true),
    ("double", |_| true),
    ("password", |_| true),
    ("byte", |text| STANDARD.decode(text).is_ok()),
    ("date", is_date),
    ("date-time", is_date_time),
    ("duration", |text| is_like("duration", text)),
    ("email", |text| is_like("email", text)),
    ("hostname", |text| text.len() <= 255 && is_like("hostname", text)),
    ("ipv4", |text| text.parse::<Ipv4Addr>().is_ok()),
    ("ipv6", |text| text.parse::<Ipv6Addr>().is_ok()),
    ("cidr", is_cidr),
    ("mac", |text| is_like("mac", text)),
    ("uri", |text| is_like("uri", text)),
    ("uuid", |text| is_like("uuid", text)),
    ("uuid3", |text| is_uuid(text, "3")),
    ("uuid4", |text| is_uuid(text, "4")),
    ("uuid5", |text| is_uuid(text, "5")),
    ("k8s-short-name", |text| names::dns_label(text).is_empty()),
    ("k8s-long-name", |text| names::dns_subdomain(text).is_empty()),
];

/// Known, and not checked.
const UNCHECKED: &str = "bsonobjectid creditcard hexcolor isbn isbn10 isbn13 rgbcolor ssn";

/// What texts of some formats look like. Durations are told in Go's way, or in words: `3 days`.
const PATTERNS: [(&str, &str); 7] = [
    (
        "date-time",
        r"^(\d{4}-\d{2}-\d{2})[Tt]([0-2]\d:[0-5]\d:[0-5]\d)(\.\d+)?([Zz]|[+-][0-2]\d:[0-5]\d)$",
    ),
    (
        "duration",
        r"(?x) ^ ([+-]?(0|(\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h))+
        | (?i)((\d+)\s*(ns|nanos?|nanoseconds?|us|µs|micros?|microseconds?|ms|millis?|milliseconds?|s|secs?|seconds?
            |m|mins?|minutes?|h|hrs?|hours?|d|days?|w|wks?|weeks?)\s*)+) $",
    ),
    ("email", r"^[^@\s]+@[^@\s]+$"),
    (
        "hostname",
        r"^([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])(\.([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))*\.?$",
    ),
    (
        "mac",
        r"(?i)^([0-9a-f]{2}([:-][0-9a-f]{2}){5}([:-][0-9a-f]{2}){0,2}|[0-9a-f]{4}(\.[0-9a-f]{4}){2,3})$",
    ),
    ("uri", r"^([a-zA-Z][a-zA-Z0-9+.-]*:|/)[^\p{Cc} ]*$"),
    (
        "uuid",
        r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?([0-9a-f])[0-9a-f]{3}-?([0-9a-f])[0-9a-f]{3}-?[0-9a-f]{12}$",
    ),
];

static COMPILED: LazyLock<HashMap<&str, Regex>> = LazyLock::new(|| {
    let compiled = |(name, pattern)| (name, Regex::new(pattern).expect("constant pattern"));
    PATTERNS.map(compiled).into()
});

impl Format {
    pub(super) const BYTE: Self = Self("byte");
    pub(super) const DATE_TIME: Self = Self("date-time");
    pub(super) const DURATION: Self = Self("duration");
    pub(super) const INT32: Self = Self("int32");

    /// The format that `name` means, with or without its dashes.
    pub(super) fn read(name: &str) -> Option<Self> {
        let bare = |name: &str| name.replace('-', "");
        let mut names = CHECKS.iter().map(|(known, _)| *known);
        names.find(|known| bare(known) == bare(name)).map(Self)
    }

    /// The format's name in messages.
    pub(super) fn name(self) -> &'static str {
        self.0
    }

    /// Whether `text` has this format.
    pub(super) fn matches(self, text: &str) -> bool {
        let mut checks = CHECKS.iter();
        checks.any(|(name, check)| *name == self.0 && check(text))
    }
}

/// Whether anything is known of a format; not all that is known is checked.
pub(in crate::lab::apiserver) fn is_known(name: &str) -> bool {
    Format::read(name).is_some() || UNCHECKED.split(' ').any(|known| known == name)
}

fn is_like(format: &str, text: &str) -> bool {
    COMPILED[format].is_match(text)
}

fn is_date(text: &str) -> bool {
    text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok()
}

fn is_date_time(text: &str) -> bool {
    let parts = COMPILED["date-time"].captures(text);
    parts.is_some_and(|parts| is_date(&parts[1]) && parts[2].parse::<jiff::civil::Time>().is_ok())
}

fn is_cidr(text: &str) -> bool {
    let (address, bits) = text.split_once('/').unwrap_or_default();
    let bits = bits.parse::<u8>().ok();
    bits.zip(address.parse().ok())
        .is_some_and(|(bits, address)| match address {
            IpAddr::V4(_) => bits <= 32,
            IpAddr::V6(_) => bits <= 128,
        })
}

/// Versions 4 and 5 also say what the variant's digit may be.
fn is_uuid(text: &str, version: &str) -> bool {
    COMPILED["uuid"].captures(text).is_some_and(|digits| {
        let variant = digits[2].to_ascii_lowercase();
        &digits[1] == version && (version == "3" || "89ab".contains(&variant))
    })
}

#[cfg(test)]
mod tests {
    use super::Format;
    use rstest::rstest;

    #[rstest]
    #[case("date-time", "2026-11-20T10:33:43Z", true)]
    #[case("date-time", "2026-11-20T10:33:43.123456+01:00", true)]
    #[case("date-time", "2026-02-30T10:33:43Z", false)]
    #[case("date-time", "2026-11-20", false)]
    #[case("date-time", "", false)]
    #[case("byte", "aGk=", true)]
    #[case("byte", "aGk", false)]
    #[case("duration", "1h30m", true)]
    #[case("duration", "soon", false)]
    #[case("hostname", "a.example.com", true)]
    #[case("hostname", "-a.example.com", false)]
    #[case("ipv4", "10.0.0.256", false)]
    #[case("cidr", "10.0.0.0/8", true)]
    #[case("cidr", "10.0.0.0/33", false)]
    #[case("uri", "https://example.com/x", true)]
    #[case("uri", "example", false)]
    #[case("uuid4", "f86168d2-7644-4676-a80a-de63be5a4771", true)]
    #[case("uuid3", "f86168d2-7644-4676-a80a-de63be5a4771", false)]
    #[case("mac", "01:23:45:67:89:ab", true)]
    #[case("email", "a@b", true)]
    #[case("k8s-short-name", "a-b", true)]
    #[case("k8s-short-name", "a.b", false)]
    #[case("k8s-long-name", "a.b", true)]
    fn knows_the_formats(#[case] format: &str, #[case] text: &str, #[case] good: bool) {
        assert_eq!(Format::read(format).expect("known format").matches(text), good);
    }
}
