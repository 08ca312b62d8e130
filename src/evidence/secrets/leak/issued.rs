//! Credentials in the format of their issuer.

use std::sync::LazyLock;

use regex::Regex;

use super::{
    finds::Find,
    grade::{Grade, LeakKind},
    patterns::constant,
};

/// Replaces the runner's own credential in evidence: a name could hold it, too.
pub const OWN_CREDENTIAL: &str = "redacted-credential-of-the-runner";

/// A format of credentials.
struct Format {
    /// Texts of which every match holds one.
    hints: Vec<&'static str>,
    pattern: Regex,
    what: &'static str,
}

static FORMATS: LazyLock<Vec<Format>> = LazyLock::new(|| {
    let own = (OWN_CREDENTIAL, OWN_CREDENTIAL, "a credential of the runner");
    let lines = include_str!("formats.tsv")
        .lines()
        .filter(|line| !line.starts_with('#'));
    let rows = lines.filter_map(|line| {
        let (hints, rest) = line.split_once('\t')?;
        let (pattern, what) = rest.split_once('\t')?;
        Some((hints, pattern, what))
    });
    let format = |(hints, pattern, what): (&'static str, &str, &'static str)| Format {
        hints: hints.split(' ').collect(),
        pattern: constant(pattern),
        what,
    };
    rows.chain([own]).map(format).collect()
});

/// Texts of which every credential with a format of its own holds one.
pub(super) fn hints() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().flat_map(|format| format.hints.iter().copied())
}

/// A token by which a node joins a cluster of kubeadm, by itself: its id, and its secret.
pub(super) static BOOTSTRAP: LazyLock<Regex> = LazyLock::new(|| {
    constant(r"(?:^|[^A-Za-z0-9._/@:-])(?<token>[a-z0-9]{6}\.(?<secret>[a-z0-9]{16}))(?:$|[^A-Za-z0-9._-])")
});

/// Adds the credentials in a text that have the format of an issuer.
pub(super) fn find(text: &str, finds: &mut Vec<Find>) {
    for format in FORMATS.iter() {
        if format.hints.iter().any(|hint| text.contains(hint)) {
            let kind = LeakKind::Issued(format.what);
            let found = format.pattern.find_iter(text);
            finds.extend(found.map(|found| Find::new(found.range(), kind, Grade::Certain)));
        }
    }
}

/// Adds the tokens of kubeadm. Names may have the same form: in nearly all tokens, letters and digits alternate more often, and
/// the name of an Event ends with a time in hexadecimal digits.
pub(super) fn find_bootstrap(text: &str, finds: &mut Vec<Find>) {
    for found in BOOTSTRAP.captures_iter(text) {
        let (Some(token), secret) = (found.name("token"), &found["secret"]) else {
            continue;
        };
        let beyond_hexadecimal = secret.chars().filter(|c| matches!(c, 'g'..='z')).count();
        let changes = secret
            .as_bytes()
            .windows(2)
            .filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit());
        if beyond_hexadecimal >= 3 && changes.count() >= 4 {
            let kind = LeakKind::Issued("a bootstrap token");
            finds.push(Find::new(token.range(), kind, Grade::Certain));
        }
    }
}
