//! Cuts a file into stretches that are read one by one: the items of lists, and what stands around them.

use std::{
    io::{self, Read},
    mem,
    ops::{ControlFlow, Range},
};

use super::{
    DumpError,
    documents::{BYTE_ORDER_MARK, Documents, Next},
    item::CutOut,
    lines,
    text::{ENDS_IN_THE_MIDDLE, is_blank},
};
use crate::{
    LimitError, Limits,
    json_list::{CutError, ListCutter, Part, line_breaks},
    open::exceeded,
};

/// From so many bytes on, stretches are handed over.
const BATCH: usize = 256 * 1024;
/// From so many stretches on, they are handed over, however small they are.
const MANY: usize = 1024;

/// How a stretch is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Json,
    Yaml,
}

/// Several stretches, and their text.
#[derive(Debug, Default)]
pub(super) struct Batch {
    text: Vec<u8>,
    stretches: Vec<(What, usize, Range<usize>)>,
}

/// What a stretch holds.
#[derive(Debug)]
pub(super) enum What {
    /// A whole document, or value.
    Whole(Language),
    /// What stands before the items of a JSON list.
    Opening,
    /// An item of the present list.
    Item(Language),
    /// The list without its items, which it follows.
    Around(Language, CutOut),
    /// Nothing that can be read: the rest of the document is lost.
    Lost(DumpError),
}

impl Batch {
    /// The stretches: what each holds, the line in which it begins, and its text.
    pub fn into_stretches(
        self,
        mut each: impl FnMut(What, usize, &[u8]) -> Result<(), DumpError>,
    ) -> Result<(), DumpError> {
        let text = self.text;
        self.stretches
            .into_iter()
            .try_for_each(|(what, line, range)| each(what, line, &text[range]))
    }

    fn push(&mut self, what: What, line: usize, text: &[u8]) {
        let start = self.text.len();
        self.text.extend_from_slice(text);
        self.stretches.push((what, line, start..self.text.len()));
    }
}

/// Takes over what was cut, and may break off.
pub(super) type Deliver<'d> = dyn FnMut(Batch) -> ControlFlow<()> + 'd;

/// What ends a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The mark of the next one.
    Document,
    /// The end of the file.
    File,
    /// Nobody wants more.
    Stopped,
}

impl End {
    fn of(next: &Next<'_>) -> Self {
        if *next == Next::Mark {
            End::Document
        } else {
            End::File
        }
    }
}

/// A file that is being cut.
pub(super) struct Cutter<'f, R> {
    documents: Documents<R>,
    file: &'f str,
    limits: Limits,
    batch: Batch,
    /// The number of stretches and documents so far.
    count: usize,
    is_blank: bool,
}

impl<'f, R: Read> Cutter<'f, R> {
    /// Begins with a file, and reads its first piece.
    ///
    /// # Errors
    /// When it cannot be read, or is UTF-16.
    pub fn new(reader: R, file: &'f str, limits: Limits) -> Result<Self, DumpError> {
        let documents = Documents::new(reader).map_err(|cause| unread(file, 1, cause))?;
        if documents.head().starts_with(&[0xFF, 0xFE]) || documents.head().starts_with(&[0xFE, 0xFF]) {
            return Err(DumpError::Encoding {
                file: file.to_owned(),
                line: 1,
                utf16: true,
            });
        }
        Ok(Self {
            documents,
            file,
            limits,
            batch: Batch::default(),
            count: 0,
            is_blank: true,
        })
    }

    /// Returns `true` if the file is so small that all of it was read by now.
    pub fn is_read(&self) -> bool {
        self.documents.is_read()
    }

    /// Returns `true` if nothing but white space was found.
    pub fn is_blank(&self) -> bool {
        self.is_blank
    }

    /// The number of bytes that were read.
    pub fn size(&self) -> u64 {
        self.documents.size()
    }

    /// Cuts the file to its end, or until `deliver` breaks off.
    ///
    /// # Errors
    /// When it cannot be read on, or exceeds a limit.
    pub fn cut(&mut self, deliver: &mut Deliver<'_>) -> Result<(), DumpError> {
        loop {
            let end = match self.first_byte()? {
                Ok(b'{' | b'[') => self.json(deliver)?,
                Ok(_) => self.yaml(deliver)?,
                Err(end) => end,
            };
            self.check_count(1)?;
            if end == End::File || end == End::Stopped {
                self.deliver(deliver);
                return Ok(());
            }
        }
    }

    /// Looks for the first byte of the document that is no white space, and goes back to the beginning of its line.
    /// The inner error is the end of a document without any.
    fn first_byte(&mut self) -> Result<Result<u8, End>, DumpError> {
        loop {
            let piece = match self.documents.next() {
                Ok(Next::Piece(piece)) => piece,
                Ok(Next::Mark) => {
                    self.is_blank = false;
                    return Ok(Err(End::Document));
                }
                Ok(Next::End) => return Ok(Err(End::File)),
                Err(cause) => return Err(self.unread(cause)),
            };
            let (mut at, mut line) = (0, 0);
            while let Some(byte) = piece.get(at).copied() {
                if piece[at..].starts_with(BYTE_ORDER_MARK) {
                    at += BYTE_ORDER_MARK.len();
                    line = at;
                } else if byte == b'\n' {
                    at += 1;
                    line = at;
                } else if byte.is_ascii_whitespace() {
                    at += 1;
                } else {
                    let back = piece.len() - line;
                    self.documents.hand_back(back);
                    self.is_blank = false;
                    return Ok(Ok(byte));
                }
            }
        }
    }

    /// Cuts a document of JSON values in a row. What is no JSON loses the rest of the document.
    fn json(&mut self, deliver: &mut Deliver<'_>) -> Result<End, DumpError> {
        let mut cutter = ListCutter::new(self.limits.object);
        // The line in which the value begins, and the lines up to its items.
        let (mut first, mut opening) = (self.documents.line(), None);
        loop {
            let line = self.documents.line();
            let piece = match self.documents.next() {
                Ok(Next::Piece(piece)) => piece,
                Ok(end @ (Next::Mark | Next::End)) => {
                    let end = End::of(&end);
                    if cutter.has_begun() {
                        let line = self.documents.line();
                        self.lose("JSON", line, ENDS_IN_THE_MIDDLE);
                    }
                    return Ok(end);
                }
                Err(cause) => return Err(self.unread(cause)),
            };
            let (batch, size) = (&mut self.batch, piece.len());
            let stretches = batch.stretches.len();
            let fed = cutter.feed(piece, |part, lines| match part {
                Part::Opening(text) => {
                    opening = Some(line_breaks(text));
                    batch.push(What::Opening, first, text);
                }
                Part::Item(text) => batch.push(What::Item(Language::Json), first + lines, text),
            });
            let added = self.batch.stretches.len() - stretches;
            let flawed = line + line_breaks(&piece[..cutter.looked_at()]);
            match fed {
                Ok(taken) => self.documents.hand_back(size - taken),
                Err(CutError::TooLarge) => {
                    return Err(
                        self.too_large(first + cutter.begun(), LimitError::Object(self.limits.object))
                    );
                }
                Err(CutError::Syntax(expected)) => {
                    self.lose("JSON", flawed, &format!("expected {expected}"));
                    return self.skip();
                }
            }
            self.check_count(added)?;
            if let Some(frame) = cutter.frame() {
                let what = match opening.take() {
                    Some(after) => What::Around(
                        Language::Json,
                        CutOut {
                            after,
                            lines: cutter.lines_of_items(),
                        },
                    ),
                    None => What::Whole(Language::Json),
                };
                self.batch.push(what, first, frame);
                self.check_count(1)?;
                cutter.restart();
                first = self.documents.line();
            }
            if self.is_full() && self.deliver(deliver) {
                return Ok(End::Stopped);
            }
        }
    }

    /// Cuts a document of YAML.
    fn yaml(&mut self, deliver: &mut Deliver<'_>) -> Result<End, DumpError> {
        let mut cutter = lines::Cutter::new(self.limits.object);
        let first = self.documents.line();
        let item = |batch: &mut Batch, text: &[u8], lines: usize| {
            batch.push(What::Item(Language::Yaml), first + lines, text);
        };
        let end = loop {
            let piece = match self.documents.next() {
                Ok(Next::Piece(piece)) => piece,
                Ok(end) => break End::of(&end),
                Err(cause) => return Err(self.unread(cause)),
            };
            let stretches = self.batch.stretches.len();
            let fed = cutter.feed(piece, |text, lines| item(&mut self.batch, text, lines));
            let added = self.batch.stretches.len() - stretches;
            if fed.is_err() {
                let line = first + cutter.begun();
                return Err(if cutter.is_text() {
                    self.too_large(line, LimitError::Object(self.limits.object))
                } else {
                    DumpError::Encoding {
                        file: self.file.to_owned(),
                        line,
                        utf16: false,
                    }
                });
            }
            self.check_count(added)?;
            if self.is_full() && self.deliver(deliver) {
                return Ok(End::Stopped);
            }
        };
        let (frame, cut) = cutter.finish(|text, lines| item(&mut self.batch, text, lines));
        if cut.lines > 0 {
            self.batch.push(What::Around(Language::Yaml, cut), first, frame);
        } else if !str::from_utf8(frame).is_ok_and(is_blank) {
            self.batch.push(What::Whole(Language::Yaml), first, frame);
        }
        Ok(end)
    }

    fn skip(&mut self) -> Result<End, DumpError> {
        let is_last = !self.documents.skip().map_err(|cause| self.unread(cause))?;
        Ok(if is_last { End::File } else { End::Document })
    }

    /// Notes that the rest of a document is lost.
    fn lose(&mut self, language: &'static str, line: usize, message: &str) {
        let error = DumpError::Syntax {
            file: self.file.to_owned(),
            line,
            language,
            message: message.to_owned(),
        };
        self.batch.push(What::Lost(error), line, b"");
    }

    fn is_full(&self) -> bool {
        self.batch.text.len() >= BATCH || self.batch.stretches.len() >= MANY
    }

    /// Hands over what was cut. Returns `true` if no more is wanted.
    fn deliver(&mut self, deliver: &mut Deliver<'_>) -> bool {
        deliver(mem::take(&mut self.batch)).is_break()
    }

    fn check_count(&mut self, more: usize) -> Result<(), DumpError> {
        self.count += more;
        if self.count > self.limits.count {
            let line = self.documents.line();
            return Err(self.too_large(line, LimitError::Count(self.limits.count)));
        }
        Ok(())
    }

    fn too_large(&self, line: usize, limit: LimitError) -> DumpError {
        DumpError::TooLarge {
            file: self.file.to_owned(),
            line,
            limit,
        }
    }

    fn unread(&mut self, cause: io::Error) -> DumpError {
        unread(self.file, self.documents.line(), cause)
    }
}

fn unread(file: &str, line: usize, cause: io::Error) -> DumpError {
    let file = file.to_owned();
    match exceeded(&cause) {
        Some(limit) => DumpError::TooLarge { file, line, limit },
        None => DumpError::Read { file, cause },
    }
}
