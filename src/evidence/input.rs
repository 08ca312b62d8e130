//! Input files of either kind: evidence files and kubectl dumps, told apart by what they hold.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Cursor, Read},
    path::Path,
};

use super::{
    Digester, Evidence,
    dump::{self, DumpError},
    file::{self, FileError},
};

/// Evidence that was read from a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Input {
    /// The evidence.
    pub evidence: Evidence,
    /// What a person should know of the reading, and no verdict depends on: what was ignored, and how often.
    pub notes: Vec<String>,
}

/// Why an input could not be read.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// It cannot be opened or read.
    #[error("failed to read {path}: {cause}")]
    Read {
        /// The path, as it was given.
        path: String,
        /// What the system says.
        cause: io::Error,
    },
    /// It is an evidence file that cannot be used.
    #[error("failed to read the evidence file {path}: {cause}")]
    File {
        /// The path, as it was given.
        path: String,
        /// What is wrong.
        cause: FileError,
    },
    /// It is a kubectl dump that cannot be used.
    #[error(transparent)]
    Dump(#[from] DumpError),
}

/// Reads an evidence file or a kubectl dump: a file, a directory (a dump: its `*.yaml`, `*.yml` and `*.json`, without
/// its subdirectories), or `-` for standard input. What it is, compression included, is told from the content, never
/// from the name.
///
/// # Errors
/// When there is nothing to read, or nothing that can be judged in it.
pub fn read_input(path: &Path, digester: &Digester) -> Result<Input, InputError> {
    if path.is_dir() {
        return Ok(dump::read_directory(path, digester)?);
    }
    let shown = path.display().to_string();
    let unread = |cause| InputError::Read {
        path: shown.clone(),
        cause,
    };
    let mut reader = open(path).map_err(unread)?;
    let (head, is_evidence) = peek(&mut reader).map_err(unread)?;
    let reader = Cursor::new(head).chain(reader);
    if is_evidence {
        file::read_from(reader).map_err(|cause| InputError::File {
            path: shown.clone(),
            cause,
        })
    } else {
        let name = match path.to_str() {
            Some("-") => "standard input".to_owned(),
            _ => shown.clone(),
        };
        Ok(dump::read_from(reader, &name, digester)?)
    }
}

/// Opens a file, or standard input for `-`; what zstd packed is unpacked.
pub(super) fn open(path: &Path) -> io::Result<Box<dyn BufRead>> {
    let plain: Box<dyn Read> = match path.to_str() {
        Some("-") => Box::new(io::stdin()),
        _ => Box::new(File::open(path)?),
    };
    unpacked(plain)
}

/// The first bytes of every zstd frame (RFC 8878, 3.1.1).
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// Unpacks what begins like a zstd frame.
fn unpacked(mut plain: Box<dyn Read>) -> io::Result<Box<dyn BufRead>> {
    let mut head = Vec::new();
    plain
        .by_ref()
        .take(ZSTD_MAGIC.len() as u64)
        .read_to_end(&mut head)?;
    let packed = head == ZSTD_MAGIC;
    let whole = Cursor::new(head).chain(plain);
    if packed {
        decoder(whole)
    } else {
        Ok(Box::new(BufReader::new(whole)))
    }
}

#[cfg(feature = "zstd")]
fn decoder(packed: impl Read + 'static) -> io::Result<Box<dyn BufRead>> {
    Ok(Box::new(BufReader::new(zstd::Decoder::new(packed)?)))
}

#[cfg(not(feature = "zstd"))]
fn decoder(_: impl Read) -> io::Result<Box<dyn BufRead>> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "it is packed with zstd, which this build cannot read: unpack it first",
    ))
}

/// Reads enough to tell an evidence file; gives back what was read.
fn peek(reader: &mut impl Read) -> io::Result<(Vec<u8>, bool)> {
    let mut head = Vec::new();
    reader.take(256).read_to_end(&mut head)?;
    let bare: Vec<u8> = head
        .iter()
        .copied()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect();
    let is_evidence = bare.starts_with(file::OPENING.as_bytes());
    Ok((head, is_evidence))
}
