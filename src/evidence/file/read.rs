//! Reads the evidence file.

use std::{
    io::{self, BufRead, Read},
    path::Path,
};

use serde::Deserialize;

use super::{FileError, gather::Gathered, line::Line};
use crate::{
    FORMAT, Input, LimitError, Limits,
    read::files::{exceeded, open},
};

/// Reads an evidence file within the usual limits. Its content decides whether it is packed.
///
/// # Errors
/// When it cannot be read, is not an evidence file, exceeds a limit, or has a malformed line.
pub fn read(path: &Path) -> Result<Input, FileError> {
    let limits = Limits::default();
    read_bounded(open(path, &limits)?, &limits)
}

/// Reads an unpacked evidence file line by line, within the usual limits. A truncated one is read up to the cut, with a
/// [`Gap`](crate::Gap) for each kind of evidence that may be incomplete.
///
/// # Errors
/// When it cannot be read, is not an evidence file, exceeds a limit, or has a malformed line. A malformed object is no
/// error but an [`Unreadable`](crate::Unreadable).
pub fn read_from(reader: impl BufRead) -> Result<Input, FileError> {
    read_bounded(reader, &Limits::default())
}

/// Does the same within those limits. The reader bounds the whole and the ratio.
pub(crate) fn read_bounded(mut reader: impl BufRead, limits: &Limits) -> Result<Input, FileError> {
    let mut buffer = Vec::new();
    let mut gathered = Gathered::default();
    let mut whole = 0;
    let too_large = |line, limit| Err(FileError::TooLarge { line, limit });
    loop {
        let number = whole + 1;
        let line = match next_line(&mut reader, &mut buffer, limits.object) {
            Ok(Some(line)) => line,
            Ok(None) => break,
            Err(cause) => match exceeded(&cause) {
                Some(limit) => return too_large(number, limit),
                None => return Err(cause.into()),
            },
        };
        if line.text.len() > limits.object {
            return too_large(number, LimitError::Object(limits.object));
        }
        if number > limits.count {
            return too_large(number, LimitError::Count(limits.count));
        }
        if number == 1 {
            check_format(line.text)?;
        }
        if line.text.trim_ascii().is_empty() {
            whole = number;
            continue;
        }
        let broken = |flaw| FileError::Line { line: number, flaw };
        match Line::parse(line.text) {
            Ok(line) => gathered.take(line, number).map_err(broken)?,
            // The writing run, or a copy of the file, ended in the middle of a line.
            Err(_) if line.cut && number > 1 => break,
            Err(flaw) => return Err(broken(flaw)),
        }
        if gathered.unreadable() > limits.unreadable {
            return too_large(number, LimitError::Unreadable(limits.unreadable));
        }
        whole = number;
    }
    match whole {
        0 => Err(FileError::NoHeader),
        _ => Ok(gathered.finish(whole)),
    }
}

struct RawLine<'a> {
    text: &'a [u8],
    /// True if the file ends before the line does.
    cut: bool,
}

/// The next line without its end; `None` at the end of the file. A line that is longer than `longest` is not read to
/// its end.
fn next_line<'a>(
    reader: &mut impl BufRead,
    buffer: &'a mut Vec<u8>,
    longest: usize,
) -> io::Result<Option<RawLine<'a>>> {
    buffer.clear();
    // With one byte more, and the line break.
    let most = (longest as u64).saturating_add(2);
    match reader.by_ref().take(most).read_until(b'\n', buffer) {
        Ok(_) => {}
        // A truncated packed file: the buffer holds what could be unpacked.
        Err(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => {}
        Err(cause) => return Err(cause),
    }
    if buffer.is_empty() {
        return Ok(None);
    }
    let cut = buffer.pop_if(|byte| *byte == b'\n').is_none();
    Ok(Some(RawLine { text: buffer, cut }))
}

/// Checks the version first: the header of another version may have any shape.
fn check_format(line: &[u8]) -> Result<(), FileError> {
    #[derive(Deserialize)]
    struct Head {
        header: Format,
    }
    #[derive(Deserialize)]
    struct Format {
        format: String,
    }
    let head: Head = serde_json::from_slice(line).map_err(|_| FileError::NoHeader)?;
    let found = head.header.format;
    if found == FORMAT {
        Ok(())
    } else {
        Err(FileError::Format { found })
    }
}

/// How every evidence file begins, white space aside: with the header and its format.
const OPENING: &str = r#"{"header":{"format":"conformance.clusterprofile/evidence/"#;

/// Reads enough to recognize an evidence file; returns what it read, and whether it is one.
pub(crate) fn peek(reader: &mut impl Read) -> io::Result<(Vec<u8>, bool)> {
    let mut head = Vec::new();
    reader.take(256).read_to_end(&mut head)?;
    let bare: Vec<u8> = head
        .iter()
        .copied()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect();
    let is_evidence = bare.starts_with(OPENING.as_bytes());
    Ok((head, is_evidence))
}
