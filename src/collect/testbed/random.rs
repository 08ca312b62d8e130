//! Texts that nobody can guess, and that tell nothing.

use ring::rand::{SecureRandom, SystemRandom};

/// The number of bytes that are drawn.
const BYTES: usize = 24;
/// The length of such a text.
pub(super) const LENGTH: usize = 2 * BYTES;

/// A new text of letters and digits.
pub(super) fn random_text() -> String {
    let mut random = [0; BYTES];
    SystemRandom::new()
        .fill(&mut random)
        .expect("the random source works");
    random.iter().map(|byte| format!("{byte:02x}")).collect()
}
