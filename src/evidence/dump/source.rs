//! The text of a file: documents of YAML as a whole, and JSON token by token.

use std::io::Read;

use serde::de::IgnoredAny;

use super::document::syntax;
use crate::{InputError, LimitError, Limits, read::input::FilePlace};

/// How much is read at once, in bytes.
const PIECE: usize = 256 * 1024;

/// How many times the size of the largest object a document of YAML may have.
const YAML: usize = 16;

pub(super) const CUT_SHORT: &str = " ends in the middle: was kubectl interrupted? dump again";

/// Some programs write a byte order mark before text.
const BYTE_ORDER_MARK: char = '\u{FEFF}';

/// A file that is read piece by piece. A line of `---` or `...`, alone or before white space, ends a document.
pub(super) struct Source<'f, R> {
    reader: R,
    file: &'f str,
    limits: Limits,
    /// A part of the file, of which the first `at` bytes were used.
    text: String,
    at: usize,
    /// The first bytes of a character that goes on in the next piece.
    split: Vec<u8>,
    /// The line, from 1, and how many bytes of it were used.
    line: usize,
    column: usize,
    is_read: bool,
    /// True if nothing but white space was read.
    pub is_blank: bool,
    /// The bytes that were read.
    pub size: u64,
}

impl<'f, R: Read> Source<'f, R> {
    /// The file's first line has that number.
    pub fn new(reader: R, file: &'f str, line: usize, limits: Limits) -> Self {
        Self {
            reader,
            file,
            limits,
            text: String::new(),
            at: 0,
            split: Vec::new(),
            line,
            column: 0,
            is_read: false,
            is_blank: true,
            size: 0,
        }
    }

    /// The text that was read and not used.
    pub fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub fn line(&self) -> usize {
        self.line
    }

    pub fn place(&self) -> FilePlace<'f> {
        FilePlace {
            file: self.file,
            line: self.line,
        }
    }

    /// The error for a file that ends in the middle of its last line.
    pub fn cut_short(&self) -> InputError {
        let line = self.last_line();
        FilePlace { line, ..self.place() }.content(CUT_SHORT)
    }

    /// The last line that was read.
    pub fn last_line(&self) -> usize {
        let lines = self.rest().lines().count();
        let is_within = lines == 0 && self.column > 0;
        (self.line + lines + usize::from(is_within))
            .saturating_sub(1)
            .max(1)
    }

    /// True if the file was used up and does not end with a line break.
    pub fn is_cut(&self) -> bool {
        self.is_read && self.rest().is_empty() && self.column > 0
    }

    /// Begins the next document. Returns `false` at the end of the file.
    pub fn next_document(&mut self) -> Result<bool, InputError> {
        if self.is_at_mark()? {
            self.skip("---".len());
        }
        Ok(!self.rest().is_empty() || self.more()?)
    }

    /// The first byte of the document's content; `None` if it has only comments and directives.
    pub fn first_byte(&mut self) -> Result<Option<u8>, InputError> {
        while !self.is_at_mark()? {
            let content = self.rest().trim_start_matches([' ', '\t', '\r']);
            match content.bytes().next() {
                None if self.more()? => {}
                None => return Ok(None),
                Some(b'\n' | b'#' | b'%') => self.skip_line()?,
                first => return Ok(first),
            }
        }
        Ok(None)
    }

    /// The rest of a document of YAML.
    pub fn document(&mut self) -> Result<String, InputError> {
        let mut text = String::new();
        while !self.is_at_mark()? {
            let rest = self.rest();
            let end = rest.find('\n').map_or(rest.len(), |end| end + 1);
            if let Some(at) = rest[..end].find('\0') {
                // A device such as /dev/zero has no end.
                return Err(syntax(
                    self.place(),
                    self.column + at + 1,
                    "YAML",
                    "a NUL character",
                ));
            }
            text.push_str(&rest[..end]);
            self.skip(end);
            let most = self.limits.object.saturating_mul(YAML);
            if text.len() > most {
                return Err(self.place().too_large(LimitError::YamlDocument(most)));
            }
            if self.rest().is_empty() && !self.more()? {
                break;
            }
        }
        Ok(text)
    }

    /// Whether a document ends here.
    pub fn is_at_mark(&mut self) -> Result<bool, InputError> {
        while self.column == 0 {
            while self.rest().len() < "---\n".len() && self.more()? {}
            let rest = self.rest();
            let Some(marked) = rest.strip_prefix(BYTE_ORDER_MARK) else {
                let after = rest.strip_prefix("---").or_else(|| rest.strip_prefix("..."));
                let is_blank =
                    |after: &str| after.bytes().next().is_none_or(|byte| byte.is_ascii_whitespace());
                return Ok(after.is_some_and(is_blank));
            };
            self.at = self.text.len() - marked.len();
        }
        Ok(false)
    }

    /// The first byte of the next token of JSON; `None` at the end of the file.
    pub fn peek(&mut self) -> Result<Option<u8>, InputError> {
        loop {
            let rest = self.rest();
            let token = rest.trim_ascii_start();
            let first = token.bytes().next();
            self.skip(rest.len() - token.len());
            if first.is_some() || !self.more()? {
                return Ok(first);
            }
        }
    }

    /// Skips a sign of JSON, if it is next.
    pub fn skip_sign(&mut self, sign: u8) -> Result<bool, InputError> {
        let is_next = self.peek()? == Some(sign);
        self.skip(usize::from(is_next));
        Ok(is_next)
    }

    /// Checks which sign of JSON is next. `problem` is what is wrong otherwise.
    pub fn check(&mut self, sign: u8, problem: &str) -> Result<(), InputError> {
        match self.peek()? {
            Some(next) if next == sign => Ok(()),
            Some(_) => Err(syntax(self.place(), self.column + 1, "JSON", problem)),
            None => Err(self.cut_short()),
        }
    }

    /// Checks a sign, and skips it.
    pub fn expect(&mut self, sign: u8, problem: &str) -> Result<(), InputError> {
        self.check(sign, problem)?;
        self.skip(1);
        Ok(())
    }

    /// The next value of JSON.
    pub fn value(&mut self) -> Result<String, InputError> {
        self.peek()?;
        loop {
            let mut values = serde_json::Deserializer::from_str(self.rest()).into_iter::<IgnoredAny>();
            let value = values.next();
            let length = values.byte_offset();
            match value {
                // A number may go on in the next piece.
                Some(Ok(_)) if length < self.rest().len() || !self.more()? => {
                    self.check_size(length)?;
                    let value = self.rest()[..length].to_owned();
                    self.skip(length);
                    return Ok(value);
                }
                Some(Err(error)) if !error.is_eof() => {
                    let column = if error.line() == 1 { self.column } else { 0 };
                    let line = self.line + error.line() - 1;
                    let place = FilePlace { line, ..self.place() };
                    return Err(syntax(place, column + error.column(), "JSON", &error.to_string()));
                }
                Some(Ok(_)) => {}
                _ if self.more()? => {}
                _ => return Err(self.cut_short()),
            }
        }
    }

    /// Checks the size of an object.
    pub fn check_size(&self, size: usize) -> Result<(), InputError> {
        if size > self.limits.object {
            return Err(self.place().too_large(LimitError::Object(self.limits.object)));
        }
        Ok(())
    }

    /// Uses text up to that length.
    pub fn skip(&mut self, length: usize) {
        let used = &self.text.as_bytes()[self.at..self.at + length];
        match used.iter().filter(|byte| **byte == b'\n').count() {
            0 => self.column += length,
            breaks => {
                self.line += breaks;
                self.column = used.iter().rev().take_while(|byte| **byte != b'\n').count();
            }
        }
        self.at += length;
    }

    fn skip_line(&mut self) -> Result<(), InputError> {
        loop {
            let end = self.rest().find('\n');
            self.skip(end.map_or(self.rest().len(), |end| end + 1));
            if end.is_some() || !self.more()? {
                return Ok(());
            }
        }
    }

    /// Reads more text. Returns `false` at the end of the file.
    fn more(&mut self) -> Result<bool, InputError> {
        self.check_size(self.rest().len())?;
        if self.is_read {
            return Ok(false);
        }
        let mut bytes = std::mem::take(&mut self.text).into_bytes();
        bytes.drain(..std::mem::take(&mut self.at));
        bytes.append(&mut self.split);
        let mut part = self.reader.by_ref().take(PIECE as u64);
        let read = part
            .read_to_end(&mut bytes)
            .map_err(|cause| self.place().unread(cause))?;
        if self.size == 0 && (bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF])) {
            return Err(self.place().content(
                ":1 is not UTF-8 text, but UTF-16, as PowerShell's `>` writes it: use `| Out-File -Encoding utf8`",
            ));
        }
        self.size += read as u64;
        self.is_read = read < PIECE;
        self.is_blank = self.is_blank && bytes.trim_ascii().is_empty();
        self.text = String::from_utf8(bytes).or_else(|error| self.without_split(error))?;
        Ok(read > 0)
    }

    /// Cuts off a character that goes on in the next piece.
    fn without_split(&mut self, error: std::string::FromUtf8Error) -> Result<String, InputError> {
        let flaw = error.utf8_error();
        let mut bytes = error.into_bytes();
        self.split = bytes.split_off(flaw.valid_up_to());
        self.text = String::from_utf8(bytes).unwrap_or_default();
        let line = self.last_line();
        let place = FilePlace { line, ..self.place() };
        if flaw.error_len().is_some() {
            return Err(place.content(" is not UTF-8 text: is this a dump of kubectl?"));
        }
        if self.is_read {
            return Err(place.content(CUT_SHORT));
        }
        Ok(std::mem::take(&mut self.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The documents of a text, each with the line of its first content.
    fn documents(text: &str) -> Vec<(usize, String)> {
        let mut source = Source::new(text.as_bytes(), "x", 1, Limits::default());
        let mut documents = Vec::new();
        while source.next_document().expect("reads") {
            if source.first_byte().expect("reads").is_some() {
                documents.push((source.line(), source.document().expect("reads")));
            }
        }
        documents
    }

    #[test]
    fn only_a_mark_at_the_start_of_a_line_ends_a_document() {
        for (text, expected) in [
            ("a\n---\nb", vec![(1, "a\n"), (3, "b")]),
            ("---\na\n--- b\n---", vec![(2, "a\n"), (3, " b\n")]),
            ("a\n...\n# c\n%YAML 1.2\n---\nb", vec![(1, "a\n"), (6, "b")]),
            ("a\n\u{FEFF}\u{FEFF}---\r\nb", vec![(1, "a\n"), (3, "b")]),
        ] {
            let expected = expected.into_iter().map(|(line, text)| (line, text.to_owned()));
            let expected: Vec<_> = expected.collect();
            assert_eq!(documents(text), expected, "{text:?}");
        }
        for one in [
            "a ---\n",
            "a\n----\nb",
            "a\n---b",
            "a\n --- b",
            "a\n--\n-\n",
            "-----BEGIN---\n",
        ] {
            assert_eq!(documents(one), [(1, one.to_owned())]);
        }
    }

    #[test]
    fn long_lines_are_read_in_pieces() {
        for length in [PIECE - 3, PIECE, 5000] {
            let line = "é".repeat(length) + "---\n";
            let twice = documents(&format!("{line}---\n{line}"));
            assert_eq!(twice, [(1, line.clone()), (3, line)]);
        }
        let comment = format!("# {}\na", "x".repeat(5000));
        assert_eq!(documents(&comment), [(2, "a".to_owned())]);
    }
}
