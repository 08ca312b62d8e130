//! Cuts a file into stretches that are read one by one: the items of lists, and what stands around them.

use std::{
    io::{self, Read},
    mem,
    ops::{ControlFlow, Range},
};

use super::{
    At, DumpError,
    documents::{BYTE_ORDER_MARK, Documents, Next},
    lines,
    place::CutOut,
    text::is_blank,
};
use crate::{
    LimitError, Limits,
    json_list::{CutError, ListCutter, Part, Position},
    read::open::exceeded,
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
    stretches: Vec<(What, Position, Range<usize>)>,
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
}

impl Batch {
    /// The stretches: what each holds, where it begins, and its text.
    pub fn into_stretches(
        self,
        mut each: impl FnMut(What, Position, &[u8]) -> Result<(), DumpError>,
    ) -> Result<(), DumpError> {
        let text = self.text;
        self.stretches
            .into_iter()
            .try_for_each(|(what, begins, range)| each(what, begins, &text[range]))
    }

    fn push(&mut self, what: What, begins: Position, text: &[u8]) {
        let start = self.text.len();
        self.text.extend_from_slice(text);
        self.stretches.push((what, begins, start..self.text.len()));
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
    /// No more is wanted.
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
        let documents = Documents::new(reader).map_err(|cause| unread(file, Position::default(), cause))?;
        if documents.head().starts_with(&[0xFF, 0xFE]) || documents.head().starts_with(&[0xFE, 0xFF]) {
            return Err(DumpError::Encoding {
                at: At::new(file, Position::default()),
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
    /// When it cannot be read on, exceeds a limit, or cannot be cut on.
    pub fn cut(&mut self, deliver: &mut Deliver<'_>) -> Result<(), DumpError> {
        let cut = self.cut_documents(deliver);
        // Also before a flaw, as there may be an earlier one.
        if !matches!(cut, Ok(End::Stopped)) {
            self.deliver(deliver);
        }
        cut.map(drop)
    }

    fn cut_documents(&mut self, deliver: &mut Deliver<'_>) -> Result<End, DumpError> {
        loop {
            let end = match self.first_byte()? {
                Ok(b'{' | b'[') => self.json(deliver)?,
                Ok(_) => self.yaml(deliver)?,
                Err(end) => end,
            };
            self.check_count(1)?;
            if end != End::Document {
                return Ok(end);
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

    /// Cuts a document of JSON values in a row.
    fn json(&mut self, deliver: &mut Deliver<'_>) -> Result<End, DumpError> {
        let mut begins = self.documents.position();
        let mut cutter = ListCutter::new(self.limits.object).beginning_at(begins);
        // The text before the items, in bytes.
        let mut opening = None;
        loop {
            let position = self.documents.position();
            let piece = match self.documents.next() {
                Ok(Next::Piece(piece)) => piece,
                Ok(Next::Mark | Next::End) if cutter.has_begun() => {
                    return Err(DumpError::cut_short(self.file, position));
                }
                Ok(end) => return Ok(End::of(&end)),
                Err(cause) => return Err(self.unread(cause)),
            };
            let (batch, size) = (&mut self.batch, piece.len());
            let stretches = batch.stretches.len();
            let fed = cutter.feed(piece, |part, at| match part {
                Part::Opening(text) => {
                    opening = Some(text.len());
                    batch.push(What::Opening, at, text);
                }
                Part::Item(text) => batch.push(What::Item(Language::Json), at, text),
            });
            let added = self.batch.stretches.len() - stretches;
            match fed {
                Ok(taken) => self.documents.hand_back(size - taken),
                Err(CutError::TooLarge) => {
                    let limit = LimitError::Object(self.limits.object);
                    return Err(self.too_large(cutter.begun(), limit));
                }
                Err(CutError::Syntax(expected)) => {
                    let flaw = At::new(self.file, position.after(&piece[..cutter.looked_at()]));
                    return Err(DumpError::syntax(flaw, "JSON", format!("expected {expected}")));
                }
            }
            self.check_count(added)?;
            if let Some(frame) = cutter.frame() {
                let what = match opening.take() {
                    Some(from) => {
                        let behind = cutter.behind_items();
                        What::Around(Language::Json, CutOut { from, behind })
                    }
                    None => What::Whole(Language::Json),
                };
                self.batch.push(what, begins, frame);
                self.check_count(1)?;
                begins = self.documents.position();
                cutter.restart(begins);
            }
            if self.is_full() && self.deliver(deliver) {
                return Ok(End::Stopped);
            }
        }
    }

    /// Cuts a document of YAML.
    fn yaml(&mut self, deliver: &mut Deliver<'_>) -> Result<End, DumpError> {
        let begins = self.documents.position();
        let mut cutter = lines::Cutter::new(self.limits.object, begins);
        let item = |batch: &mut Batch, text: &[u8], at: Position| {
            batch.push(What::Item(Language::Yaml), at, text);
        };
        let end = loop {
            let piece = match self.documents.next() {
                Ok(Next::Piece(piece)) => piece,
                Ok(end) => break End::of(&end),
                Err(cause) => return Err(self.unread(cause)),
            };
            let stretches = self.batch.stretches.len();
            let fed = cutter.feed(piece, |text, at| item(&mut self.batch, text, at));
            let added = self.batch.stretches.len() - stretches;
            if let Err(error) = fed {
                return Err(self.uncut(&cutter, error));
            }
            self.check_count(added)?;
            if self.is_full() && self.deliver(deliver) {
                return Ok(End::Stopped);
            }
        };
        match cutter.finish(|text, at| item(&mut self.batch, text, at)) {
            Ok((frame, Some(cut))) => self.batch.push(What::Around(Language::Yaml, cut), begins, frame),
            Ok((frame, None)) if str::from_utf8(frame).is_ok_and(is_blank) => {}
            Ok((frame, None)) => self.batch.push(What::Whole(Language::Yaml), begins, frame),
            Err(error) => return Err(self.uncut(&cutter, error)),
        }
        Ok(end)
    }

    /// The error for YAML that cannot be cut on.
    fn uncut(&self, cutter: &lines::Cutter, error: CutError) -> DumpError {
        let begun = cutter.begun();
        let at = At::new(self.file, begun);
        match error {
            CutError::Syntax(expected) => DumpError::syntax(at, "YAML", format!("expected {expected}")),
            CutError::TooLarge if cutter.is_text() => {
                self.too_large(begun, LimitError::Object(self.limits.object))
            }
            CutError::TooLarge => DumpError::Encoding { at, utf16: false },
        }
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
            let at = self.documents.position();
            return Err(self.too_large(at, LimitError::Count(self.limits.count)));
        }
        Ok(())
    }

    fn too_large(&self, at: Position, limit: LimitError) -> DumpError {
        DumpError::TooLarge {
            file: self.file.to_owned(),
            line: at.line + 1,
            limit,
        }
    }

    fn unread(&mut self, cause: io::Error) -> DumpError {
        unread(self.file, self.documents.position(), cause)
    }
}

fn unread(file: &str, at: Position, cause: io::Error) -> DumpError {
    let file = file.to_owned();
    match exceeded(&cause) {
        Some(limit) => DumpError::TooLarge {
            file,
            line: at.line + 1,
            limit,
        },
        None => DumpError::Read { file, cause },
    }
}
