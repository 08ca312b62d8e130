//! The string formats that the API server checks. It ignores unknown formats.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::LazyLock,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use regex::Regex;

use super::go_url;
use crate::object::names;

/// A format, by its name in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Format(&'static str);

/// Known formats that are not checked.
const UNCHECKED: &str = "bsonobjectid creditcard hexcolor isbn isbn10 isbn13 rgbcolor ssn";

static FORMATS: LazyLock<Vec<(&str, Option<Regex>)>> = LazyLock::new(|| {
    let lines = include_str!("formats.txt").lines();
    let read = |line: &'static str| match line.split_once(' ') {
        Some((name, pattern)) => (name, Some(Regex::new(pattern).expect("constant pattern"))),
        None => (line, None),
    };
    lines.filter(|line| !line.starts_with('#')).map(read).collect()
});

impl Format {
    pub(super) const BYTE: Self = Self("byte");
    pub(super) const DATE: Self = Self("date");
    pub(super) const DATE_TIME: Self = Self("date-time");
    pub(super) const DURATION: Self = Self("duration");
    pub(super) const INT32: Self = Self("int32");

    /// The format that `name` means, with or without its dashes.
    pub(super) fn read(name: &str) -> Option<Self> {
        let bare = |name: &str| name.replace('-', "");
        let mut names = FORMATS.iter().map(|(known, _)| *known);
        names.find(|known| bare(known) == bare(name)).map(Self)
    }

    /// The format's name in messages.
    pub(super) fn name(self) -> &'static str {
        self.0
    }

    /// True if `text` has this format.
    pub(super) fn matches(self, text: &str) -> bool {
        let mut formats = FORMATS.iter();
        let pattern = formats
            .find(|(name, _)| *name == self.0)
            .and_then(|(_, pattern)| pattern.as_ref());
        if !pattern.is_none_or(|pattern| pattern.is_match(text)) {
            return false;
        }
        match self.0 {
            "byte" => STANDARD.decode(text).is_ok(),
            "date" => is_date(text),
            "date-time" => text.get(..10).is_some_and(is_date) && text.get(11..19).is_some_and(is_time),
            "hostname" => text.len() <= 255,
            "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
            "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
            "cidr" => is_cidr(text),
            "uri" => go_url::check(text).is_ok(),
            "k8s-short-name" => names::dns_label(text).is_empty(),
            "k8s-long-name" => names::dns_subdomain(text).is_empty(),
            _ => true,
        }
    }
}

/// True if a format is known, be it checked or not.
pub(crate) fn is_known(name: &str) -> bool {
    Format::read(name).is_some() || UNCHECKED.split(' ').any(|known| known == name)
}

fn is_date(text: &str) -> bool {
    text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok()
}

fn is_time(text: &str) -> bool {
    text.parse::<jiff::civil::Time>().is_ok()
}

fn is_cidr(text: &str) -> bool {
    let (address, bits) = text.split_once('/').unwrap_or_default();
    match (address.parse(), bits.parse::<u8>()) {
        (Ok(IpAddr::V4(_)), Ok(bits)) => bits <= 32,
        (Ok(IpAddr::V6(_)), Ok(bits)) => bits <= 128,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::Format;

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
