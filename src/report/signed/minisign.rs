//! Minisign's keys: an Ed25519 key with a number, and a private one under a stream from scrypt.

use zeroize::Zeroizing;

use super::{key_file::KeyError, scrypt};

/// How long a public key is: the algorithm, its number and the key.
const PUBLIC: usize = 2 + 8 + 32;

/// How long the encrypted part of a private key is: its number, the seed, the public key and a checksum.
const SECRET: usize = 8 + 32 + 32 + 32;

/// How long a private key is: three algorithms, the salt and two limits of scrypt, and the encrypted part.
const PRIVATE: usize = 3 * 2 + 32 + 2 * 8 + SECRET;

/// Whether these bytes, which begin with its algorithm, are a private key.
pub(super) fn is_private(content: &[u8]) -> bool {
    content.len() == PRIVATE
}

/// Returns the Ed25519 key of a public key.
pub(super) fn public(content: &[u8]) -> Result<&[u8], KeyError> {
    if content.len() == PUBLIC {
        Ok(&content[10..])
    } else {
        Err(KeyError::Damaged)
    }
}

/// A private key's parts.
pub(super) struct Secret(Zeroizing<[u8; SECRET]>);

impl Secret {
    /// Its seed.
    pub(super) fn seed(&self) -> &[u8] {
        &self.0[8..40]
    }

    /// The public key that belongs to it, by its own words. A wrong password gives another.
    pub(super) fn public(&self) -> &[u8] {
        &self.0[40..72]
    }
}

/// Decrypts a private key. `password` is asked only where it is encrypted.
pub(super) fn secret<P: AsRef<str>, E: From<KeyError>>(
    content: &[u8],
    password: impl FnOnce() -> Result<P, E>,
) -> Result<Secret, E> {
    let (head, body) = content.split_at(PRIVATE - SECRET);
    let mut secret = Zeroizing::new([0; SECRET]);
    secret.copy_from_slice(body);
    match &head[2..4] {
        [0, 0] => {}
        b"Sc" => {
            let number = |at: usize| {
                head[at..]
                    .iter()
                    .take(8)
                    .rev()
                    .fold(0, |sum, byte| sum << 8 | u64::from(*byte))
            };
            let costs = costs(number(38), number(46));
            let stream = scrypt::derive::<SECRET>(password()?.as_ref(), &head[6..38], costs)?;
            secret
                .iter_mut()
                .zip(&*stream)
                .for_each(|(byte, key)| *byte ^= key);
        }
        _ => return Err(KeyError::Encryption("minisign uses scrypt").into()),
    }
    Ok(Secret(secret))
}

/// The parameters of scrypt (N, r, p) for limits on operations and on memory, as libsodium chooses them.
fn costs(operations: u64, memory: u64) -> (u64, u32, u32) {
    let operations = operations.max(32_768);
    let r = 8;
    if operations < memory / 32 {
        return (largest_n(operations / (4 * r)), 8, 1);
    }
    let n = largest_n(memory / (128 * r));
    let passes = (operations / 4 / n).min(0x3fff_ffff) / r;
    (n, 8, u32::try_from(passes).unwrap_or(u32::MAX))
}

/// The smallest power of two, at least 2, that is more than half of `most`.
fn largest_n(most: u64) -> u64 {
    (1..63)
        .map(|log| 1 << log)
        .find(|n| *n > most / 2)
        .unwrap_or(1 << 63)
}
