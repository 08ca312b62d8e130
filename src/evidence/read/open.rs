//! Opens files, packed or not, and bounds what comes out of them.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Cursor, Read},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::{LimitError, Limits};

/// How much is read at once.
const PIECE: usize = 256 * 1024;

/// Opens a file, or standard input for `-`, and unpacks zstd. Reading on beyond a limit is an [`io::Error`] that holds a
/// [`LimitError`].
pub(crate) fn open(path: &Path, limits: &Limits) -> io::Result<Box<dyn BufRead + Send>> {
    let plain: Box<dyn Read + Send> = match path.to_str() {
        Some("-") => Box::new(io::stdin()),
        _ => Box::new(File::open(path)?),
    };
    unpacked(plain, limits)
}

/// The first bytes of every zstd frame (RFC 8878, 3.1.1).
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// The first bytes of each file of gzip (RFC 1952, 2.3.1).
const GZIP_MAGIC: [u8; 2] = [0x1F, 0x8B];

/// Unpacks what begins with a zstd frame.
pub(crate) fn unpacked(
    mut plain: Box<dyn Read + Send>,
    limits: &Limits,
) -> io::Result<Box<dyn BufRead + Send>> {
    let mut head = Vec::new();
    plain
        .by_ref()
        .take(ZSTD_MAGIC.len() as u64)
        .read_to_end(&mut head)?;
    if head.starts_with(&GZIP_MAGIC) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "packed with gzip: unpack it first",
        ));
    }
    let is_packed = head == ZSTD_MAGIC;
    let whole = Cursor::new(head).chain(plain);
    let (content, packed): (Box<dyn Read + Send>, _) = if is_packed {
        let size = Arc::new(AtomicU64::new(0));
        let counted = Counted {
            reader: whole,
            size: Arc::clone(&size),
        };
        (Box::new(zstd::Decoder::new(counted)?), Some(size))
    } else {
        (Box::new(whole), None)
    };
    let bounded = Bounded {
        content,
        size: 0,
        packed,
        limits: *limits,
    };
    Ok(Box::new(BufReader::with_capacity(PIECE, bounded)))
}

/// Counts the bytes that are read.
struct Counted<R> {
    reader: R,
    size: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(piece)?;
        self.size.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// Refuses to read beyond the limits.
struct Bounded {
    content: Box<dyn Read + Send>,
    size: u64,
    /// The size of what was unpacked so far.
    packed: Option<Arc<AtomicU64>>,
    limits: Limits,
}

impl Read for Bounded {
    fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        let read = self.content.read(piece)?;
        self.size += read as u64;
        let Limits {
            whole,
            ratio,
            any_ratio,
            ..
        } = self.limits;
        if self.size > whole {
            return Err(io::Error::other(LimitError::Whole(whole)));
        }
        if let Some(packed) = &self.packed
            && self.size > any_ratio
            && self.size > packed.load(Ordering::Relaxed).saturating_mul(ratio)
        {
            return Err(io::Error::other(LimitError::Ratio(ratio)));
        }
        Ok(read)
    }
}

/// The limit that an error of such a reader is about, if any.
pub(crate) fn exceeded(error: &io::Error) -> Option<LimitError> {
    error.get_ref()?.downcast_ref().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> Limits {
        Limits {
            whole: 100_000,
            ratio: 20,
            any_ratio: 10_000,
            ..Limits::default()
        }
    }

    fn read(content: Vec<u8>) -> Result<usize, LimitError> {
        let mut reader = unpacked(Box::new(Cursor::new(content)), &small()).expect("opens");
        let mut all = Vec::new();
        match reader.read_to_end(&mut all) {
            Ok(size) => Ok(size),
            Err(error) => Err(exceeded(&error).expect("a limit")),
        }
    }

    #[test]
    fn reads_up_to_the_bound_and_not_beyond() {
        assert_eq!(read(vec![b'a'; 100_000]), Ok(100_000));
        assert_eq!(read(vec![b'a'; 100_001]), Err(LimitError::Whole(100_000)));
        let mut endless = unpacked(Box::new(io::repeat(b'{')), &small()).expect("opens");
        let refused = endless.read_to_end(&mut Vec::new()).expect_err("it has no end");
        assert_eq!(exceeded(&refused), Some(LimitError::Whole(100_000)));
    }

    #[test]
    fn gzip_is_refused() {
        let packed = Box::new(Cursor::new(b"\x1F\x8B\x08\x00"));
        let refused = unpacked(packed, &small()).err().expect("it is refused");
        assert!(refused.to_string().contains("unpack it first"), "{refused}");
    }

    #[test]
    fn what_unpacks_to_many_times_its_size_is_refused() {
        let packed = |content: &[u8]| zstd::encode_all(content, 3).expect("packs");
        // A small one may have any ratio.
        assert_eq!(read(packed(&[0; 10_000])), Ok(10_000));
        assert_eq!(read(packed(&[0; 50_000])), Err(LimitError::Ratio(20)));
        // Noise of few letters packs to about a half.
        let mut state = 1_u32;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            b'a' + (state >> 28) as u8
        })
        .take(100_000)
        .collect();
        assert_eq!(read(packed(&noise)), Ok(100_000));
        assert_eq!(
            read(packed(&[noise, vec![b'a']].concat())),
            Err(LimitError::Whole(100_000))
        );
    }
}
