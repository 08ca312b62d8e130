//! The lines of a file, packed with gzip or not.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read as _},
    path::Path,
};

use flate2::bufread::MultiGzDecoder;

/// The longest line that is read, in bytes: whoever lets bodies of lists into a log gets lines as long as the lists.
const LONGEST: usize = 256 << 20;

/// How many more bytes such a line may have, in its own length, until the next one is no longer looked for: some files have
/// no end, such as `/dev/zero`.
const SKIPPED: u64 = 8;

/// The bytes that a gzip file begins with.
const GZIP: [u8; 2] = [0x1F, 0x8B];

/// Reads line by line.
pub(super) struct Lines<'a> {
    reader: Box<dyn BufRead + 'a>,
    line: Vec<u8>,
    longest: usize,
    number: usize,
}

/// A line, or what there is in its place.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// A whole line.
    Whole(&'a [u8]),
    /// The last line, which nothing ends: it may be in the middle of being written.
    Unended(&'a [u8]),
    /// A line that is too long to be read.
    TooLong,
    /// What comes cannot be read: what is packed cannot be unpacked, or a line does not end.
    Broken(&'static str),
}

impl<'a> Lines<'a> {
    /// Opens a file. Whether it is packed is told by its content.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Self::unpacking(BufReader::new(File::open(path)?))
    }

    /// The same for bytes that are there already.
    pub(super) fn unpacking(mut bytes: impl BufRead + 'a) -> io::Result<Self> {
        let reader: Box<dyn BufRead + 'a> = if bytes.fill_buf()?.starts_with(&GZIP) {
            Box::new(BufReader::new(MultiGzDecoder::new(bytes)))
        } else {
            Box::new(bytes)
        };
        Ok(Self {
            reader,
            line: Vec::new(),
            longest: LONGEST,
            number: 0,
        })
    }

    /// The number of the present line, from 1.
    pub(super) fn number(&self) -> usize {
        self.number
    }

    /// The next line that has something in it; none at the end.
    ///
    /// # Errors
    /// When the system refuses to read on.
    pub(super) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        loop {
            self.number += 1;
            self.line.clear();
            let length = match self.read_on() {
                Ok(length) => length,
                Err(error) => return broken(error).map(Some),
            };
            if length == 0 {
                return Ok(None);
            }
            let is_ended = self.line.ends_with(b"\n");
            if !is_ended && length == self.longest {
                return Ok(Some(match self.skip_line() {
                    Ok(true) => Line::TooLong,
                    Ok(false) => Line::Broken("it has a line that does not end"),
                    Err(error) => broken(error)?,
                }));
            }
            if !self.line.trim_ascii().is_empty() {
                return Ok(Some(if is_ended {
                    Line::Whole(&self.line)
                } else {
                    Line::Unended(&self.line)
                }));
            }
        }
    }

    fn read_on(&mut self) -> io::Result<usize> {
        let longest = u64::try_from(self.longest).unwrap_or(u64::MAX);
        let mut reader = self.reader.by_ref().take(longest);
        reader.read_until(b'\n', &mut self.line)
    }

    /// Skips the rest of a line. Returns whether it ended.
    fn skip_line(&mut self) -> io::Result<bool> {
        self.line = Vec::new();
        let most = SKIPPED * self.longest as u64;
        let skipped = self.reader.by_ref().take(most).skip_until(b'\n')?;
        Ok((skipped as u64) < most || self.reader.fill_buf()?.is_empty())
    }
}

/// What the unpacker minds is in the file; anything else is the system's.
fn broken(error: io::Error) -> io::Result<Line<'static>> {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => Ok(Line::Broken("it is packed with gzip and cut short")),
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
            Ok(Line::Broken("it is packed with gzip and damaged"))
        }
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    /// The lines of some bytes, each as text with a mark of what it is.
    fn lines(bytes: &[u8], longest: usize) -> Vec<String> {
        let mut lines = Lines::unpacking(bytes).expect("bytes can be read");
        lines.longest = longest;
        let mut told = Vec::new();
        while let Some(line) = lines.next().expect("bytes can be read") {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
            told.push(match line {
                Line::Whole(line) => text(line),
                Line::Unended(line) => format!("{}…", text(line)),
                Line::TooLong => "(too long)".to_owned(),
                Line::Broken(why) => format!("({why})"),
            });
            if told.last().is_some_and(|last| last.starts_with("(it ")) {
                break;
            }
        }
        told
    }

    fn packed(text: &str) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text.as_bytes()).expect("a vector takes all");
        encoder.finish().expect("a vector takes all")
    }

    #[test]
    fn tells_lines_from_what_is_in_their_place() {
        assert_eq!(lines(b"", 9), Vec::<String>::new());
        assert_eq!(lines(b"a\n\n  \r\nb\nc", 9), ["a", "b", "c…"]);
        assert_eq!(
            lines(b"123456789\n12345678\nx\n1234567890", 9),
            ["(too long)", "12345678", "x", "(too long)"]
        );
        let endless = "x".repeat(9 * 9 + 1);
        assert_eq!(
            lines(endless.as_bytes(), 9),
            ["(it has a line that does not end)"]
        );
        assert_eq!(lines(&endless.as_bytes()[..9 * 9], 9), ["(too long)"]);
        let mut numbered = Lines::unpacking(&b"a\n\nb\n"[..]).expect("bytes can be read");
        while numbered.next().expect("bytes can be read") != Some(Line::Whole(b"b\n")) {}
        assert_eq!(numbered.number(), 3);
    }

    #[test]
    fn unpacks_what_is_packed_whatever_its_name() {
        let whole = packed("a\nb\n");
        assert_eq!(lines(&whole, 9), ["a", "b"]);
        // Packed files may be put behind each other.
        assert_eq!(lines(&[&whole[..], &packed("c\n")].concat(), 9), ["a", "b", "c"]);

        let random: String = (0..4000_u64)
            .map(|n| format!("{}\n", n.wrapping_mul(0x9E37_79B9_7F4A)))
            .collect();
        let long = packed(&random);
        let cut = lines(&long[..long.len() / 2], 99);
        assert!(cut.len() > 1000, "{}", cut.len());
        assert_eq!(
            cut.last().map(String::as_str),
            Some("(it is packed with gzip and cut short)")
        );
        let mut damaged = long.clone();
        let end = damaged.len() - 6;
        damaged[end] ^= 1;
        let damaged = lines(&damaged, 99);
        assert_eq!(damaged.len(), 4001);
        assert_eq!(
            damaged.last().map(String::as_str),
            Some("(it is packed with gzip and damaged)")
        );
    }
}
