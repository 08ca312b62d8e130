//! Splits a stream into documents, piece by piece.

use std::{
    io::{self, Read},
    ops::Range,
};

use crate::json_list::Position;

/// How much is read at once.
const PIECE: usize = 256 * 1024;

/// Some programs put this before text: a byte order mark.
pub(super) const BYTE_ORDER_MARK: &[u8] = "\u{FEFF}".as_bytes();

/// What begins a document, at the beginning of a line and before white space.
const MARK: &[u8] = b"---";

/// The most bytes that the lookout for a mark may need: a line break, byte order marks, the mark and what follows it.
const LOOKOUT: usize = 16;

/// A stream of documents.
///
/// A line of `---`, alone or before white space, always begins a document: YAML forbids it in scalars, and JSON strings
/// have no line breaks.
pub(super) struct Documents<R> {
    reader: R,
    /// What was read.
    window: Vec<u8>,
    /// Where the part begins that was not yet handed out.
    start: usize,
    /// Up to here there is no mark.
    clear: usize,
    is_read: bool,
    /// The bytes that were read.
    size: u64,
    at_line_start: bool,
    /// A place in the stream, and where it stands in the window: nowhere behind `start`.
    known: (Position, usize),
}

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next<'a> {
    /// More of the document; never empty.
    Piece(&'a [u8]),
    /// The end of the document; another one follows.
    Mark,
    /// The end of the last document.
    End,
}

impl<R: Read> Documents<R> {
    /// Begins with the first document, which may be empty, and reads the first piece.
    pub fn new(reader: R) -> io::Result<Self> {
        let mut documents = Self {
            reader,
            window: Vec::new(),
            start: 0,
            clear: 0,
            is_read: false,
            size: 0,
            at_line_start: true,
            known: (Position::default(), 0),
        };
        documents.fill()?;
        Ok(documents)
    }

    /// The first bytes of the stream.
    pub fn head(&self) -> &[u8] {
        &self.window
    }

    /// Returns `true` if all of the stream was read, so that nothing more can fail.
    pub fn is_read(&self) -> bool {
        self.is_read
    }

    /// The number of bytes that were read.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The place of what comes next.
    pub fn position(&mut self) -> Position {
        let (position, at) = self.known;
        let position = position.after(&self.window[at..self.start]);
        self.known = (position, self.start);
        position
    }

    /// Returns what comes next.
    ///
    /// # Errors
    /// When the reader fails.
    pub fn next(&mut self) -> io::Result<Next<'_>> {
        loop {
            if self.start < self.clear {
                let piece = self.start..self.clear;
                self.start = piece.end;
                return Ok(Next::Piece(&self.window[piece]));
            }
            let rest = &self.window[self.start..];
            let mark = self.mark_in(rest);
            let end = match &mark {
                Some(mark) => mark.start,
                None if self.is_read => rest.len(),
                // A mark may begin here and go on in the next piece.
                None => before_last_lines(rest),
            };
            if end > 0 {
                let piece = self.start..self.start + end;
                self.clear = piece.end;
                self.at_line_start = mark.is_some() || self.window[piece.end - 1] == b'\n';
                self.start = piece.end;
                return Ok(Next::Piece(&self.window[piece]));
            }
            if let Some(mark) = mark {
                self.start += mark.end;
                self.at_line_start = false;
                return Ok(Next::Mark);
            }
            if self.is_read {
                return Ok(Next::End);
            }
            self.fill()?;
        }
    }

    /// Hands back the end of the last piece. Only before [`position`](Self::position) is asked for the place behind it.
    pub fn hand_back(&mut self, count: usize) {
        self.start -= count;
    }

    /// The next mark, with the byte order marks before it. A mark at the very end of the window counts once the stream has
    /// ended.
    fn mark_in(&self, rest: &[u8]) -> Option<Range<usize>> {
        let mut from = 0;
        loop {
            let dash = from + rest[from..].iter().position(|byte| *byte == b'-')?;
            let dashes = rest[dash..].iter().take_while(|byte| **byte == b'-').count();
            from = dash + dashes;
            if dashes != MARK.len() {
                continue;
            }
            // Concatenated files may have kept their byte order marks.
            let mut before = &rest[..dash];
            while let Some(shorter) = before.strip_suffix(BYTE_ORDER_MARK) {
                before = shorter;
            }
            let begins_line = before.last().map_or(self.at_line_start, |byte| *byte == b'\n');
            let is_mark = rest.get(from).map_or(self.is_read, u8::is_ascii_whitespace);
            if begins_line && is_mark {
                return Some(before.len()..from);
            }
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        self.known = (self.position(), 0);
        self.window.drain(..self.start);
        self.start = 0;
        self.clear = 0;
        let more = PIECE.max(LOOKOUT) as u64;
        let read = self.reader.by_ref().take(more).read_to_end(&mut self.window)?;
        self.size += read as u64;
        self.is_read = (read as u64) < more;
        Ok(())
    }
}

/// How much can be handed out while the next piece is unknown: all, or what stands before a line break near the end.
fn before_last_lines(text: &[u8]) -> usize {
    let tail = text.len().saturating_sub(LOOKOUT);
    let line_break = text[tail..].iter().position(|byte| *byte == b'\n');
    line_break.map_or(text.len(), |at| tail + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands out one byte at a time at the most.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.0.read(&mut into[..1])
        }
    }

    fn documents(text: &str) -> Vec<(usize, String)> {
        let mut stream = Documents::new(Slow(text.as_bytes())).expect("reads");
        let (mut all, mut document) = (Vec::new(), (stream.position().line, Vec::new()));
        loop {
            match stream.next().expect("reads") {
                Next::Piece(piece) => document.1.extend_from_slice(piece),
                Next::Mark => {
                    all.push(document);
                    document = (stream.position().line, Vec::new());
                }
                Next::End => break,
            }
        }
        all.push(document);
        let text = |(line, text)| (line, String::from_utf8(text).expect("text"));
        all.into_iter().map(text).collect()
    }

    #[test]
    fn only_a_mark_on_a_line_of_its_own_begins_a_document() {
        let told =
            |text: &str| -> Vec<String> { documents(text).into_iter().map(|(_, text)| text).collect() };
        assert_eq!(told("a\n---\nb"), ["a\n", "\nb"]);
        assert_eq!(told("---\na\n--- b\n---"), ["", "\na\n", " b\n", ""]);
        assert_eq!(told("a\n\u{FEFF}\u{FEFF}---\r\nb"), ["a\n", "\r\nb"]);
        for one in [
            "a ---\n",
            "a\n----\nb",
            "a\n---b",
            "a\n --- b",
            "a\n--\n-\n",
            "-----BEGIN---\n",
        ] {
            assert_eq!(told(one), [one]);
        }
        let lines: Vec<usize> = documents("a\nb\n---\nc\n---")
            .into_iter()
            .map(|(line, _)| line)
            .collect();
        assert_eq!(lines, [0, 2, 4]);
    }

    #[test]
    fn marks_are_found_at_the_border_of_pieces() {
        for before in PIECE - 20..PIECE + 5 {
            let first = "x".repeat(before);
            let text = format!("{first}\n\u{FEFF}---\ny");
            let [(0, document), (1, last)] = &documents(&text)[..] else {
                panic!("two documents with {before} bytes before the mark")
            };
            assert!(*document == format!("{first}\n") && last == "\ny", "{before}");
        }
    }

    #[test]
    fn what_is_handed_back_comes_again() {
        let mut stream = Documents::new(&b"a\nbc\n---\nd"[..]).expect("reads");
        assert_eq!(stream.next().expect("reads"), Next::Piece(b"a\nbc\n"));
        stream.hand_back(4);
        assert_eq!(stream.position(), Position { line: 0, column: 1 });
        assert_eq!(stream.next().expect("reads"), Next::Piece(b"\nbc\n"));
        assert_eq!(stream.position(), Position { line: 2, column: 0 });
        assert_eq!(stream.next().expect("reads"), Next::Mark);
        assert_eq!(stream.position(), Position { line: 2, column: 3 });
    }
}
