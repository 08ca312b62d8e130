//! Opens files, packed or not.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Cursor, Read},
    path::Path,
};

/// Opens a file, or standard input for `-`, and unpacks zstd.
pub(super) fn open(path: &Path) -> io::Result<Box<dyn BufRead>> {
    let plain: Box<dyn Read> = match path.to_str() {
        Some("-") => Box::new(io::stdin()),
        _ => Box::new(File::open(path)?),
    };
    unpacked(plain)
}

/// The first bytes of every zstd frame (RFC 8878, 3.1.1).
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// Unpacks what begins with a zstd frame.
pub(super) fn unpacked(mut plain: Box<dyn Read>) -> io::Result<Box<dyn BufRead>> {
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

#[cfg(all(target_family = "wasm", not(feature = "zstd")))]
fn decoder(packed: impl Read + 'static) -> io::Result<Box<dyn BufRead>> {
    Ok(Box::new(BufReader::new(super::frames::Frames::new(packed))))
}

#[cfg(not(any(target_family = "wasm", feature = "zstd")))]
fn decoder(_: impl Read) -> io::Result<Box<dyn BufRead>> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "it is packed with zstd, which this build cannot read: unpack it first",
    ))
}
