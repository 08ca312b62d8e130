//! Bounds on what is read from files of others, so that no file exhausts the memory or the time of who opens it.

/// The largest object in bytes: of a hub, of a dump, and of a line of the evidence file. etcd holds no object of more
/// than 1.5 MiB, and an API server takes no request of more than 3 MiB; as text that is indented, an object takes
/// several times as much.
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
    /// The most objects that cannot be read, and the most that have no kind.
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
    /// It has too many objects or lines.
    #[error("it holds more than {0} objects or lines")]
    Count(usize),
    /// It has too many YAML documents.
    #[error("it holds more than {0} YAML documents: dump one list with `kubectl get -o json`")]
    Documents(usize),
    /// Too many of its objects have no kind.
    #[error("more than {0} objects have no kind: is this the right file?")]
    Kindless(usize),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_told_in_its_largest_whole_unit() {
        for (bytes, told) in [
            (4 << 30, "4 GiB"),
            (500 << 20, "500 MiB"),
            (1536, "1536 bytes"),
            (2048, "2 KiB"),
            (0, "0 bytes"),
        ] {
            assert_eq!(
                LimitError::Whole(bytes).to_string(),
                format!("it holds more than {told}, unpacked")
            );
        }
    }
}
