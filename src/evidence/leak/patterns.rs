//! The forms in which credentials come, as regular expressions.

use std::sync::LazyLock;

use regex::Regex;

/// What a find in a text begins with, or what it has in it: a text without any of this holds no credential, and most
/// texts hold nothing of it.
static HINT: LazyLock<Regex> = LazyLock::new(|| {
    let hints = [
        r"(?i:token|passw|passphrase|secret|key|bearer|basic|certificate-data)",
        r"@|eyJ|-----BEGIN|AKIA|ASIA|AIza|ya29\.|GOCSPX-|8Q~|gh[opsru]_|github_pat_|glpat-|sha256~|k8s-aws-v1\.|hvs\.",
        BASE64_RUN,
    ];
    constant(&hints.join("|"))
});

/// As much base64, of either alphabet, as a credential has at the least.
const BASE64_RUN: &str = r"[A-Za-z0-9+/_-]{32,}={0,2}";

/// A run of base64.
pub(super) static BASE64: LazyLock<Regex> = LazyLock::new(|| constant(BASE64_RUN));

/// A private key in PEM, to its end or as much of it as there is.
pub(super) static PRIVATE_KEY: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?s:(?<body>.*?)-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|.*)",
    )
});

/// A JSON web token: its header begins with the base64 of `{"`.
pub(super) static WEB_TOKEN: LazyLock<Regex> = LazyLock::new(|| {
    constant(r"(?<header>eyJ[A-Za-z0-9_-]{6,})\.[A-Za-z0-9_-]{6,}(?<signature>(?:\.[A-Za-z0-9_-]*)*)")
});

/// What stands behind `Bearer`, in a header or in words.
pub(super) static BEARER: LazyLock<Regex> = LazyLock::new(|| {
    constant(r"(?i:(?<header>authorization\W{1,5})?(?<scheme>bearer))[ :=]+(?<value>[A-Za-z0-9._~+/=-]{8,})")
});

/// The header of basic authentication.
pub(super) static BASIC: LazyLock<Regex> = LazyLock::new(|| {
    constant(r"(?i:authorization\W{1,5}(?<scheme>basic))[ :=]+(?<value>[A-Za-z0-9+/=_-]{4,})")
});

/// What services issue in a form of their own.
pub(super) static ISSUED: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    [
        (r"\b(?:AKIA|ASIA)[A-Z2-7]{16}\b", "an access key of AWS"),
        (r"\bk8s-aws-v1\.[A-Za-z0-9_-]{40,}", "a token of EKS"),
        (r"\bAIza[A-Za-z0-9_-]{35}\b", "an API key of Google"),
        (r"\bGOCSPX-[A-Za-z0-9_-]{28}\b", "a client secret of Google"),
        (r"\bya29\.[A-Za-z0-9_-]{20,}", "an access token of Google"),
        (
            r"\b[A-Za-z0-9_~.-]{3}8Q~[A-Za-z0-9_~.-]{31,34}",
            "a client secret of Azure",
        ),
        (
            r"\b(?i:AccountKey|SharedAccessKey)=[A-Za-z0-9+/]{43,86}={1,2}",
            "an account key of Azure",
        ),
        (
            r"\b(?:gh[opsru]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{60,})",
            "a token of GitHub",
        ),
        (r"\bglpat-[A-Za-z0-9_-]{20,}", "a token of GitLab"),
        (r"\bsha256~[A-Za-z0-9_-]{43}\b", "a token of OpenShift"),
        (r"\bhvs\.[A-Za-z0-9_-]{24,}", "a token of Vault"),
    ]
    .map(|(pattern, what)| (constant(pattern), what))
    .into()
});

/// A field with a value, in whatever notation: `key: value`, `KEY=value`, `"key":"value"` (its quotes escaped or not),
/// `--key value`, and `"name":"key","value":"value"`.
pub(super) static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    constant(concat!(
        r"(?i:(?<dashes>-{1,2})?(?<key>[A-Za-z0-9_.-]*",
        r"(?:token|password|passwd|passphrase|secret|key|key-?data|certificate-data)))",
        r#"\\*["']?(?:\s{0,3}(?<sign>[:=])\s{0,3}|\\*["']?\s{0,3},\s{0,3}\\*["']value\\*["']\s{0,3}:\s{0,3}|(?<gap>,\s{0,3}|\s{1,3}))"#,
        r#"\\*["']?(?<value>[^\s"'\\,;&<>(){}\[\]]+)"#,
    ))
});

/// The length of `//u:p@h`: nothing is told in less.
const SHORTEST: usize = 7;

/// Whether a text may hold a credential at all: a quick look, which most texts do not pass.
pub(super) fn may_hold(text: &str) -> bool {
    text.len() >= SHORTEST && HINT.is_match(text)
}

fn constant(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a constant pattern")
}
