//! Cosign's encrypted private keys: JSON inside of PEM, with NaCl's secretbox under a key from scrypt.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use poly1305::{Poly1305, universal_hash::KeyInit as _};
use salsa20::{
    XSalsa20,
    cipher::{KeyIvInit as _, StreamCipher as _},
};
use serde::Deserialize;
use zeroize::Zeroizing;

use super::{key_file::KeyError, scrypt};

/// The labels of its PEM, the newest first.
pub(super) const LABELS: [&str; 2] = ["ENCRYPTED SIGSTORE PRIVATE KEY", "ENCRYPTED COSIGN PRIVATE KEY"];

/// How long the authenticator before a secretbox is, in bytes.
const TAG: usize = 16;

/// How long a key of XSalsa20 or Poly1305 is, in bytes.
const KEY: usize = 32;

#[derive(Deserialize)]
struct Sealed {
    kdf: Kdf,
    cipher: Cipher,
    ciphertext: String,
}

#[derive(Deserialize)]
struct Kdf {
    name: String,
    params: Params,
    salt: String,
}

#[derive(Deserialize)]
struct Params {
    #[serde(rename = "N")]
    n: u64,
    r: u32,
    p: u32,
}

#[derive(Deserialize)]
struct Cipher {
    name: String,
    nonce: String,
}

/// Decrypts the content of the PEM. Returns the key as PKCS#8.
pub(super) fn unseal(content: &[u8], password: &str) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    let sealed: Sealed = serde_json::from_slice(content).map_err(|_| KeyError::Damaged)?;
    if sealed.kdf.name != "scrypt" || sealed.cipher.name != "nacl/secretbox" {
        return Err(KeyError::Encryption("cosign uses scrypt and nacl/secretbox"));
    }
    let decode = |text: &str| STANDARD.decode(text).map_err(|_| KeyError::Damaged);
    let Params { n, r, p } = sealed.kdf.params;
    let (salt, nonce) = (decode(&sealed.kdf.salt)?, decode(&sealed.cipher.nonce)?);
    let nonce: [u8; 24] = nonce.try_into().map_err(|_| KeyError::Damaged)?;
    let sealed = decode(&sealed.ciphertext)?;
    let (tag, body) = sealed.split_at_checked(TAG).ok_or(KeyError::Damaged)?;
    let key = scrypt::derive::<KEY>(password, &salt, (n, r, p))?;
    open(&key, &nonce, tag, body).ok_or(KeyError::Password)
}

/// Opens a secretbox: the first bytes of the stream are the key of the authenticator, the rest encrypts.
fn open(key: &[u8; KEY], nonce: &[u8; 24], tag: &[u8], body: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let mut stream = XSalsa20::new(key.into(), nonce.into());
    let mut authenticator = Zeroizing::new([0; KEY]);
    stream.apply_keystream(&mut *authenticator);
    let wanted = Poly1305::new((&*authenticator).into()).compute_unpadded(body);
    // Whoever could time this has the file, and can try passwords without us.
    if *wanted != *tag {
        return None;
    }
    let mut plain = Zeroizing::new(body.to_vec());
    stream.apply_keystream(&mut plain);
    Some(plain)
}
