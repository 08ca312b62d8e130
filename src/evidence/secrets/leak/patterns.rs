//! The formats of credentials, as regular expressions.

use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::Regex;

use super::{Grade, finds::Find};

pub(super) fn constant(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a constant pattern")
}

/// Words of which one is in every credential that a name gives away, and in headers. The boundaries of words are those of
/// ASCII: with others, texts that are not ASCII take many times as long.
const WORDS: &str = r"(?i:token|passw|passphrase|pwd|secret|credential|jwt|cookie|key|auths?(?-u:\b)|authorization|bearer|basic|client.?cert|certificate-data|pin(?-u:\b))";

/// Texts of which one is in every credential with a form of its own, except those of issuers.
const SIGNS: [&str; 5] = ["@", "eyJ", "-----BEGIN", "%2DBEGIN", "%2dBEGIN"];

/// Part of every find but those in base64 and the tokens of kubeadm.
static HINT: LazyLock<Regex> = LazyLock::new(|| {
    let forms: Vec<String> = SIGNS.into_iter().chain(hints()).map(regex::escape).collect();
    constant(&format!("{WORDS}|{}", forms.join("|")))
});

/// Part of every match of [`HINT`] in ASCII, in any case. Most texts hold none, which this search finds out in a third of the
/// time.
static PART_OF_HINT: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let words =
        "token passw passphrase pwd secret credential jwt cookie key auth bearer basic cert pin".split(' ');
    let mut builder = AhoCorasick::builder();
    let builder = builder.ascii_case_insensitive(true);
    // Texts are too short for a search for rare bytes to pay.
    let builder = builder.prefilter(false).kind(Some(AhoCorasickKind::DFA));
    let parts = builder.build(words.chain(SIGNS).chain(hints()));
    parts.expect("a few constant words")
});

/// A run of base64 in either alphabet, as long as the shortest credential's.
pub(super) static BASE64: LazyLock<Regex> = LazyLock::new(|| constant("[A-Za-z0-9+/_-]{32,}={0,2}"));

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

pub(super) static BASIC: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"(?i:authorization\W{1,5}(?:value\W{1,5})?(?<scheme>basic))[ :=]+(?<value>[A-Za-z0-9+/=_-]{4,})",
    )
});

/// A field with a value, in any notation: `key: value`, `KEY=value`, `"key":"value"` (quotes escaped or not),
/// `--key value`, `"name":"key","value":"value"`, and the first item of a list. Matches no more of the value than its
/// first character, so that a text of many names is read once: [`value_end`] finds where the value ends.
pub(super) static NAMED_VALUE: LazyLock<Regex> = LazyLock::new(|| {
    constant(concat!(
        r"(?i:(?<dashes>-{1,2})?(?<key>[A-Za-z0-9_.-]*",
        r"(?:token|jwt|password|passwd|passphrase|pwd|secret|secret[_-]?id|credential|cookie|auth|key|\bpin)s?",
        r"|[A-Za-z0-9_.-]*(?:key-?data|certificate-data)))",
        r#"\\*["']?(?:\s{0,3}(?<sign>[:=])\s{0,3}|\\*["']?\s{0,3},\s{0,3}\\*["']value\\*["']\s{0,3}:\s{0,3}|(?<gap>,\s{0,3}|\s{1,3}))"#,
        r#"(?:\[\s{0,3})?\\*["']?(?<first>[^\s"'\\,;&<>(){}\[\]])"#,
    ))
});

/// A file's path, or the name of a resource: words, ids and numbers between slashes, unlike base64 with slashes.
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

/// Returns `true` if a text may hold a credential: a quick check that most texts fail.
pub(super) fn may_hold(text: &str) -> bool {
    text.len() >= SHORTEST
        && !is_uuid(text)
        && (holds_hint(text) || holds_base64(text) || may_hold_bootstrap(text))
}

fn holds_hint(text: &str) -> bool {
    // Some letters beyond ASCII are letters of ASCII in another case.
    (!text.is_ascii() || PART_OF_HINT.is_match(text)) && HINT.is_match(text)
}

/// Returns `true` if [`BASE64`] matches. Each match covers one of some places, so that most bytes are not examined.
fn holds_base64(text: &str) -> bool {
    let is_of_base64 = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'_' | b'-');
    let bytes = text.as_bytes();
    let mut places = (SHORTEST_BASE64 - 1..bytes.len()).step_by(SHORTEST_BASE64);
    places.any(|place| {
        let (before, from) = bytes.split_at(place);
        let length = from.iter().take_while(is_of_base64).count();
        length > 0 && length + before.iter().rev().take_while(is_of_base64).count() >= SHORTEST_BASE64
    })
}

pub(super) fn is_uuid(value: &str) -> bool {
    value.len() == 36
        && value.char_indices().all(|(at, c)| match at {
            8 | 13 | 18 | 23 => c == '-',
            _ => c.is_ascii_hexdigit(),
        })
}

/// Replaces the runner's own credential in evidence: a name could hold it, too.
pub const OWN_CREDENTIAL: &str = "redacted-credential-of-the-runner";

struct CredentialFormat {
    /// Texts of which every match holds one.
    hints: Vec<&'static str>,
    pattern: &'static str,
    /// Compiled when a text holds a hint: most runs read none.
    regex: OnceLock<Regex>,
    kind: &'static str,
}

static FORMATS: LazyLock<Vec<CredentialFormat>> = LazyLock::new(|| {
    let runner_row = (OWN_CREDENTIAL, OWN_CREDENTIAL, "a credential of the runner");
    let lines = include_str!("formats.tsv")
        .lines()
        .filter(|line| !line.starts_with('#'));
    let rows = lines.filter_map(|line| {
        let (hints, rest) = line.split_once('\t')?;
        let (pattern, kind) = rest.split_once('\t')?;
        Some((hints, pattern, kind))
    });
    let format = |(hints, pattern, kind): (&'static str, &'static str, &'static str)| CredentialFormat {
        hints: hints.split(' ').collect(),
        pattern,
        regex: OnceLock::new(),
        kind,
    };
    rows.chain([runner_row]).map(format).collect()
});

/// Part of every credential in the format of an issuer. A search for some words needs no state, which threads would share.
static ISSUED_HINT: LazyLock<Regex> = LazyLock::new(|| {
    let hints: Vec<String> = hints().map(regex::escape).collect();
    constant(&hints.join("|"))
});

fn hints() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().flat_map(|format| format.hints.iter().copied())
}

/// A token by which a node joins a cluster of kubeadm, by itself: its id, and its secret.
static BOOTSTRAP: LazyLock<Regex> = LazyLock::new(|| {
    constant(r"(?:^|[^A-Za-z0-9._/@:-])(?<token>[a-z0-9]{6}\.(?<secret>[a-z0-9]{16}))(?:$|[^A-Za-z0-9._-])")
});

/// Returns `true` if something as long as the secret of such a token follows a dot.
fn may_hold_bootstrap(text: &str) -> bool {
    let mut parts = text.split('.').skip(1);
    parts.any(|part| part.len() >= 16) && BOOTSTRAP.is_match(text)
}

/// Adds the credentials in a text that have the format of an issuer.
pub(super) fn find_issued(text: &str, finds: &mut Vec<Find>) {
    if !ISSUED_HINT.is_match(text) {
        return;
    }
    for format in FORMATS.iter() {
        if format.hints.iter().any(|hint| text.contains(hint)) {
            let pattern = format.regex.get_or_init(|| constant(format.pattern));
            let tokens = pattern.find_iter(text);
            finds.extend(tokens.map(|token| Find::new(token.range(), format.kind, Grade::Certain)));
        }
    }
}

/// Adds the tokens of kubeadm. Names of Events may have the same form, but are hexadecimal and alternate less.
pub(super) fn find_bootstrap(text: &str, finds: &mut Vec<Find>) {
    for captures in BOOTSTRAP.captures_iter(text) {
        let (Some(token), secret) = (captures.name("token"), &captures["secret"]) else {
            continue;
        };
        let beyond_hexadecimal = secret.chars().filter(|c| matches!(c, 'g'..='z')).count();
        let changes = secret
            .as_bytes()
            .windows(2)
            .filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit());
        if beyond_hexadecimal >= 3 && changes.count() >= 4 {
            finds.push(Find::new(token.range(), "a bootstrap token", Grade::Certain));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_of_an_issuer_compiles() {
        assert!(FORMATS.iter().all(|format| Regex::new(format.pattern).is_ok()));
    }
}
