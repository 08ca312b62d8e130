//! The string formats that the API server checks. Formats it does not know say nothing.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use regex::Regex;

/// A format that is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Int32,
    Int64,
    Float,
    Double,
    Byte,
    Date,
    DateTime,
    Duration,
    Email,
    Hostname,
    Ipv4,
    Ipv6,
    Cidr,
    Mac,
    Uri,
    Uuid,
    Uuid3,
    Uuid4,
    Uuid5,
    Password,
    ShortName,
    LongName,
}

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
        Some(match name.replace('-', "").as_str() {
            "int32" => Format::Int32,
            "int64" => Format::Int64,
            "float" => Format::Float,
            "double" => Format::Double,
            "byte" => Format::Byte,
            "date" => Format::Date,
            "datetime" => Format::DateTime,
            "duration" => Format::Duration,
            "email" => Format::Email,
            "hostname" => Format::Hostname,
            "ipv4" => Format::Ipv4,
            "ipv6" => Format::Ipv6,
            "cidr" => Format::Cidr,
            "mac" => Format::Mac,
            "uri" => Format::Uri,
            "uuid" => Format::Uuid,
            "uuid3" => Format::Uuid3,
            "uuid4" => Format::Uuid4,
            "uuid5" => Format::Uuid5,
            "password" => Format::Password,
            "k8sshortname" => Format::ShortName,
            "k8slongname" => Format::LongName,
            _ => return None,
        })
    }

    /// The format's name in messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Format::Int32 => "int32",
            Format::Int64 => "int64",
            Format::Float => "float",
            Format::Double => "double",
            Format::Byte => "byte",
            Format::Date => "date",
            Format::DateTime => "date-time",
            Format::Duration => "duration",
            Format::Email => "email",
            Format::Hostname => "hostname",
            Format::Ipv4 => "ipv4",
            Format::Ipv6 => "ipv6",
            Format::Cidr => "cidr",
            Format::Mac => "mac",
            Format::Uri => "uri",
            Format::Uuid => "uuid",
            Format::Uuid3 => "uuid3",
            Format::Uuid4 => "uuid4",
            Format::Uuid5 => "uuid5",
            Format::Password => "password",
            Format::ShortName => "k8s-short-name",
            Format::LongName => "k8s-long-name",
        }
    }

    /// Whether `text` has this format. Formats of numbers say nothing about texts.
    pub(super) fn matches(self, text: &str) -> bool {
        match self {
            Format::Int32 | Format::Int64 | Format::Float | Format::Double | Format::Password => true,
            Format::Byte => STANDARD.decode(text).is_ok(),
            Format::Date => is_date(text),
            Format::DateTime => is_date_time(text),
            Format::Duration => DURATION.is_match(text) || DURATION_WORDS.is_match(text),
            Format::Email => EMAIL.is_match(text),
            Format::Hostname => text.len() <= 255 && HOSTNAME.is_match(text),
            Format::Ipv4 => text.parse::<Ipv4Addr>().is_ok(),
            Format::Ipv6 => text.parse::<Ipv6Addr>().is_ok(),
            Format::Cidr => is_cidr(text),
            Format::Mac => MAC.is_match(text),
            Format::Uri => is_uri(text),
            Format::Uuid => UUID.is_match(text),
            Format::Uuid3 => is_uuid(text, "3"),
            Format::Uuid4 => is_uuid(text, "4"),
            Format::Uuid5 => is_uuid(text, "5"),
            Format::ShortName => text.len() <= 63 && LABEL.is_match(text),
            Format::LongName => text.len() <= 253 && SUBDOMAIN.is_match(text),
        }
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
