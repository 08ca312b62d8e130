//! Signed reports: an in-toto Statement about a report and its evidence, in a DSSE envelope. It shows who vouches for them.
//!
//! The formats are those of cosign and other DSSE verifiers: <https://github.com/secure-systems-lab/dsse> and
//! <https://github.com/in-toto/attestation>.

mod cosign;
mod envelope;
mod key_file;
mod minisign;
mod private_key;
mod public_key;
mod scrypt;
mod statement;
#[cfg(test)]
mod tests;
mod vouch;

pub use envelope::{Envelope, EnvelopeError, LARGEST_ENVELOPE};
pub use key_file::{KeyError, LARGEST_KEY};
pub use private_key::PrivateKey;
pub use public_key::{NamedKey, PublicKey};
pub use statement::{Statement, Subject};
pub use vouch::{NotVouched, Vouched, vouched};
