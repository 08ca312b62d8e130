//! Hub text made harmless, for each place where it is shown.
//!
//! Whoever may write a ClusterProfile chooses its names and values. Shown as they are, they could move a terminal's
//! cursor, reorder the text of a line, forge a line of a report, or break the XML that carries them.

use std::borrow::Cow;

/// Text for one line that a person reads: every character that is not seen as itself (controls, line breaks, marks
/// that change the direction of text, characters of no width) stands as its escape, such as `\n` or `\u{1b}`.
pub fn line(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            // `escape_default` writes `\n`, `\t` and `\r` by name, and the others by number.
            c if is_hidden(c) => shown.extend(c.escape_default()),
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// Text of several lines for an XML attribute or element that the writer escapes itself: characters that XML 1.0
/// forbids, even as references, stand as their escapes.
pub fn xml(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_forbidden_in_xml) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            c if is_forbidden_in_xml(c) => shown.extend(c.escape_default()),
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// Text of several lines for the inside of an XML CDATA section, which nothing escapes: like [`xml`], and where the
/// text would end the section, the section is ended and begun again between the two brackets and the angle.
pub fn cdata(text: &str) -> String {
    xml(text).replace("]]>", "]]]]><![CDATA[>")
}

/// Whether a character is not seen as itself.
pub(super) fn is_hidden(c: char) -> bool {
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
            | '\u{feff}'                    // byte order mark
            | '\u{fff9}'..='\u{fffb}'       // interlinear annotations
            | '\u{fffe}' | '\u{ffff}'       // no characters
            | '\u{1d173}'..='\u{1d17a}'     // musical formatting
            | '\u{e0000}'..='\u{e0fff}'     // tags and more variation selectors
        )
}

/// Whether XML 1.0 has no place for a character (its production 2, `Char`).
fn is_forbidden_in_xml(c: char) -> bool {
    !matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..='\u{10ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stays_one_visible_line() {
        assert_eq!(line("fleet-a/müller 日本"), "fleet-a/müller 日本");
        assert_eq!(
            line("a\u{1b}[2Jb\r\nok\u{202e}txt\u{200b}"),
            r"a\u{1b}[2Jb\r\nok\u{202e}txt\u{200b}"
        );
        assert_eq!(
            line("\u{9b}31m\u{7f}\u{2066}x\u{e0041}"),
            r"\u{9b}31m\u{7f}\u{2066}x\u{e0041}"
        );
    }

    proptest::proptest! {
        #[test]
        fn nothing_gets_through(text in proptest::collection::vec(proptest::prelude::any::<char>(), 0..40)) {
            let text: String = text.into_iter().collect();
            assert!(!line(&text).chars().any(is_hidden));
            assert!(!xml(&text).chars().any(is_forbidden_in_xml));
            // Read back as an XML parser does, section by section, the text is whole.
            let document = format!("<![CDATA[{}]]>", cdata(&text));
            let sections = document.split("<![CDATA[").skip(1).map(|section| section.strip_suffix("]]>"));
            let read: Option<Vec<&str>> = sections.collect();
            let opens_a_section = text.contains("<![CDATA[");
            assert!(opens_a_section || read.is_some_and(|parts| parts.concat() == xml(&text)));
        }
    }

    #[test]
    fn xml_keeps_lines_and_loses_what_it_forbids() {
        assert_eq!(xml("a\n\tb\0\u{b}\u{ffff}"), "a\n\tb\\u{0}\\u{b}\\u{ffff}");
        assert_eq!(cdata("x]]>y\u{1}"), "x]]]]><![CDATA[>y\\u{1}");
        assert_eq!(cdata("]]]>"), "]]]]]><![CDATA[>");
    }
}
