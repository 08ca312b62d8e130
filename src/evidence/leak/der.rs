//! Private keys in DER.

/// Whether these bytes are a private key (PKCS #1, PKCS #8 or SEC 1), from the first to the last. A certificate begins
/// with a structure where a private key has its version.
pub(super) fn is_private_key(bytes: &[u8]) -> bool {
    const INTEGER: u8 = 0x02;
    const OCTETS: u8 = 0x04;
    const OBJECT: u8 = 0x06;
    const SEQUENCE: u8 = 0x30;
    let Some((SEQUENCE, key, [])) = value(bytes) else {
        return false;
    };
    let Some((INTEGER, [version @ (0 | 1)], rest)) = value(key) else {
        return false;
    };
    match value(rest) {
        Some((SEQUENCE, algorithm, rest)) => {
            let names_it = matches!(value(algorithm), Some((OBJECT, ..)));
            names_it && matches!(value(rest), Some((OCTETS, ..)))
        }
        Some((OCTETS, secret, _)) => *version == 1 && secret.len() >= 16,
        Some((INTEGER, modulus, rest)) => modulus.len() >= 64 && matches!(value(rest), Some((INTEGER, ..))),
        _ => false,
    }
}

/// The first value: its tag, its content, and what follows.
fn value(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&[tag, first], rest) = bytes.split_first_chunk::<2>()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x83 => {
            let (length, rest) = rest.split_at_checked(usize::from(first - 0x80))?;
            let length = length.iter().fold(0, |sum, &byte| sum << 8 | usize::from(byte));
            (length, rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}
