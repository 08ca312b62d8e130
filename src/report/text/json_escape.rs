//! JSON that is harmless on a terminal, with unchanged values for parsers.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{
    Serializer,
    ser::{Formatter, PrettyFormatter},
};

use crate::text::escape::{ends_in_command_mark, is_hidden};

/// Writes indented JSON with `\u` escapes for invisible characters: `cat` shows what is there, and a parser gets the
/// hub's text unchanged.
pub(crate) fn write(value: &impl Serialize, into: &mut dyn Write) -> io::Result<()> {
    let formatter = Visible(PrettyFormatter::new());
    Ok(value.serialize(&mut Serializer::with_formatter(into, formatter))?)
}

struct Visible<'a>(PrettyFormatter<'a>);

impl Formatter for Visible<'_> {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, text: &str) -> io::Result<()> {
        let mut written = 0;
        // A report that is printed in a workflow must not hold a command for its runner either.
        let is_command = |at: usize, c: char| c == '[' && ends_in_command_mark(&text[..at]);
        for (at, c) in text.char_indices() {
            if is_hidden(c) || is_command(at, c) {
                writer.write_all(&text.as_bytes()[written..at])?;
                for unit in utf16(c) {
                    write!(writer, "\\u{unit:04x}")?;
                }
                written = at + c.len_utf8();
            }
        }
        writer.write_all(&text.as_bytes()[written..])
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_array(writer)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }
}

/// The character in UTF-16, which JSON's escapes are made of.
fn utf16(c: char) -> Vec<u16> {
    c.encode_utf16(&mut [0; 2]).to_vec()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn hides_nothing_and_changes_nothing() {
        let value = json!({"a\u{9b}": ["x\u{202e}y\n\u{7f}", "é日", "##[error]", {"b": "\u{e0041}"}], "c": [], "d": {}});
        let mut bytes = Vec::new();
        write(&value, &mut bytes).expect("a vector takes all");
        assert_eq!(
            serde_json::from_slice::<Value>(&bytes).expect("still JSON"),
            value
        );
        let text = String::from_utf8(bytes).expect("UTF-8");
        assert!(!text.chars().any(|c| c != '\n' && is_hidden(c)), "{text}");
        assert!(text.contains("é日") && text.contains(r"\udb40\udc41"), "{text}");
        assert!(text.contains(r"##\u005berror]"), "{text}");
    }
}
