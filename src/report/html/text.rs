//! Hub text, shortened and escaped for people.

use std::borrow::Cow;

use evidence::redact::without_credentials;

use crate::text::escape;

/// How many characters of a text are shown.
const LONGEST: usize = 400;

/// Escapes, redacts and shortens hub text.
pub(crate) fn shown(text: &str) -> String {
    brief(text, LONGEST)
}

/// The same, at most so long, without what may be a credential.
pub(super) fn brief(text: &str, longest: usize) -> String {
    let text = without_credentials(text);
    let text = shortened(&text, longest);
    escape::line(&text).into_owned()
}

/// A name that fits into so many characters: of a longer one, its beginning and its end, where names of a kind differ.
pub(super) fn label(text: &str, longest: usize) -> String {
    let text = without_credentials(text);
    let length = text.chars().count();
    if length <= longest {
        return escape::line(&text).into_owned();
    }
    let kept = longest.saturating_sub(1);
    let begins: String = text.chars().take(kept.div_ceil(2)).collect();
    let ends: String = text.chars().skip(length - kept / 2).collect();
    format!("{}…{}", escape::line(&begins), escape::line(&ends))
}

/// The beginning of a long text, and how much more there is.
pub(super) fn shortened(text: &str, longest: usize) -> Cow<'_, str> {
    match escape::cut(text, longest) {
        Some((beginning, rest)) => format!("{beginning}{rest}").into(),
        None => text.into(),
    }
}

/// Formats a coordinate, with no more digits than are visible.
pub(super) fn place(at: f64) -> String {
    format!("{at:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_keeps_both_ends() {
        assert_eq!(label("web-0", 20), "web-0");
        assert_eq!(label("production-eu-west-cluster-17", 20), "production…luster-17");
        assert_eq!(label("\u{202e}", 20), r"\u{202e}");
        assert!(!label(&format!("Bearer {}", "CANARY".repeat(9)), 40).contains("CANARY"));
    }

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
