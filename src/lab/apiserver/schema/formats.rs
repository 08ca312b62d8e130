//! The string formats that the API server checks. Formats it does not know say nothing.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use regex::Regex;

/// A format that is checked, by its name in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Format(&'static str);

impl Format {
    pub(super) const BYTE: Self = Self("byte");
    pub(super) const DATE_TIME: Self = Self("date-time");
    pub(super) const DURATION: Self = Self("duration");
    pub(super) const INT32: Self = Self("int32");
}

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
    ("duration", |text| {
        DURATION.is_match(text) || DURATION_WORDS.is_match(text)
    }),
    ("email", |text| EMAIL.is_match(text)),
    ("hostname", |text| text.len() <= 255 && HOSTNAME.is_match(text)),
    ("ipv4", |text| text.parse::<Ipv4Addr>().is_ok()),
    ("ipv6", |text| text.parse::<Ipv6Addr>().is_ok()),
    ("cidr", is_cidr),
    ("mac", |text| MAC.is_match(text)),
    ("uri", is_uri),
    ("uuid", |text| UUID.is_match(text)),
    ("uuid3", |text| is_uuid(text, "3")),
    ("uuid4", |text| is_uuid(text, "4")),
    ("uuid5", |text| is_uuid(text, "5")),
    ("k8s-short-name", |text| text.len() <= 63 && LABEL.is_match(text)),
    ("k8s-long-name", |text| {
        text.len() <= 253 && SUBDOMAIN.is_match(text)
    }),
];

static DATE_TIME: LazyLock<Regex> = LazyLock::new(|| {
    compiled(r"^(\d{4}-\d{2}-\d{2})[Tt]([0-2]\d:[0-5]\d:[0-5]\d)(\.\d+)?([Zz]|[+-][0-2]\d:[0-5]\d)$")
});
static EMAIL: LazyLock<Regex> = LazyLock::new(|| compiled(r"^[^@\s]+@[^@\s]+$"));
static HOSTNAME: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"^([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])(\.([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))*\.?$",
    )
});
static MAC: LazyLock<Regex> = LazyLock::new(|| {
    compiled(r"(?i)^([0-9a-f]{2}([:-][0-9a-f]{2}){5}([:-][0-9a-f]{2}){0,2}|[0-9a-f]{4}(\.[0-9a-f]{4}){2,3})$")
});
static UUID: LazyLock<Regex> = LazyLock::new(|| {
    compiled(r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?([0-9a-f])[0-9a-f]{3}-?([0-9a-f])[0-9a-f]{3}-?[0-9a-f]{12}$")
});
static DURATION: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"^[+-]?(0|(\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h))+$"));
/// Durations in words: `3 days`.
static DURATION_WORDS: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"(?i)^((\d+)\s*(ns|nanos?|nanoseconds?|us|µs|micros?|microseconds?|ms|millis?|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|wks?|weeks?)\s*)+$",
    )
});
static SCHEME: LazyLock<Regex> = LazyLock::new(|| compiled(r"^[a-zA-Z][a-zA-Z0-9+.-]*:"));
static LABEL: LazyLock<Regex> = LazyLock::new(|| compiled(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"));
static SUBDOMAIN: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"));

/// All patterns here are constants that a test compiles.
fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).expect("constant pattern")
}

impl Format {
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
    const UNCHECKED: [&str; 8] = [
        "bsonobjectid",
        "creditcard",
        "hexcolor",
        "isbn",
        "isbn10",
        "isbn13",
        "rgbcolor",
        "ssn",
    ];
    Format::read(name).is_some() || UNCHECKED.contains(&name)
}

fn is_date(text: &str) -> bool {
    text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok()
}

fn is_date_time(text: &str) -> bool {
    let Some(parts) = DATE_TIME.captures(text) else {
        return false;
    };
    is_date(&parts[1]) && parts[2].parse::<jiff::civil::Time>().is_ok()
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else {
        return false;
    };
    let width = match address.parse() {
        Ok(std::net::IpAddr::V4(_)) => 32,
        Ok(std::net::IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    bits.parse::<u8>().is_ok_and(|bits| bits <= width)
}

fn is_uri(text: &str) -> bool {
    let absolute = SCHEME.is_match(text) || text.starts_with('/');
    absolute && !text.contains(|c: char| c.is_control() || c == ' ')
}

/// Versions 4 and 5 also say what the variant's digit may be.
fn is_uuid(text: &str, version: &str) -> bool {
    UUID.captures(text).is_some_and(|digits| {
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
