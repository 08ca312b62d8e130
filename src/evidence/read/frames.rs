//! Unpacks zstd in Rust alone, where the C library cannot be compiled: several times slower, and the same bytes.

use std::io::{self, BufRead, BufReader, Read};

use ruzstd::decoding::{
    BlockDecodingStrategy, FrameDecoder,
    errors::{FrameDecoderError, ReadFrameHeaderError},
};

/// How much is unpacked before it is handed on.
const PIECE: usize = 128 * 1024;

/// All frames of a packed stream, one after the other.
pub(super) struct Frames<R> {
    packed: BufReader<R>,
    decoder: FrameDecoder,
    in_frame: bool,
}

impl<R: Read> Frames<R> {
    pub(super) fn new(packed: R) -> Self {
        Self {
            packed: BufReader::new(packed),
            decoder: FrameDecoder::new(),
            in_frame: false,
        }
    }

    /// Begins the next frame. Returns `false` at the end of the stream.
    fn begin(&mut self) -> io::Result<bool> {
        loop {
            if self.packed.fill_buf()?.is_empty() {
                return Ok(false);
            }
            let begun = self.decoder.reset(&mut self.packed);
            match begun {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    io::copy(&mut self.packed.by_ref().take(length.into()), &mut io::sink())?;
                }
                Err(error) => return Err(self.flaw(error)),
            }
        }
    }

    /// Checks the frame's checksum, if it has one.
    fn end(&self) -> io::Result<()> {
        match self.decoder.get_checksum_from_data() {
            Some(told) if self.decoder.get_calculated_checksum() != Some(told) => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "its zstd checksum does not match: the file is damaged",
            )),
            _ => Ok(()),
        }
    }

    /// An error where nothing is left means that the stream is truncated.
    fn flaw(&mut self, error: FrameDecoderError) -> io::Error {
        match self.packed.fill_buf() {
            Ok([]) => io::Error::new(io::ErrorKind::UnexpectedEof, error),
            _ => io::Error::new(io::ErrorKind::InvalidData, error),
        }
    }
}

impl<R: Read> Read for Frames<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.in_frame {
                self.in_frame = self.begin()?;
                if !self.in_frame {
                    return Ok(0);
                }
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let decoded = self
                    .decoder
                    .decode_blocks(&mut self.packed, BlockDecodingStrategy::UptoBytes(PIECE));
                decoded.map_err(|error| self.flaw(error))?;
            }
            match self.decoder.read(into)? {
                0 => {
                    self.end()?;
                    self.in_frame = false;
                }
                read => return Ok(read),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpacked(packed: &[u8]) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        Frames::new(packed).read_to_end(&mut bytes).map(|_| bytes)
    }

    /// With a checksum, as evidence files are packed.
    fn pack(plain: &[u8]) -> Vec<u8> {
        let mut encoder = zstd::Encoder::new(Vec::new(), 3).expect("an encoder");
        encoder.include_checksum(true).expect("a checksum");
        io::Write::write_all(&mut encoder, plain).expect("packed");
        encoder.finish().expect("packed")
    }

    /// More than a window, and nothing that repeats.
    fn long() -> Vec<u8> {
        let mut state = 1_u32;
        let next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        std::iter::repeat_with(next).take(5 << 20).collect()
    }

    #[test]
    fn all_frames_are_unpacked() {
        let long = long();
        assert_eq!(unpacked(&pack(&long)).expect("unpacked"), long);
        assert_eq!(unpacked(&pack(b"")).expect("unpacked"), b"");
        // A skippable frame of three bytes (RFC 8878, 3.1.2).
        let skipped = [0x50, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 1, 2, 3];
        let two = [pack(b"one"), skipped.to_vec(), pack(&long)].concat();
        assert_eq!(unpacked(&two).expect("unpacked"), [b"one", &long[..]].concat());
    }

    #[test]
    fn a_truncated_stream_is_told_from_a_damaged_one() {
        let packed = pack(&long());
        for end in [5, packed.len() / 2, packed.len() - 1] {
            let error = unpacked(&packed[..end]).expect_err("it is cut");
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "at {end}: {error}");
        }
        let mut damaged = packed.clone();
        damaged[packed.len() / 2] ^= 1;
        let error = unpacked(&damaged).expect_err("it is damaged");
        assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{error}");
        let error = unpacked(&[packed, b"rest".to_vec()].concat()).expect_err("it is no frame");
        assert_ne!(error.kind(), io::ErrorKind::Other, "{error}");
    }
}
