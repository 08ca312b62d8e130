//! Escaping of hub text, for each place where it is shown.
//!
//! Anyone who can write a ClusterProfile controls its names and values. Unescaped, they could move a terminal's cursor,
//! reorder the text of a line, forge a line of a report, or break XML.

use std::borrow::Cow;

use crate::text::thousands;

/// The longest text to show, in characters. Findings quote less; this is for names, reasons and notes of any length.
const LONGEST: usize = 3000;

/// The most combining marks on one letter. No language needs more, and stacks of them cover other lines.
const MARKS: usize = 3;

/// Escapes text for one line that a person reads. It replaces invisible characters (controls, line breaks, direction
/// marks, zero-width characters) by escapes like `\n` or `\u{1b}`, and what a CI system would take for a command. It
/// cuts text that is too long, with a count.
pub fn line(text: &str) -> Cow<'_, str> {
    short(text, LONGEST)
}

/// Does the same as [`line`], for at most `longest` characters.
pub fn short(text: &str, longest: usize) -> Cow<'_, str> {
    let safe = |text| without_command(escape_hidden(text));
    match cut(text, longest) {
        Some((beginning, rest)) => Cow::Owned(format!("{}{rest}", safe(beginning))),
        None => safe(text),
    }
}

/// Returns the beginning of a text that is too long, and a word on how much more there is.
pub(crate) fn cut(text: &str, longest: usize) -> Option<(&str, String)> {
    if text.len() <= longest {
        return None;
    }
    let (end, _) = text.char_indices().nth(longest)?;
    let more = thousands(text[end..].chars().count());
    Some((&text[..end], format!("… {more} more characters")))
}

/// Escapes invisible characters.
fn escape_hidden(text: &str) -> Cow<'_, str> {
    // At the beginning, a mark would combine with the text before.
    let towers = |at: usize| text[..at].chars().rev().take(MARKS).all(is_mark);
    let is_harmful = |at: usize, c: char| {
        is_hidden(c) || (is_mark(c) && towers(at)) || (c == '[' && ends_in_command_mark(&text[..at]))
    };
    replace(text, is_harmful, |c| match c {
        '[' => c.escape_unicode().to_string(),
        // Writes `\n`, `\t` and `\r` by name, and the others by number.
        c => c.escape_default().to_string(),
    })
}

/// Replaces characters that are harmful where they are.
fn replace(
    text: &str,
    is_harmful: impl Fn(usize, char) -> bool,
    escape: impl Fn(char) -> String,
) -> Cow<'_, str> {
    if !text.char_indices().any(|(at, c)| is_harmful(at, c)) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for (at, c) in text.char_indices() {
        if is_harmful(at, c) {
            escaped += &escape(c);
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

/// Whether a bracket after this text would complete a command: workflow runners act on `##[error]`, `##vso[…]` or
/// `##teamcity[…]` anywhere in a line.
fn ends_in_command_mark(before: &str) -> bool {
    before
        .trim_end_matches(|c: char| c.is_ascii_alphabetic())
        .ends_with("##")
}

/// Escapes a line that a workflow runner would take for a command. GitHub's acts on `::error::text` at the beginning of
/// a line, after any space.
fn without_command(line: Cow<'_, str>) -> Cow<'_, str> {
    let command = line.trim_start();
    let begins = command.strip_prefix("::").is_some_and(|rest| rest.contains("::"));
    if !begins {
        return line;
    }
    let margin = line.len() - command.len();
    Cow::Owned(format!(
        "{}{}{}",
        &line[..margin],
        ':'.escape_unicode(),
        &command[1..]
    ))
}

/// Replaces characters that XML 1.0 forbids, even as references, by their escapes. Markup is left to the XML writer.
pub fn xml(text: &str) -> Cow<'_, str> {
    replace(
        text,
        |_, c| is_forbidden_in_xml(c),
        |c| c.escape_default().to_string(),
    )
}

/// Replaces invisible characters in JSON, and commands of CI systems, by `\u` escapes: `cat` shows what is there, and a
/// parser gets the same values.
pub(crate) fn json(text: &str) -> Cow<'_, str> {
    let is_harmful =
        |at: usize, c: char| c != '\n' && (is_hidden(c) || c == '[' && ends_in_command_mark(&text[..at]));
    replace(text, is_harmful, |c| {
        let units = c.encode_utf16(&mut [0; 2]).to_vec();
        units.iter().map(|unit| format!("\\u{unit:04x}")).collect()
    })
}

/// Whether a character is invisible or changes the text around it.
pub(crate) fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}'                        // soft hyphen
            | '\u{34f}'                     // grapheme joiner
            | '\u{61c}'                     // Arabic letter mark
            | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' // fillers
            | '\u{17b4}' | '\u{17b5}'       // vowels that are not written
            | '\u{180b}'..='\u{180f}'       // Mongolian variation selectors and vowel separator
            | '\u{200b}'..='\u{200f}'       // no width, and direction marks
            | '\u{2028}'..='\u{202e}'       // line and paragraph separators, direction embeddings and overrides
            | '\u{2060}'..='\u{206f}'       // invisible operators, direction isolates, deprecated controls
            | '\u{fe00}'..='\u{fe0f}'       // variation selectors
            | '\u{fdd0}'..='\u{fdef}'       // no characters
            | '\u{feff}'                    // byte order mark
            | '\u{fff0}'..='\u{fffb}'       // interlinear annotations
            | '\u{1bca0}'..='\u{1bca3}'     // shorthand formatting
            | '\u{1d173}'..='\u{1d17a}'     // musical formatting
            | '\u{e0000}'..='\u{e0fff}'     // tags and more variation selectors
        )
        // The last two of each plane are not characters.
        || u32::from(c) & 0xfffe == 0xfffe
}

/// Whether a character combines with the one before it.
fn is_mark(c: char) -> bool {
    matches!(c,
        '\u{300}'..='\u{36f}'
        | '\u{483}'..='\u{489}'
        | '\u{1ab0}'..='\u{1aff}'
        | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}'
        | '\u{fe20}'..='\u{fe2f}'
    )
}

/// Whether XML 1.0 forbids a character (production 2, `Char`).
fn is_forbidden_in_xml(c: char) -> bool {
    !matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..='\u{10ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stays_one_visible_line() {
        assert_eq!(line("fleet-a/müller 日本"), "fleet-a/müller 日本");
        let control = "a\u{1b}[2Jb\r\nok\u{202e}txt\u{200b}\u{9b}31m\u{7f}\u{2066}x\u{e0041}";
        let expected = r"a\u{1b}[2Jb\r\nok\u{202e}txt\u{200b}\u{9b}31m\u{7f}\u{2066}x\u{e0041}";
        assert_eq!(line(control), expected);
    }

    #[test]
    fn line_is_not_a_workflow_command() {
        assert_eq!(line("::error::x"), r"\u{3a}:error::x");
        assert_eq!(line("\u{a0} ::group::x"), "\u{a0} \\u{3a}:group::x");
        assert_eq!(
            line("a ##[error]b ##vso[c]d"),
            r"a ##\u{5b}error]b ##vso\u{5b}c]d"
        );
        // Addresses and headings are not commands.
        for kept in ["::1", "fe80::a1, fe80::b2", "## a [b]", "a::b::c", "# [a]"] {
            assert_eq!(line(kept), kept);
        }
    }

    #[test]
    fn marks_do_not_stack() {
        assert_eq!(line("Việt e\u{301}"), "Việt e\u{301}");
        assert_eq!(line("\u{301}a"), r"\u{301}a");
        let stacked = format!("a{}b", "\u{301}".repeat(5));
        assert_eq!(line(&stacked), "a\u{301}\u{301}\u{301}\\u{301}\\u{301}b");
    }

    #[test]
    fn long_text_is_cut_with_a_count() {
        assert_eq!(short("é日x", 3), "é日x");
        assert_eq!(short("é日xy", 2), "é日… 2 more characters");
        let shown = line(&"x".repeat(1 << 20)).into_owned();
        assert!(shown.ends_with("x… 1,045,576 more characters"), "{}", shown.len());
    }

    proptest::proptest! {
        #[test]
        fn no_hidden_character_is_left(text in proptest::collection::vec(proptest::prelude::any::<char>(), 0..40)) {
            let text: String = text.into_iter().collect();
            let shown = line(&text);
            assert!(!shown.chars().any(is_hidden));
            assert!(!shown.contains("##[") && !shown.starts_with(is_mark));
            assert!(!xml(&text).chars().any(is_forbidden_in_xml));
        }
    }

    #[test]
    fn json_shows_invisible_text_and_keeps_its_value() {
        let value =
            serde_json::json!({"a\u{9b}": ["x\u{202e}y\n\u{7f}", "é日", "##[error]", {"b": "\u{e0041}"}]});
        let pretty = serde_json::to_string_pretty(&value).expect("JSON");
        let text = json(&pretty);
        let read: serde_json::Value = serde_json::from_str(&text).expect("still JSON");
        assert_eq!(read, value);
        assert!(!text.chars().any(|c| c != '\n' && is_hidden(c)), "{text}");
        assert!(text.contains("é日") && text.contains(r"\udb40\udc41"), "{text}");
        assert!(text.contains(r"##\u005berror]"), "{text}");
    }

    #[test]
    fn xml_keeps_lines_and_loses_what_it_forbids() {
        assert_eq!(xml("a\n\tb\0\u{b}\u{ffff}"), "a\n\tb\\u{0}\\u{b}\\u{ffff}");
    }
}
