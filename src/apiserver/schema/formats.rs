//! The string formats that the API server checks. It ignores unknown formats.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::LazyLock,
};

use regex::Regex;
use url::Url;

use crate::object::names;

/// A format, by its name in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SchemaFormat(&'static str);

static FORMATS: LazyLock<Vec<(&str, Option<Regex>)>> = LazyLock::new(|| {
    let lines = include_str!("formats.txt").lines();
    let read = |line: &'static str| match line.split_once(' ') {
        Some((name, pattern)) => (name, Some(Regex::new(pattern).expect("constant pattern"))),
        None => (line, None),
    };
    lines.filter(|line| !line.starts_with('#')).map(read).collect()
});

impl SchemaFormat {
    pub(super) const BYTE: Self = Self("byte");
    pub(super) const DATE_TIME: Self = Self("date-time");
    pub(super) const DURATION: Self = Self("duration");
    pub(super) const INT32: Self = Self("int32");

    /// The format that `name` means, with or without its dashes.
    pub(super) fn read(name: &str) -> Option<Self> {
        let bare = |name: &str| name.replace('-', "");
        let mut names = FORMATS.iter().map(|(format, _)| *format);
        names.find(|format| bare(format) == bare(name)).map(Self)
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
            "date" => is_date(text),
            "date-time" => text.get(..10).is_some_and(is_date) && text.get(11..19).is_some_and(is_time),
            "duration" => is_duration(text),
            "hostname" => is_hostname(text),
            "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
            "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
            "cidr" => is_cidr(text),
            "uri" => is_uri(text),
            "k8s-short-name" => names::dns_label(text).is_empty(),
            "k8s-long-name" => names::dns_subdomain(text).is_empty(),
            _ => true,
        }
    }
}

/// True for an absolute URL or an absolute path. All that this accepts, Go's `url.ParseRequestURI` accepts; Go also takes
/// unescaped characters, ports of any size, and hosts that are numbers.
pub(super) fn is_uri(text: &str) -> bool {
    static ESCAPED: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^(?:[A-Za-z0-9._~:/?#@!$&'()*+,;=\[\]-]|%[0-9A-Fa-f]{2})+$").expect("constant pattern")
    });
    if !ESCAPED.is_match(text) {
        return false;
    }
    let rest = text.split_once("://").map_or("", |(_, rest)| rest);
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let has_plain_authority =
        !authority.contains(['%', '#']) && authority.rfind('[').is_none_or(|at| at == 0);
    text.starts_with('/') || has_plain_authority && Url::parse(text).is_ok()
}

/// True for an address and the length of a prefix, without leading zeros.
fn is_cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else {
        return false;
    };
    let longest = match address.parse() {
        Ok(IpAddr::V4(_)) => Ipv4Addr::BITS,
        Ok(IpAddr::V6(_)) => Ipv6Addr::BITS,
        Err(_) => return false,
    };
    (0..=longest).any(|number| number.to_string() == length)
}

fn is_date(text: &str) -> bool {
    text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok()
}

fn is_time(text: &str) -> bool {
    text.parse::<jiff::civil::Time>().is_ok()
}

/// A duration of Go. kube-apiserver also accepts words with numbers before them, for example `3 days`.
fn is_duration(text: &str) -> bool {
    static GO: LazyLock<Regex> = LazyLock::new(|| {
        let pattern = r"^[+-]?(?:0|(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)$";
        Regex::new(pattern).expect("constant pattern")
    });
    GO.is_match(text)
}

/// A single label, or labels before a top-level domain, in ASCII. kube-apiserver also accepts letters and symbols of
/// other scripts.
fn is_hostname(text: &str) -> bool {
    static HOSTNAME: LazyLock<Regex> = LazyLock::new(|| {
        let pattern = r"^(?:[A-Za-z0-9]+|(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z]{2,})$";
        Regex::new(pattern).expect("constant pattern")
    });
    text.len() <= 255 && text.split('.').all(|label| label.len() <= 63) && HOSTNAME.is_match(text)
}

#[cfg(test)]
mod tests {
    use super::SchemaFormat;

    /// Formats that no script of `fixtures/fidelity` has.
    #[test]
    fn knows_the_rarer_formats() {
        for (format, text, is_valid) in [
            ("uuid3", "f86168d2-7644-4676-a80a-de63be5a4771", false),
            ("date-time", "2026-02-30T10:33:43Z", false),
            ("date-time", "2026-11-20T10:33:43.123456+01:00", true),
            ("k8s-short-name", "a-b", true),
            ("k8s-short-name", "a.b", false),
            ("k8s-long-name", "a.b", true),
        ] {
            let format = SchemaFormat::read(format).expect("a known format");
            assert_eq!(format.matches(text), is_valid, "{text}");
        }
    }
}
