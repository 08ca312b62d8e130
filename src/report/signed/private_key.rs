//! Private keys, which sign.

use std::fmt;

use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _},
};

use super::{
    cosign,
    key_file::{KeyError, KeyFile, other_algorithm},
    minisign,
    public_key::{Algorithm, PublicKey},
};

/// A private key.
pub struct PrivateKey(Pair);

enum Pair {
    P256(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

/// Shows the public key alone.
impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PrivateKey").field(&self.public()).finish()
    }
}

impl PrivateKey {
    /// Reads a key: PEM of cosign or openssl, or minisign's file. `password` is asked only where it is encrypted.
    ///
    /// # Errors
    /// When it is none that can be used, or `password` fails or does not open it.
    pub fn parse<P: AsRef<str>, E: From<KeyError>>(
        text: &str,
        password: impl FnOnce() -> Result<P, E>,
    ) -> Result<Self, E> {
        let (label, content) = match KeyFile::parse(text)? {
            KeyFile::Pem { label, content } => (label, content),
            KeyFile::Minisign(content) if minisign::is_private(&content) => {
                let secret = minisign::secret(&content, password)?;
                let pair = Ed25519KeyPair::from_seed_and_public_key(secret.seed(), secret.public());
                return Ok(Self(Pair::Ed25519(pair.map_err(|_| KeyError::Password)?)));
            }
            KeyFile::Minisign(_) => return Err(KeyError::Public.into()),
        };
        let form = |form, command| Err(KeyError::Form { form, command }.into());
        match &*label {
            "PRIVATE KEY" => Ok(Self::from_pkcs8(&content)?),
            sealed if cosign::LABELS.contains(&sealed) => {
                let opened = cosign::unseal(&content, password()?.as_ref())?;
                Ok(Self::from_pkcs8(&opened)?)
            }
            "EC PRIVATE KEY" => form("EC PRIVATE KEY", "openssl pkcs8 -topk8 -nocrypt -in FILE"),
            "ENCRYPTED PRIVATE KEY" => form("ENCRYPTED PRIVATE KEY", "cosign import-key-pair --key FILE"),
            "OPENSSH PRIVATE KEY" => form("OPENSSH PRIVATE KEY", "ssh-keygen -p -m PKCS8 -f FILE"),
            "RSA PRIVATE KEY" => Err(KeyError::Algorithm(" (RSA)").into()),
            "PUBLIC KEY" | "RSA PUBLIC KEY" => Err(KeyError::Public.into()),
            _ => Err(KeyError::Unknown.into()),
        }
    }

    fn from_pkcs8(der: &[u8]) -> Result<Self, KeyError> {
        let p256 = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, der, &SystemRandom::new());
        let pair = match (p256, Ed25519KeyPair::from_pkcs8_maybe_unchecked(der)) {
            (Ok(pair), _) => Pair::P256(pair),
            (_, Ok(pair)) => Pair::Ed25519(pair),
            _ => return Err(other_algorithm(der)),
        };
        Ok(Self(pair))
    }

    /// The public key that belongs to it.
    pub fn public(&self) -> PublicKey {
        match &self.0 {
            Pair::P256(pair) => PublicKey::new(Algorithm::P256, pair.public_key().as_ref()),
            Pair::Ed25519(pair) => PublicKey::new(Algorithm::Ed25519, pair.public_key().as_ref()),
        }
    }

    /// Signs a message: ECDSA on its SHA-256, in DER, or Ed25519.
    pub(super) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        match &self.0 {
            Pair::P256(pair) => {
                let signature = pair.sign(&SystemRandom::new(), message);
                Ok(signature.map_err(|_| KeyError::Random)?.as_ref().to_owned())
            }
            Pair::Ed25519(pair) => Ok(pair.sign(message).as_ref().to_owned()),
        }
    }
}
