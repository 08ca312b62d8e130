//! The formats of credentials, as regular expressions.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::Regex;

use super::{constant::constant, issued};

/// Words of which one is in every credential that a name gives away, and in headers.
const WORDS: &str = r"(?i:token|passw|passphrase|pwd|secret|credential|jwt|cookie|key|auths?\b|bearer|basic|client.?cert|certificate-data|pin\b)";

/// Texts of which one is in every credential with a form of its own, beside those of issuers.
const SIGNS: [&str; 5] = ["@", "eyJ", "-----BEGIN", "%2DBEGIN", "%2dBEGIN"];

/// The regular expression of [`SIGNS`] and what hints at an issuer.
fn forms(hints: impl Iterator<Item = &'static str>) -> String {
    let all: Vec<String> = SIGNS.into_iter().chain(hints).map(regex::escape).collect();
    all.join("|")
}

/// What hints at an issuer, and is in few words.
fn rare_hints() -> impl Iterator<Item = &'static str> {
    issued::hints().filter(|hint| !issued::is_common(hint))
}

/// Part of every find but those in base64. A text with neither holds no credential, and most texts have neither.
static HINT: LazyLock<Regex> = LazyLock::new(|| constant(&format!("{WORDS}|{}", forms(rare_hints()))));

/// A piece of every match of [`HINT`] in ASCII, in any case. A search for these takes a fraction of the time.
static PIECES: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let words = "token passw passphrase pwd secret credential jwt cookie key auth bearer basic cert pin";
    let mut builder = AhoCorasick::builder();
    builder
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::DFA))
        .prefilter(false);
    let pieces = words.split(' ').chain(SIGNS).chain(rare_hints());
    builder.build(pieces).expect("a few constant words")
});

/// Part of every find but those by a field's name and those in base64. Long names look like base64, and are in
/// every profile.
static FORM: LazyLock<Regex> = LazyLock::new(|| {
    let forms = forms(issued::hints());
    constant(&format!("(?i:bearer|basic|AccountKey|AccessKey)|{forms}"))
});

/// A run of base64 in either alphabet, as long as the shortest credential's.
pub(super) static BASE64: LazyLock<Regex> = LazyLock::new(|| constant(r"[A-Za-z0-9+/_-]{32,}={0,2}"));

/// The length of the shortest match of [`BASE64`].
const SHORTEST_BASE64: usize = 32;

/// A private key in PEM, complete or truncated, as it is or as a part of a URL.
pub(super) static PRIVATE_KEY: LazyLock<Regex> = LazyLock::new(|| {
    let (dashes, space) = ("(?:-|%2[Dd]){5}", "(?: |%20|[+])");
    let line =
        |begin: &str| format!("{dashes}{begin}{space}[A-Z0-9 %+]*PRIVATE{space}KEY(?:{space}BLOCK)?{dashes}");
    let (begin, end) = (line("BEGIN"), line("END"));
    constant(&format!("{begin}(?s:(?<body>.*?){end}|(?<rest>.*))"))
});

/// A certificate in PEM. Its lines may be separated by escaped line breaks.
pub(super) static CERTIFICATE: LazyLock<Regex> = LazyLock::new(|| {
    constant(r"-----BEGIN CERTIFICATE-----(?<body>[A-Za-z0-9+/=\s\\]*)-----END CERTIFICATE-----")
});

/// A JSON web token: its header begins with the base64 of `{"`.
pub(super) static WEB_TOKEN: LazyLock<Regex> = LazyLock::new(|| {
    constant(r"(?<header>eyJ[A-Za-z0-9_-]{6,})\.[A-Za-z0-9_-]{6,}(?<signature>(?:\.[A-Za-z0-9_-]*)*)")
});

/// The value after `Bearer`, in a header or in prose.
pub(super) static BEARER: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"(?i:(?<header>authorization\W{1,5}(?:value\W{1,5})?)?(?<scheme>bearer))[ :=]+(?<value>[A-Za-z0-9._~+/=-]{8,})",
    )
});

/// The header of basic authentication.
pub(super) static BASIC: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"(?i:authorization\W{1,5}(?:value\W{1,5})?(?<scheme>basic))[ :=]+(?<value>[A-Za-z0-9+/=_-]{4,})",
    )
});

/// A field with a value, in any notation: `key: value`, `KEY=value`, `"key":"value"` (quotes escaped or not),
/// `--key value`, `"name":"key","value":"value"`, and the first item of a list. Matches no more of the value than its
/// first character, so that a text of many names is read once: [`value_end`] tells where the value ends.
pub(super) static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    constant(concat!(
        r"(?i:(?<dashes>-{1,2})?(?<key>[A-Za-z0-9_.-]*",
        r"(?:token|jwt|password|passwd|passphrase|pwd|secret|secret[_-]?id|credential|cookie|auth|key|\bpin)s?",
        r"|[A-Za-z0-9_.-]*(?:key-?data|certificate-data)))",
        r#"\\*["']?(?:\s{0,3}(?<sign>[:=])\s{0,3}|\\*["']?\s{0,3},\s{0,3}\\*["']value\\*["']\s{0,3}:\s{0,3}|(?<gap>,\s{0,3}|\s{1,3}))"#,
        r#"(?:\[\s{0,3})?\\*["']?(?<first>[^\s"'\\,;&<>(){}\[\]])"#,
    ))
});

/// A file's path, or the name of a resource in several parts: words that people read, ids and numbers, between slashes.
/// Base64 with slashes is none: its small letters and capitals alternate.
pub(super) static RESOURCE: LazyLock<Regex> = LazyLock::new(|| {
    let word = "(?:[a-z0-9]+|[A-Z0-9]+|(?:[A-Z]{0,4}[a-z]{2,}[0-9]*)+[A-Z]{0,4}[0-9]*)";
    let step = format!("[._-]*{word}(?:[._-]+{word})*");
    constant(&format!("^(?<root>(?:~|[.]{{1,2}})?/)?{step}(?:/{step})+/?$"))
});

/// Returns where the value that begins at `start` ends.
pub(super) fn value_end(text: &str, start: usize) -> usize {
    let rest = &text[start..];
    let ends = |c: char| {
        c.is_whitespace()
            || matches!(
                c,
                '"' | '\'' | '\\' | ',' | ';' | '&' | '<' | '>' | '(' | ')' | '{' | '}' | '[' | ']'
            )
    };
    start + rest.find(ends).unwrap_or(rest.len())
}

/// The length of `//u:p@h`, the shortest find.
const SHORTEST: usize = 7;

/// Returns `true` if a text may hold a credential: a quick check that most texts fail. An id in UUID form looks like
/// base64.
pub(super) fn may_hold(text: &str) -> bool {
    text.len() >= SHORTEST
        && !is_uuid(text)
        && (holds_hint(text) || holds_base64(text) || issued::may_hold_bootstrap(text))
}

/// Returns `true` if [`HINT`] matches.
fn holds_hint(text: &str) -> bool {
    // Letters beyond ASCII may be capitals of letters in ASCII.
    (!text.is_ascii() || PIECES.is_match(text)) && HINT.is_match(text)
}

/// Returns `true` if [`BASE64`] matches.
fn holds_base64(text: &str) -> bool {
    let is_of_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'_' | b'-');
    let bytes = text.as_bytes();
    // Each run covers one of these places, so that most bytes need no look.
    let mut places = (SHORTEST_BASE64 - 1..bytes.len()).step_by(SHORTEST_BASE64);
    places.any(|place| {
        let before = bytes[..place].iter().rev();
        let from = bytes[place..].iter();
        let length = from.take_while(|byte| is_of_base64(byte)).count();
        length > 0 && length + before.take_while(|byte| is_of_base64(byte)).count() >= SHORTEST_BASE64
    })
}

/// Returns `true` if a text may hold a credential that has a form of its own.
pub(super) fn may_have_form(text: &str) -> bool {
    FORM.is_match(text)
}

pub(super) fn is_uuid(value: &str) -> bool {
    value.len() == 36
        && value.char_indices().all(|(at, c)| match at {
            8 | 13 | 18 | 23 => c == '-',
            _ => c.is_ascii_hexdigit(),
        })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Hints, what almost is one, and what may surround them.
    fn text() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            r"(?i:token|passw|passphrase|pwd|secret|credential|jwt|cookie|key|auths?|bearer|basic|pin)",
            r"(?i:client.?cert|certificate-data|eyJ|-----BEGIN|AKIA|ASIA|AIza|ya29\.|GOCSPX-|8Q~)",
            r"(?i:gh[opsru]_|github_pat_|glpat-|sha256~|k8s-aws-v1\.|hvs\.|@|%2dBEGIN)",
            r"(?i:xoxb-|npm_|sk_live_|sig=|SG\.|hf_|dckr_pat_|token-|T3BlbkFJ|SK)",
            "[A-Za-z0-9+/_-]{1,40}={0,3}",
            "to\u{212a}en|ba\u{17f}ic|[ .:éß]",
            ".{0,12}",
        ];
        prop::collection::vec(piece, 0..5).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn quick_checks_miss_nothing(text in text()) {
            prop_assert_eq!(holds_hint(&text), HINT.is_match(&text), "{:?}", text);
            prop_assert_eq!(holds_base64(&text), BASE64.is_match(&text), "{:?}", text);
        }
    }
}
