//! Identifies an evidence file by the SHA-256 of its unpacked content.

use std::{
    io::{self, Write},
    path::Path,
};

use ring::digest::{Context, SHA256};

use crate::{
    LimitError, Limits,
    read::files::{exceeded, open},
};

/// The digest and the size of a file's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checksum {
    /// The SHA-256 of its content, unpacked, in hexadecimal.
    pub sha256: String,
    /// The length of the content, unpacked, in bytes.
    pub bytes: u64,
}

impl Checksum {
    /// Reads a file, and unpacks zstd; none for a directory, standard input or a pipe.
    ///
    /// # Errors
    /// When it cannot be read, or exceeds a limit: see [`Checksum::limit`].
    pub fn of_file(path: &Path, limits: &Limits) -> io::Result<Option<Self>> {
        if path == Path::new("-") || !path.metadata()?.is_file() {
            return Ok(None);
        }
        let mut reader = open(path, limits)?;
        let mut summing = Summing::new(io::sink());
        match io::copy(&mut reader, &mut summing) {
            // A truncated packed file is judged up to the cut.
            Err(cause) if cause.kind() != io::ErrorKind::UnexpectedEof => Err(cause),
            _ => Ok(Some(summing.finish())),
        }
    }

    /// The limit that a file exceeds which could not be summed up, if that is why.
    pub fn limit(error: &io::Error) -> Option<LimitError> {
        exceeded(error)
    }
}

pub(super) struct Summing<W> {
    into: W,
    digest: Context,
    bytes: u64,
}

impl<W: Write> Summing<W> {
    pub(super) fn new(into: W) -> Self {
        Self {
            into,
            digest: Context::new(&SHA256),
            bytes: 0,
        }
    }

    pub(super) fn finish(self) -> Checksum {
        Checksum {
            sha256: self
                .digest
                .finish()
                .as_ref()
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect(),
            bytes: self.bytes,
        }
    }
}

impl<W: Write> Write for Summing<W> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let count = self.into.write(piece)?;
        self.digest.update(&piece[..count]);
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.into.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Evidence, file};

    fn sum(path: &Path) -> Option<Checksum> {
        Checksum::of_file(path, &Limits::default()).expect("read")
    }

    #[test]
    fn sum_is_of_the_uncompressed_content() {
        let folder = tempfile::tempdir().expect("a folder");
        let sums = ["evidence.jsonl", "evidence.jsonl.zst"].map(|name| {
            let path = folder.path().join(name);
            let into = std::fs::File::create(&path).expect("created");
            let checksum = file::write_summed(&Evidence::default(), &path, into).expect("written");
            let read = sum(&path).expect("a file");
            assert_eq!(checksum, read, "{name}");
            read
        });
        assert_eq!(sums[0], sums[1]);
        assert_eq!(sum(folder.path()), None);
    }

    #[test]
    fn the_sum_is_sha_256() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("abc");
        std::fs::write(&path, "abc").expect("written");
        let sum = sum(&path).expect("a file");
        // FIPS 180-2, B.1.
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sum.sha256, expected);
        assert_eq!(sum.bytes, 3);
    }
}
