//! Where something stands in a file.

use std::fmt;

use super::{At, DumpError};
use crate::json_list::Position;

/// A stretch of a file.
#[derive(Clone, Copy)]
pub(super) struct Stretch<'a> {
    pub file: &'a str,
    pub begins: Position,
    pub text: &'a [u8],
    /// What was cut out of its text.
    pub cut: Option<CutOut>,
}

/// Where the items of a list were cut out of its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CutOut {
    /// Where they stood in what is left of the text, in bytes.
    pub from: usize,
    /// The place behind them, in the file.
    pub behind: Position,
}

/// A part of a stretch, or all of it.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    stretch: Stretch<'a>,
    /// The text of the stretch.
    text: &'a str,
    start: usize,
    end: usize,
}

impl<'a> Stretch<'a> {
    /// The place of all of it.
    ///
    /// # Errors
    /// When it is not UTF-8.
    pub fn place(self) -> Result<Place<'a>, DumpError> {
        match str::from_utf8(self.text) {
            Ok(text) => Ok(Place {
                stretch: self,
                text,
                start: 0,
                end: text.len(),
            }),
            Err(error) => {
                let at = self.position(error.valid_up_to());
                // In the middle of a character.
                let is_cut_short = error.error_len().is_none();
                Err(if is_cut_short {
                    DumpError::cut_short(self.file, at)
                } else {
                    DumpError::Encoding {
                        at: At::new(self.file, at),
                        utf16: false,
                    }
                })
            }
        }
    }

    /// The place in the file of an offset in the text.
    fn position(&self, offset: usize) -> Position {
        match self.cut {
            Some(cut) if offset >= cut.from => cut.behind.after(&self.text[cut.from..offset]),
            _ => self.begins.after(&self.text[..offset]),
        }
    }
}

impl<'a> Place<'a> {
    /// The file.
    pub fn file(&self) -> &'a str {
        self.stretch.file
    }

    /// The text.
    pub fn document(&self) -> &'a str {
        &self.text[self.start..self.end]
    }

    /// The line of its first content, from 1.
    pub fn line(&self) -> usize {
        let document = self.document();
        self.position(document.len() - document.trim_start().len()).line + 1
    }

    /// Where a line of it begins, in bytes. A parser counts them from 1.
    pub fn line_begins(&self, line: usize) -> usize {
        let lines = self.document().split_inclusive('\n');
        lines.take(line.saturating_sub(1)).map(str::len).sum()
    }

    /// The place in the file of an offset in it.
    fn position(&self, offset: usize) -> Position {
        self.stretch.position(self.start + offset)
    }

    /// The place of a part of it.
    pub fn of(&self, part: &'a str) -> Self {
        // Both are parts of one text, so the difference of their addresses is the offset.
        let start = part.as_ptr() as usize - self.text.as_ptr() as usize;
        Self {
            start,
            end: start + part.len(),
            ..*self
        }
    }

    /// The place of an offset, as errors say it.
    pub fn at(&self, offset: usize) -> At {
        At::new(self.file(), self.position(offset))
    }

    /// The error for a text that ends in the middle.
    pub fn cut_short(&self) -> DumpError {
        DumpError::cut_short(self.file(), self.position(self.document().len()))
    }

    /// The error for something other than an object.
    pub fn no_object(&self) -> DumpError {
        DumpError::NoObject {
            file: self.file().to_owned(),
            line: self.line(),
        }
    }

    /// The error for a malformed list.
    pub fn no_list(&self) -> DumpError {
        DumpError::NoList {
            file: self.file().to_owned(),
            line: self.line(),
        }
    }

    /// The error for what follows the items of a list, and belongs to no list.
    pub fn no_frame(&self) -> DumpError {
        let items = self.stretch.cut.map_or(0, |cut| cut.from);
        DumpError::syntax(
            self.at(items),
            "YAML",
            "expected another item, or a key beside `items`",
        )
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file(), self.line())
    }
}
