//! The lab's secrets.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use ring::rand::{SecureRandom, SystemRandom};

/// A bearer token that opens nothing outside of the lab, different each time. The prefix lets a leak be found by
/// searching for it.
pub fn new_token() -> String {
    let mut random = [0; 24];
    SystemRandom::new()
        .fill(&mut random)
        .expect("the random source works");
    format!("lab-token-{}", BASE64_URL_SAFE_NO_PAD.encode(random))
}
