//! Key files: PEM of cosign and openssl, and minisign's lines.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use zeroize::Zeroizing;

/// The most bytes that a key file may have.
pub const LARGEST_KEY: u64 = 64 << 10;

/// Why a file cannot be used as a key. No message quotes its content.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// It is none.
    #[error(
        "it is no key of a known format: use a key of cosign or minisign, or an ECDSA P-256 or Ed25519 key in PEM, as openssl writes it"
    )]
    Unknown,
    /// A public key is needed.
    #[error("it is a private key: name the public key, and keep this one secret")]
    Private,
    /// A private key is needed.
    #[error("it is a public key: name the private key that belongs to it")]
    Public,
    /// It is a key of another algorithm.
    #[error("it is a key of another algorithm{0}: use ECDSA P-256 or Ed25519")]
    Algorithm(&'static str),
    /// It is a private key in another form.
    #[error("it is in the form `{form}`: convert it with `{command}`")]
    Form {
        /// The label of its PEM.
        form: &'static str,
        /// What converts it.
        command: &'static str,
    },
    /// The password does not open it.
    #[error("the password does not open it: the password is wrong, or the file is damaged")]
    Password,
    /// Its encryption is unknown or asks for too much.
    #[error("it is encrypted in a way that is not supported: {0}")]
    Encryption(&'static str),
    /// It cannot be decoded.
    #[error("it is damaged: copy the whole file again")]
    Damaged,
    /// The system gives no random numbers.
    #[error("signing failed: the system gives no random numbers")]
    Random,
}

/// A key file, decoded as far as its kind shows.
pub(super) enum KeyFile {
    /// A section of PEM that holds a key.
    Pem {
        label: String,
        content: Zeroizing<Vec<u8>>,
    },
    /// What minisign encodes in a line of base64.
    Minisign(Zeroizing<Vec<u8>>),
}

impl KeyFile {
    /// Decodes a file.
    pub(super) fn parse(text: &str) -> Result<Self, KeyError> {
        if text.contains("-----BEGIN ") {
            let sections = pem::parse_many(text).map_err(|_| KeyError::Damaged)?;
            if sections.is_empty() {
                return Err(KeyError::Damaged);
            }
            // openssl writes the parameters of a curve before its key.
            let key = sections.into_iter().find(|one| one.tag().ends_with(" KEY"));
            let key = key.ok_or(KeyError::Unknown)?;
            return Ok(Self::Pem {
                label: key.tag().to_owned(),
                content: Zeroizing::new(key.into_contents()),
            });
        }
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let mut lines = lines.filter(|line| !line.starts_with("untrusted comment:"));
        let (Some(line), None) = (lines.next(), lines.next()) else {
            return Err(KeyError::Unknown);
        };
        match STANDARD.decode(line) {
            Ok(content) if content.starts_with(b"Ed") => Ok(Self::Minisign(Zeroizing::new(content))),
            Err(_) if text.starts_with("untrusted comment:") => Err(KeyError::Damaged),
            _ => Err(KeyError::Unknown),
        }
    }
}

/// The object identifier of RSA (PKCS#1), in DER.
const RSA: [u8; 11] = [0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];

/// Names the algorithm of a key in DER that cannot be used.
pub(super) fn other_algorithm(der: &[u8]) -> KeyError {
    let is_rsa = der.windows(RSA.len()).any(|part| part == RSA);
    KeyError::Algorithm(if is_rsa { " (RSA)" } else { "" })
}
