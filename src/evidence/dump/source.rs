//! The text of a file, document by document and value by value.

use std::{io::Read, mem};

use serde_json::{Deserializer, value::RawValue};

use crate::{InputError, LimitError, Limits, read::input::FilePlace};

/// The least to read per call, in bytes.
pub(super) const PIECE: usize = 64 * 1024;

/// At least as long as a byte order mark, and as a mark that ends a document with the byte after it.
const AHEAD: usize = 4;

/// The largest YAML document, in sizes of the largest object: one is in memory as a whole.
const YAML_OBJECTS: usize = 16;

pub(super) const CUT_SHORT: &str = " ends in the middle: was kubectl interrupted? dump again";

/// Some programs write a byte order mark before text.
const BYTE_ORDER_MARK: char = '\u{FEFF}';

/// A file that is read in pieces. A line of `---` or `...`, alone or before white space, ends a document.
pub(super) struct DumpSource<'f, R> {
    reader: R,
    file: &'f str,
    limits: Limits,
    /// What was read; what lies before `at` is taken.
    text: String,
    at: usize,
    /// The first bytes of a character that goes on in the next piece.
    split: Vec<u8>,
    /// The line of what is next, from 1, and the bytes before it in that line.
    line: usize,
    column: usize,
    is_read: bool,
    /// Why the file cannot be read beyond the text.
    failure: Option<InputError>,
    /// The bytes that were read.
    pub size: u64,
    /// True if only white space was read.
    pub is_blank: bool,
}

impl<'f, R: Read> DumpSource<'f, R> {
    /// A text that begins with that line of a file.
    pub fn new(reader: R, place: FilePlace<'f>, limits: Limits) -> Self {
        Self {
            reader,
            file: place.file,
            limits,
            text: String::new(),
            at: 0,
            split: Vec::new(),
            line: place.line,
            column: 0,
            is_read: false,
            failure: None,
            size: 0,
            is_blank: true,
        }
    }

    /// The place of what is next.
    pub fn place(&self) -> FilePlace<'f> {
        FilePlace {
            file: self.file,
            line: self.line,
        }
    }

    /// The last line that was read, or that of the document if a mark ends it here.
    fn last_place(&self) -> FilePlace<'f> {
        let rest = if self.is_at_mark() { "" } else { self.rest() };
        let ends_line = rest.ends_with('\n') || rest.is_empty() && self.column == 0;
        let line = self.line + line_breaks(rest) - usize::from(ends_line);
        FilePlace {
            file: self.file,
            line: line.max(1),
        }
    }

    /// The first byte of the document's content; `None` if it has only comments and directives.
    pub fn begin_document(&mut self) -> Result<Option<u8>, InputError> {
        loop {
            let first = self.peek()?;
            if !matches!(first, Some(b'#' | b'%')) {
                return Ok(first);
            }
            self.rest_of_line()?;
        }
    }

    /// Takes a mark that ends the document. Returns `false` if there is none.
    pub fn take_mark(&mut self) -> bool {
        let is_mark = self.is_at_mark();
        if is_mark {
            self.advance(3);
        }
        is_mark
    }

    /// Takes the rest of a document of YAML. Spaces replace what precedes it in its line.
    pub fn document(&mut self) -> Result<String, InputError> {
        let largest = self.limits.object.saturating_mul(YAML_OBJECTS);
        let begins = self.place();
        let mut document = " ".repeat(self.column.min(self.limits.object));
        loop {
            document += self.rest_of_line()?;
            if document.len() > largest {
                return Err(begins.too_large(LimitError::Document(largest)));
            }
            self.look_ahead()?;
            if self.is_at_mark() {
                return Ok(document);
            }
            if self.rest().is_empty() {
                return self.failure.take().map_or(Ok(document), Err);
            }
        }
    }

    /// Skips white space. Returns the next byte; `None` at the end of the document.
    pub fn peek(&mut self) -> Result<Option<u8>, InputError> {
        loop {
            self.look_ahead()?;
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
            if blank > 0 {
                self.advance(blank);
            } else if rest.is_empty() {
                return self.failure.take().map_or(Ok(None), Err);
            } else {
                let next = rest.bytes().next();
                return Ok(next.filter(|_| !self.is_at_mark()));
            }
        }
    }

    /// Takes the next value of JSON. Returns the line at which it begins, and its text.
    pub fn value(&mut self) -> Result<(usize, &str), InputError> {
        if self.peek()?.is_none() {
            return Err(self.unexpected("expected value"));
        }
        let size = loop {
            let rest = self.rest();
            let mut values = Deserializer::from_str(rest).into_iter::<&RawValue>();
            let value = values.next();
            let size = values.byte_offset();
            match value {
                // A number at the end may go on.
                Some(Ok(_)) if size < rest.len() || self.is_read => break size,
                Some(Err(error)) if !error.is_eof() && (self.is_read || !is_at_end(&error, rest)) => {
                    return Err(self.invalid(&error));
                }
                _ => self.fill()?,
            }
        };
        if size > self.limits.object {
            return Err(self.place().too_large(LimitError::Object(self.limits.object)));
        }
        let (begins, line) = (self.at, self.line);
        self.advance(size);
        Ok((line, &self.text[begins..self.at]))
    }

    /// Takes the key of a field of JSON, and the colon. Returns the key in its quotes.
    pub fn key(&mut self) -> Result<String, InputError> {
        if self.peek()? != Some(b'"') {
            return Err(self.unexpected("key must be a string"));
        }
        let key = self.value()?.1.to_owned();
        if self.peek()? != Some(b':') {
            return Err(self.unexpected("expected `:`"));
        }
        self.advance(1);
        Ok(key)
    }

    /// Takes the bracket or the brace that begins a list or an object. Returns whether it has content.
    pub fn begin(&mut self, end: u8) -> Result<bool, InputError> {
        self.advance(1);
        let is_empty = self.peek()? == Some(end);
        self.advance(usize::from(is_empty));
        Ok(!is_empty)
    }

    /// Takes what follows an element or a field. Returns whether it is a comma, so that another one follows.
    pub fn goes_on(&mut self, end: u8) -> Result<bool, InputError> {
        let next = self.peek()?;
        if next != Some(b',') && next != Some(end) {
            return Err(self.unexpected(&format!("expected `,` or `{}`", char::from(end))));
        }
        self.advance(1);
        Ok(next == Some(b','))
    }

    /// The error for JSON that is not valid at what is next; for a file that was cut short if nothing is.
    pub fn unexpected(&self, message: &str) -> InputError {
        if self.rest().is_empty() || self.is_at_mark() {
            return self.last_place().content(CUT_SHORT);
        }
        syntax(self.place(), self.column + 1, "JSON", message)
    }

    /// The error for a value that is not valid. If a mark is there, the document ends in the middle of the value.
    fn invalid(&self, error: &serde_json::Error) -> InputError {
        let before = if error.line() > 1 { 0 } else { self.column };
        let place = FilePlace {
            line: self.line + error.line() - 1,
            ..self.place()
        };
        let mut lines = self.rest().split('\n').skip(1);
        if error.line() > 1 && lines.nth(error.line() - 2).is_some_and(begins_with_mark) {
            let line = place.line - 1;
            return FilePlace { line, ..place }.content(CUT_SHORT);
        }
        let message = error.to_string();
        syntax(
            place,
            (before + error.column()).max(1),
            "JSON",
            without_place(&message),
        )
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn advance(&mut self, size: usize) {
        let piece = &self.text[self.at..self.at + size];
        match piece.rfind('\n') {
            Some(last) => {
                self.line += line_breaks(piece);
                self.column = piece.len() - last - 1;
            }
            None => self.column += size,
        }
        self.at += size;
    }

    /// Reads until it is known whether a mark is next. Skips byte order marks at the start of a line.
    fn look_ahead(&mut self) -> Result<(), InputError> {
        loop {
            while self.rest().len() < AHEAD && !self.is_read {
                self.fill()?;
            }
            if self.column > 0 || !self.rest().starts_with(BYTE_ORDER_MARK) {
                return Ok(());
            }
            self.at += BYTE_ORDER_MARK.len_utf8();
        }
    }

    fn is_at_mark(&self) -> bool {
        self.column == 0 && begins_with_mark(self.rest())
    }

    /// Takes the rest of the line, with its break.
    fn rest_of_line(&mut self) -> Result<&str, InputError> {
        let size = loop {
            match self.rest().find('\n') {
                Some(end) => break end + 1,
                None if self.is_read => break self.rest().len(),
                None => self.fill()?,
            }
        };
        let begins = self.at;
        self.advance(size);
        Ok(&self.text[begins..self.at])
    }

    /// Reads more, if what is left of the text is not more than an object may have.
    fn fill(&mut self) -> Result<(), InputError> {
        if self.is_read {
            let failure = self.failure.take();
            return Err(failure.unwrap_or_else(|| self.last_place().content(CUT_SHORT)));
        }
        self.text.drain(..mem::take(&mut self.at));
        if self.text.len() > self.limits.object {
            return Err(self.place().too_large(LimitError::Object(self.limits.object)));
        }
        let size = PIECE.max(self.text.len());
        let mut bytes = mem::take(&mut self.split);
        let split_len = bytes.len();
        let mut piece = self.reader.by_ref().take(size as u64);
        let read = piece.read_to_end(&mut bytes);
        if self.size == 0 && (bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF])) {
            return Err(self.place().content(
                ":1 is not UTF-8 text, but UTF-16, as PowerShell's `>` writes it: use `| Out-File -Encoding utf8`",
            ));
        }
        self.size += (bytes.len() - split_len) as u64;
        self.is_read = read.as_ref().map_or(true, |read| *read < size);
        self.add(&bytes);
        if let Err(cause) = read {
            self.failure = Some(self.last_place().unread(cause));
        }
        Ok(())
    }

    /// Adds what is UTF-8. A character at the end may go on in the next piece.
    fn add(&mut self, bytes: &[u8]) {
        let (valid, error) = match str::from_utf8(bytes) {
            Ok(text) => (text, None),
            Err(error) => {
                let valid = &bytes[..error.valid_up_to()];
                (str::from_utf8(valid).unwrap_or_default(), Some(error))
            }
        };
        self.text += valid;
        self.is_blank &= valid.trim_ascii().is_empty();
        let Some(error) = error else { return };
        self.is_blank = false;
        if error.error_len().is_none() && !self.is_read {
            self.split = bytes[valid.len()..].to_vec();
            return;
        }
        let place = FilePlace {
            line: self.line + line_breaks(self.rest()),
            ..self.place()
        };
        self.is_read = true;
        self.failure = Some(place.content(match error.error_len() {
            Some(_) => " is not UTF-8 text: is this a dump of kubectl?",
            None => CUT_SHORT,
        }));
    }
}

/// Whether a text begins with a mark that ends a document.
fn begins_with_mark(text: &str) -> bool {
    let is_mark = text.starts_with("---") || text.starts_with("...");
    is_mark && text.as_bytes().get(3).is_none_or(u8::is_ascii_whitespace)
}

/// Whether a text is not valid at its end, for example `-` or `1.`: it may be the first part of a number.
fn is_at_end(error: &serde_json::Error, text: &str) -> bool {
    let last_line = text.rsplit('\n').next().unwrap_or_default();
    error.line() > line_breaks(text) && error.column() >= last_line.len()
}

pub(super) fn line_breaks(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

/// The error for text that cannot be parsed. The column counts from 1.
pub(super) fn syntax(place: FilePlace<'_>, column: usize, language: &str, message: &str) -> InputError {
    place.content(format_args!(
        ":{column} is not valid {language}: {message}; correct the file, or dump again"
    ))
}

/// A parser's message without its place.
pub(super) fn without_place(message: &str) -> &str {
    message.find(" at line ").map_or(message, |at| &message[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The documents of a text, each with the line of its first content.
    fn documents(text: &str) -> Vec<(usize, String)> {
        let place = FilePlace { file: "x", line: 1 };
        let mut source = DumpSource::new(text.as_bytes(), place, Limits::default());
        let mut documents = Vec::new();
        loop {
            if source.begin_document().expect("reads").is_some() {
                let line = source.place().line;
                documents.push((line, source.document().expect("reads")));
            }
            if !source.take_mark() {
                return documents;
            }
        }
    }

    #[test]
    fn only_a_mark_at_the_start_of_a_line_ends_a_document() {
        for (text, expected) in [
            ("a\n---\nb", &[(1, "a\n"), (3, "b")]),
            ("---\na\n--- b\n---", &[(2, "a\n"), (3, "    b\n")]),
            ("a\n...\n# c\n%YAML 1.2\n---\nb", &[(1, "a\n"), (6, "b")]),
            ("a\n\u{FEFF}\u{FEFF}---\r\nb", &[(1, "a\n"), (3, "b")]),
        ] {
            let expected = expected.map(|(line, text)| (line, text.to_owned()));
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
