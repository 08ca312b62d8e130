//! How the pages show verdicts and hub text, and what they let a browser do.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use evidence::redact::without_credentials;
use jiff::Timestamp;
use judge::{Decision, Verdict};
use sha2::{Digest, Sha256};

use crate::text::escape;

/// How many characters of a text are shown.
const LONGEST: usize = 400;

/// Colours, text, tables, squares: the style of all pages.
const BASE: &str = include_str!("../templates/style/base.css");

/// The style of a page: the base, then its own.
pub(crate) fn page_style(own: &str) -> String {
    format!("{BASE}{own}")
}

/// The policy of a page: a browser allows only its own style, by its digest, and no script.
pub(crate) fn policy(style: &str) -> String {
    let digest = BASE64.encode(Sha256::digest(style));
    format!("default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'")
}

/// How a verdict is shown: a color, a mark, and a word, so that color is never the only cue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sign {
    /// The class that sets the color.
    pub(crate) class: &'static str,
    pub(crate) mark: &'static str,
    pub(crate) word: &'static str,
}

impl Sign {
    pub(crate) const fn new(class: &'static str, mark: &'static str, word: &'static str) -> Self {
        Self { class, mark, word }
    }

    /// The sign of a verdict.
    pub(crate) fn of(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Pass => Self::new("pass", "✓", "pass"),
            Verdict::Fail => Self::new("fail", "✕", "fail"),
            Verdict::Warn => Self::new("warn", "!", "warn"),
            Verdict::Waived => Self::new("waived", "~", "waived"),
            Verdict::Inconclusive => Self::new("doubt", "?", "inconclusive"),
            Verdict::NotApplicable => Self::new("none", "–", "not applicable"),
            Verdict::Skipped => Self::new("none", "·", "skipped"),
        }
    }

    /// The sign of a decision.
    pub(crate) fn of_decision(decision: Decision) -> Self {
        match decision {
            Decision::Conformant => Self::new("pass", "✓", "conformant"),
            Decision::NoViolation => Self::new("none", "–", "no violation"),
            Decision::NotConformant => Self::new("fail", "✕", "not conformant"),
            Decision::Inconclusive => Self::new("doubt", "?", "inconclusive"),
        }
    }
}

/// The verdicts, the worst first.
pub(crate) const WORST_FIRST: [Verdict; 7] = [
    Verdict::Fail,
    Verdict::Inconclusive,
    Verdict::Warn,
    Verdict::Waived,
    Verdict::Pass,
    Verdict::NotApplicable,
    Verdict::Skipped,
];

/// The place of a verdict in [`WORST_FIRST`].
pub(crate) fn rank(verdict: Verdict) -> usize {
    let place = WORST_FIRST.iter().position(|one| *one == verdict);
    place.unwrap_or(WORST_FIRST.len())
}

/// Escapes, redacts, and shortens hub text.
pub(crate) fn shown(text: &str) -> String {
    brief(text, LONGEST)
}

/// Shows a text of the hub, cut to at most `longest` characters.
pub(super) fn brief(text: &str, longest: usize) -> String {
    let clean = without_credentials(text);
    match escape::cut(&clean, longest) {
        Some((start, rest)) => format!("{}{rest}", escape::line(start)),
        None => escape::line(&clean).into_owned(),
    }
}

/// A time with its day.
pub(super) fn utc(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_cut_with_a_count() {
        assert_eq!(shown("a\u{202e}\n"), r"a\u{202e}\n");
        assert!(!shown(&format!("Bearer {}", "CANARY".repeat(9))).contains("CANARY"));
        let long = "é".repeat(1 << 20);
        assert_eq!(
            shown(&long),
            format!("{}… 1,048,176 more characters", "é".repeat(400))
        );
    }
}
