//! Reads the evidence file.

use std::io::{self, BufRead, Read};

use serde::Deserialize;

use super::{gather::GatheredEvidence, record::Line};
use crate::{FORMAT, Input, InputError, LimitError, Limits, read::input::FilePlace};

/// Reads an unpacked evidence file line by line. `name` is for messages. The reader bounds the whole and the ratio.
pub fn read_from(mut reader: impl BufRead, name: &str, limits: &Limits) -> Result<Input, InputError> {
    let mut buffer = Vec::new();
    let mut gathered = GatheredEvidence::default();
    let mut whole = 0;
    loop {
        let number = whole + 1;
        let place = FilePlace {
            file: name,
            line: number,
        };
        let line = next_line(&mut reader, &mut buffer, limits.object).map_err(|cause| place.unread(cause))?;
        let Some(line) = line else { break };
        if line.text.len() > limits.object {
            return Err(place.too_large(LimitError::Object(limits.object)));
        }
        if number > limits.count {
            return Err(place.too_large(LimitError::Count(limits.count)));
        }
        if number == 1 {
            check_format(line.text, place)?;
        }
        if line.text.trim_ascii().is_empty() {
            whole = number;
            continue;
        }
        let content_error = |error| place.content(format_args!(": {error}"));
        match Line::read(line.text) {
            Ok(line) => gathered.take(line, number).map_err(content_error)?,
            // The writing run, or a copy of the file, ended in the middle of a line.
            Err(_) if line.cut && number > 1 => break,
            Err(error) => return Err(content_error(error)),
        }
        if gathered.unreadable() > limits.unreadable {
            return Err(place.too_large(LimitError::Unreadable(limits.unreadable)));
        }
        whole = number;
    }
    match whole {
        0 => Err(no_header(FilePlace { file: name, line: 1 })),
        _ => Ok(gathered.finish(whole)),
    }
}

fn no_header(place: FilePlace<'_>) -> InputError {
    place.content(" is not the header of an evidence file")
}

struct RawLine<'a> {
    text: &'a [u8],
    cut: bool,
}

/// The next line, none at the end of the file. A line that is longer than `longest` is not read to its end.
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
fn check_format(line: &[u8], place: FilePlace<'_>) -> Result<(), InputError> {
    #[derive(Deserialize)]
    struct Head {
        header: Format,
    }
    #[derive(Deserialize)]
    struct Format {
        format: String,
    }
    let head: Head = serde_json::from_slice(line).map_err(|_| no_header(place))?;
    let format = head.header.format;
    if format == FORMAT {
        return Ok(());
    }
    Err(place.content(format_args!(
        ": the format is `{format}`, expected `{FORMAT}`: record it again, or judge it with the suite that wrote it"
    )))
}

/// How every evidence file begins, but for white space: with the header and its format.
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
