//! Bearer tokens that are made at random.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use ring::rand::{SecureRandom, SystemRandom};

/// The first characters of every token of [`new_token`], so that a search finds leaks.
pub const TOKEN_PREFIX: &str = "in-process-token-";

/// A new bearer token, different each time. No server knows it until [`ApiServer::add_token`] is told.
///
/// [`ApiServer::add_token`]: crate::ApiServer::add_token
pub fn new_token() -> String {
    let mut random = [0; 24];
    SystemRandom::new()
        .fill(&mut random)
        .expect("the random source works");
    format!("{TOKEN_PREFIX}{}", BASE64_URL_SAFE_NO_PAD.encode(random))
}
