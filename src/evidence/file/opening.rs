//! How an evidence file is recognized.

use std::io::{self, Read};

/// How every evidence file begins, white space aside: with the header and its format.
pub(crate) const OPENING: &str = r#"{"header":{"format":"conformance.clusterprofile/evidence/"#;

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
