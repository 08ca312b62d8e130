//! Keys from passwords, by scrypt, within bounds.

use scrypt::{Params, scrypt};
use zeroize::Zeroizing;

use super::key_file::KeyError;

/// The most memory to use, in bytes: minisign asks for this much.
const MOST_MEMORY: u64 = 1 << 30;

/// The most passes over the memory.
const MOST_PASSES: u32 = 16;

/// Derives a key of `LEN` bytes. `n` counts the blocks of memory, `r` their size (128 bytes each), `p` the passes.
pub(super) fn derive<const LEN: usize>(
    password: &str,
    salt: &[u8],
    (n, r, p): (u64, u32, u32),
) -> Result<Zeroizing<[u8; LEN]>, KeyError> {
    let memory = n.saturating_mul(u64::from(r)).saturating_mul(128);
    if memory > MOST_MEMORY || p > MOST_PASSES {
        return Err(KeyError::Encryption(
            "its scrypt needs more than 1 GiB of memory or 16 passes",
        ));
    }
    let invalid = KeyError::Encryption("the parameters of its scrypt are invalid");
    if !n.is_power_of_two() {
        return Err(invalid);
    }
    let log_n = u8::try_from(n.ilog2()).unwrap_or(u8::MAX);
    let params = Params::new(log_n, r, p).map_err(|_| invalid)?;
    let mut key = Zeroizing::new([0; LEN]);
    scrypt(password.as_bytes(), salt, &params, &mut *key)
        .map_err(|_| KeyError::Encryption("the parameters of its scrypt are invalid"))?;
    Ok(key)
}
