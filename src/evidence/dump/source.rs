//! The text of a file, document by document.

use std::{
    cell::Cell,
    io::{self, BufRead, BufReader, Read},
};

use crate::{InputError, LimitError, Limits, read::input::FilePlace};

/// The largest part of a line that is read at once, in bytes.
const PIECE: u64 = 1024;

pub(super) const CUT_SHORT: &str = " ends in the middle: was kubectl interrupted? dump again";

/// Some programs write a byte order mark before text.
const BYTE_ORDER_MARK: &[u8] = "\u{FEFF}".as_bytes();

/// A file that is read piece by piece. A line of `---` or `...`, alone or before white space, ends a document.
pub(super) struct Source<'f, R> {
    reader: BufReader<R>,
    pub file: &'f str,
    limits: Limits,
    progress: &'f Progress,
    /// The present piece: a line, or a part of it.
    piece: Vec<u8>,
    /// How much of the piece was handed out.
    at: usize,
    begins_line: bool,
    /// The first bytes of a character that goes on in the next piece.
    split: Vec<u8>,
    next: Option<Vec<u8>>,
    is_read: bool,
    /// True if nothing but white space was read.
    pub is_blank: bool,
    /// The bytes that were read.
    pub size: u64,
    /// Why it cannot be read on.
    pub failure: Option<InputError>,
}

#[derive(Default)]
pub(super) struct Progress {
    /// The line breaks before the present piece.
    lines: Cell<usize>,
    /// The bytes that were read since the last object.
    bytes: Cell<usize>,
    /// The last line that was read, from 1.
    last_line: Cell<usize>,
    /// True once the file has ended without a line break.
    pub is_cut: Cell<bool>,
}

impl Progress {
    /// The present line, from 1.
    pub fn line(&self) -> usize {
        self.lines.get() + 1
    }

    /// The last line that was read, from 1.
    pub fn last_line(&self) -> usize {
        self.last_line.get().max(1)
    }

    pub fn begin_object(&self) {
        self.bytes.set(0);
    }
}

impl<'f, R: Read> Source<'f, R> {
    pub fn new(reader: R, file: &'f str, limits: Limits, progress: &'f Progress) -> Self {
        Self {
            reader: BufReader::with_capacity(256 * 1024, reader),
            file,
            limits,
            progress,
            piece: Vec::new(),
            at: 0,
            begins_line: true,
            split: Vec::new(),
            next: Some(Vec::new()),
            is_read: false,
            is_blank: true,
            size: 0,
            failure: None,
        }
    }

    pub fn next_document(&mut self) -> bool {
        let Some(first) = self.next.take() else {
            return false;
        };
        self.piece = first;
        self.at = 0;
        self.progress.begin_object();
        true
    }

    /// The first byte of the document's content; `None` if it has only comments and directives.
    pub fn first_byte(&mut self) -> Result<Option<u8>, InputError> {
        let mut in_comment = false;
        loop {
            let first = self.piece.trim_ascii_start().first().copied();
            in_comment |= matches!(first, Some(b'#' | b'%'));
            if let Some(first) = first.filter(|_| !in_comment) {
                return Ok(Some(first));
            }
            in_comment &= !self.piece.ends_with(b"\n");
            self.fill()?;
            self.progress.begin_object();
            if self.piece.is_empty() {
                return Ok(None);
            }
        }
    }

    pub fn place(&self) -> FilePlace<'f> {
        FilePlace {
            file: self.file,
            line: self.progress.line(),
        }
    }

    /// Reads the next piece: empty at the end of the document.
    fn fill(&mut self) -> Result<(), InputError> {
        if !self.piece.is_empty() {
            self.begins_line = self.piece.ends_with(b"\n");
            self.progress
                .lines
                .update(|lines| lines + usize::from(self.begins_line));
        }
        self.at = 0;
        self.piece.clear();
        if self.next.is_some() || self.is_read {
            return Ok(());
        }
        self.piece.append(&mut self.split);
        let mut part = self.reader.by_ref().take(PIECE);
        let read = part.read_until(b'\n', &mut self.piece);
        let read = read.map_err(|cause| self.place().unread(cause))?;
        if self.size == 0 && (self.piece.starts_with(&[0xFF, 0xFE]) || self.piece.starts_with(&[0xFE, 0xFF]))
        {
            return Err(self.place().content(
                ":1 is not UTF-8 text, but UTF-16, as PowerShell's `>` writes it: use `| Out-File -Encoding utf8`",
            ));
        }
        self.size += read as u64;
        self.is_read = (read as u64) < PIECE && !self.piece.ends_with(b"\n");
        self.is_blank &= self.piece.trim_ascii().is_empty();
        self.check_text()?;
        if self.begins_line {
            while self.piece.starts_with(BYTE_ORDER_MARK) {
                self.piece.drain(..BYTE_ORDER_MARK.len());
            }
            if let Some(rest) = self.after_mark() {
                self.next = Some(rest);
                self.piece.clear();
            }
        }
        let is_behind = self.begins_line && self.piece.is_empty();
        if !is_behind {
            self.progress.last_line.set(self.progress.line());
        }
        self.progress.is_cut.set(self.is_read && !is_behind);
        self.progress.bytes.update(|bytes| bytes + self.piece.len());
        if self.progress.bytes.get() > self.limits.object {
            return Err(self.place().too_large(LimitError::Object(self.limits.object)));
        }
        Ok(())
    }

    /// Checks that the piece is UTF-8, and cuts off a character that goes on.
    fn check_text(&mut self) -> Result<(), InputError> {
        let Err(error) = str::from_utf8(&self.piece) else {
            return Ok(());
        };
        let valid = error.valid_up_to();
        if error.error_len().is_some() {
            let flaw = " is not UTF-8 text: is this a dump of kubectl?";
            return Err(self.place().content(flaw));
        }
        if self.is_read {
            return Err(self.place().content(CUT_SHORT));
        }
        self.split = self.piece.split_off(valid);
        Ok(())
    }

    /// The rest of a line that ends the document, with white space in place of the mark.
    fn after_mark(&self) -> Option<Vec<u8>> {
        let (mark, rest) = self.piece.split_at_checked(3)?;
        let is_mark = matches!(mark, b"---" | b"...") && rest.first().is_none_or(u8::is_ascii_whitespace);
        is_mark.then(|| [b"   ", rest].concat())
    }
}

impl<R: Read> Read for Source<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.at == self.piece.len()
            && self.failure.is_none()
            && let Err(why) = self.fill()
        {
            self.failure = Some(why);
        }
        if self.failure.is_some() {
            return Err(io::Error::other("the file cannot be read on"));
        }
        let read = (&self.piece[self.at..]).read(into)?;
        self.at += read;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The documents of a text, each with the line of its first content.
    fn documents(text: &str) -> Vec<(usize, String)> {
        let progress = Progress::default();
        let mut source = Source::new(text.as_bytes(), "x", Limits::default(), &progress);
        let mut documents = Vec::new();
        while source.next_document() {
            if source.first_byte().expect("reads").is_some() {
                let (line, mut document) = (progress.line(), String::new());
                source.read_to_string(&mut document).expect("reads");
                documents.push((line, document));
            }
        }
        documents
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
        for length in [PIECE as usize - 3, PIECE as usize, 5000] {
            let line = "é".repeat(length) + "---\n";
            let twice = documents(&format!("{line}---\n{line}"));
            assert_eq!(twice, [(1, line.clone()), (3, line)]);
        }
        let comment = format!("# {}\na", "x".repeat(5000));
        assert_eq!(documents(&comment), [(2, "a".to_owned())]);
    }
}
