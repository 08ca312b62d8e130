//! Texts that nobody can guess, and that tell nothing.

use ring::rand::{SecureRandom, SystemRandom};

/// A new text of letters and digits.
pub(super) fn random_text() -> String {
    let mut random = [0; 24];
    SystemRandom::new()
        .fill(&mut random)
        .expect("the random source works");
    random.iter().map(|byte| format!("{byte:02x}")).collect()
}
