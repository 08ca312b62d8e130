//! Opens and reads files within bounds, packed or not: a file may have no end, for example `/dev/zero`.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Cursor, ErrorKind, Read},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// The largest object of a hub or a dump, and the longest line of an evidence file, in bytes. etcd holds no object of
/// more than 1.5 MiB; as indented text, it takes several times as much.
pub const LARGEST_OBJECT: usize = 16 << 20;

/// Bounds on a file or a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes in all, unpacked. The files of a directory count as one.
    pub whole: u64,
    /// The most bytes of an object, or of a line of an evidence file.
    pub object: usize,
    /// The most objects of a dump, or lines of an evidence file.
    pub count: usize,
    /// The most documents of a YAML dump: one takes as long as a hundred bytes of another.
    pub documents: usize,
    /// The most objects that cannot be read.
    pub unreadable: usize,
    /// How many times as large as its file unpacked content may be.
    pub ratio: u64,
    /// Up to so many bytes, unpacked content may have any ratio.
    pub any_ratio: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            whole: 4 << 30,
            object: LARGEST_OBJECT,
            count: 20_000_000,
            documents: 1_000_000,
            unreadable: 100_000,
            // zstd packs the evidence of a large fleet whose profiles are alike to a seventieth.
            ratio: 500,
            any_ratio: 64 << 20,
        }
    }
}

/// Which bound a file exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    /// It is too large as a whole.
    #[error("it holds more than {}, unpacked", size(*.0))]
    Whole(u64),
    /// It has an object or a line that is too large.
    #[error("an object of more than {}: etcd holds none of more than 1.5 MiB", size(*.0 as u64))]
    Object(usize),
    /// It has a YAML document that is too large.
    #[error("a YAML document of more than {}: dump with `kubectl get -o json`", size(*.0 as u64))]
    Document(usize),
    /// It has too many objects or lines.
    #[error("it holds more than {0} objects or lines")]
    Count(usize),
    /// It has too many YAML documents.
    #[error("it holds more than {0} YAML documents: dump one list with `kubectl get -o json`")]
    Documents(usize),
    /// Too many of its objects cannot be read.
    #[error("more than {0} objects cannot be read: is this the right file?")]
    Unreadable(usize),
    /// It unpacks to too many times its size.
    #[error("it unpacks to more than {0} times its size: unpack it first if you trust it")]
    Ratio(u64),
}

/// Describes a number of bytes in the largest unit that divides it.
pub(crate) fn size(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let fits = |(shift, _): &(u32, &str)| bytes > 0 && bytes.trailing_zeros() >= *shift;
    match units.into_iter().find(fits) {
        Some((shift, unit)) => format!("{} {unit}", bytes >> shift),
        None => format!("{bytes} bytes"),
    }
}

/// The most bytes of a file that a user writes: a configuration, waivers, a list of members, a driver, a provider file.
pub const LARGEST_TEXT: u64 = 16 << 20;

/// The most bytes of a kubeconfig: one with 10,000 contexts takes half of it.
pub const LARGEST_KUBECONFIG: u64 = 64 << 20;

/// The most bytes of a certificate, a key or a token in a file of its own.
pub const LARGEST_CREDENTIAL: u64 = 1 << 20;

/// Reads a file with at most so many bytes.
pub fn read_bounded(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?
        .take(most.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(too_large(most));
    }
    Ok(bytes)
}

/// Reads a file of UTF-8 text with at most so many bytes.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    let bytes = read_bounded(path, most)?;
    let no_text = |_| io::Error::new(ErrorKind::InvalidData, "it is not UTF-8 text: name another file");
    String::from_utf8(bytes).map_err(no_text)
}

/// Checks that a file is a regular one with at most so many bytes, before a library reads it without a bound.
pub fn check_bounded(path: &Path, most: u64) -> io::Result<()> {
    let metadata = fs::metadata(path)?;
    if metadata.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    if !metadata.is_file() {
        let message = "it is not a regular file: copy it into one";
        return Err(io::Error::new(ErrorKind::InvalidInput, message));
    }
    if metadata.len() > most {
        return Err(too_large(most));
    }
    Ok(())
}

fn too_large(most: u64) -> io::Error {
    let message = format!("it has more than {}: is this the right file?", size(most));
    io::Error::new(ErrorKind::FileTooLarge, message)
}

const PIECE: usize = 256 * 1024;

/// Opens a file, or standard input for `-`, and unpacks zstd. An error of the reader may hold a [`LimitError`].
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
        let counter = Counted {
            reader: whole,
            size: Arc::clone(&size),
        };
        (Box::new(zstd::Decoder::new(counter)?), Some(size))
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

struct Bounded {
    content: Box<dyn Read + Send>,
    size: u64,
    packed: Option<Arc<AtomicU64>>,
    limits: Limits,
}

impl Read for Bounded {
    fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        let read = self.content.read(piece)?;
        self.size += read as u64;
        let limits = &self.limits;
        if self.size > limits.whole {
            return Err(io::Error::other(LimitError::Whole(limits.whole)));
        }
        if let Some(packed) = &self.packed
            && self.size > limits.any_ratio
            && self.size > packed.load(Ordering::Relaxed).saturating_mul(limits.ratio)
        {
            return Err(io::Error::other(LimitError::Ratio(limits.ratio)));
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

    #[test]
    fn size_is_in_its_largest_whole_unit() {
        let sizes = [4 << 30, 500 << 20, 1536, 2048, 0].map(size);
        assert_eq!(sizes, ["4 GiB", "500 MiB", "1536 bytes", "2 KiB", "0 bytes"]);
    }

    fn refused<T: std::fmt::Debug>(read: io::Result<T>) -> String {
        read.expect_err("refused").to_string()
    }

    #[test]
    fn file_is_read_up_to_its_bound() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        fs::write(&path, "text").expect("a file");
        assert_eq!(read_text(&path, 4).expect("reads"), "text");
        assert!(check_bounded(&path, 4).is_ok());
        let message = "it has more than 3 bytes: is this the right file?";
        assert_eq!(refused(read_text(&path, 3)), message);
        assert_eq!(refused(check_bounded(&path, 3)), message);
        fs::write(&path, [0xff]).expect("a file");
        assert!(read_text(&path, 4).is_err(), "not UTF-8");
    }

    #[cfg(unix)]
    #[test]
    fn endless_file_is_refused() {
        let endless = Path::new("/dev/zero");
        let message = "it has more than 1 MiB: is this the right file?";
        assert_eq!(refused(read_text(endless, 1 << 20)), message);
        let message = "it is not a regular file: copy it into one";
        assert_eq!(refused(check_bounded(endless, 1)), message);
    }

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
        let read = reader.read_to_end(&mut all);
        read.map_err(|error| exceeded(&error).expect("a limit"))
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
    fn too_high_compression_ratio_is_refused() {
        let packed = |content: &[u8]| zstd::encode_all(content, 3).expect("packs");
        // A small file may have any ratio.
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
        let more = packed(&[noise, vec![b'a']].concat());
        assert_eq!(read(more), Err(LimitError::Whole(100_000)));
    }
}
