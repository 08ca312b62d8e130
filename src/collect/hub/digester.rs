//! Draws the key of a run's digests.

use evidence::Digester;
use ring::rand::{SecureRandom, SystemRandom};

/// A digester with a new key, which nothing else knows.
///
/// # Panics
/// When the system gives no random bytes, without which there is no TLS either.
pub fn new_digester() -> Digester {
    let mut key = [0; 32];
    SystemRandom::new()
        .fill(&mut key)
        .expect("the system gives random bytes");
    Digester::new(key)
}
