//! The string formats that the API server checks. It ignores unknown formats.

use std::{net::Ipv6Addr, sync::LazyLock};

use regex::Regex;
use url::Url;

use crate::object::{
    names,
    range::{Range, read_address},
};

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
            "date" => is_date(text),
            "date-time" => text.get(..10).is_some_and(is_date) && text.get(11..19).is_some_and(is_time),
            "duration" => is_duration(text),
            "hostname" => is_hostname(text),
            "ipv4" => text.contains('.') && read_address(text).is_some(),
            "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
            "cidr" => Range::read(text).is_some(),
            "uri" => is_uri(text),
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

fn is_date(text: &str) -> bool {
    text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok()
}

fn is_time(text: &str) -> bool {
    text.parse::<jiff::civil::Time>().is_ok()
}

/// Go's durations, or words with numbers before them, whatever is between: `3 days`.
fn is_duration(text: &str) -> bool {
    static GO: LazyLock<Regex> = LazyLock::new(|| {
        let pattern = r"^[+-]?(?:0|(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)$";
        Regex::new(pattern).expect("constant pattern")
    });
    static WORDS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"([0-9]+)[\t\n\f\r ]*([A-Za-zµ]+)").expect("constant pattern"));
    const UNITS: &str = "ns us µs ms s m h hr d w wk";
    const LONG_UNITS: &str = "nano micro milli sec min hour day week";
    let is_unit = |word: &str| {
        let word = word.to_lowercase();
        let mut long = LONG_UNITS.split(' ');
        UNITS.split(' ').any(|unit| unit == word) || long.any(|unit| word.starts_with(unit))
    };
    let words = || WORDS.captures_iter(text);
    GO.is_match(text)
        || words().all(|words| words[1].parse::<i64>().is_ok()) && words().any(|words| is_unit(&words[2]))
}

/// A single label, or labels before a top-level domain. Unlike DNS, it allows letters and symbols of any script.
fn is_hostname(text: &str) -> bool {
    static LETTERS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^[0-9\p{S}\p{L}]*$").expect("constant pattern"));
    let is_legal = |text: &str| LETTERS.is_match(text);
    let is_label = |label: &str| {
        let ends = [label.chars().next(), label.chars().next_back()];
        is_legal(&label.replace('-', "")) && ends.iter().all(|end| end.is_some_and(|end| end != '-'))
    };
    let fits = text.len() <= 255 && text.split('.').all(|label| label.len() <= 63);
    fits && match text.rsplit_once('.') {
        // A dash may follow the first letter only.
        None => {
            let (first, rest) = text.split_at(text.chars().next().map_or(0, char::len_utf8));
            !first.is_empty() && is_legal(first) && is_legal(rest.strip_prefix('-').unwrap_or(rest))
        }
        Some((labels, last)) => {
            let letters = last.chars().filter(|letter| letter.is_alphabetic()).count();
            letters == last.chars().count() && letters > 1 && labels.split('.').all(is_label)
        }
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
