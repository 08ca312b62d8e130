//! Public keys, which verify signatures.

use ring::signature::{ECDSA_P256_SHA256_ASN1, ED25519, UnparsedPublicKey, VerificationAlgorithm};

use super::{
    key_file::{KeyError, KeyFile, other_algorithm},
    minisign,
    statement::sha256,
};

/// A public key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    algorithm: Algorithm,
    /// The point, as the algorithm encodes it.
    point: Vec<u8>,
}

/// A public key with the name of who has the private one, as the verifier calls them.
#[derive(Clone, Debug)]
pub struct NamedKey {
    /// The name.
    pub name: String,
    /// The key.
    pub key: PublicKey,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    P256,
    Ed25519,
}

impl Algorithm {
    const ALL: [Self; 2] = [Self::P256, Self::Ed25519];

    /// What precedes the point of such a key in DER (SubjectPublicKeyInfo), and the length of the point.
    fn header(self) -> (&'static [u8], usize) {
        match self {
            Self::P256 => (
                b"\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x42\x00",
                65,
            ),
            Self::Ed25519 => (b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00", 32),
        }
    }
}

impl PublicKey {
    pub(super) fn new(algorithm: Algorithm, point: &[u8]) -> Self {
        Self {
            algorithm,
            point: point.to_owned(),
        }
    }

    /// Reads a key: PEM, or minisign's file or line.
    ///
    /// # Errors
    /// When it is none that can be used.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        match KeyFile::parse(text)? {
            KeyFile::Pem { label, content } if label == "PUBLIC KEY" => Self::from_der(&content),
            KeyFile::Pem { label, .. } if label.ends_with("PRIVATE KEY") => Err(KeyError::Private),
            KeyFile::Pem { label, .. } if label == "RSA PUBLIC KEY" => Err(KeyError::Algorithm(" (RSA)")),
            KeyFile::Pem { .. } => Err(KeyError::Unknown),
            KeyFile::Minisign(content) if minisign::is_private(&content) => Err(KeyError::Private),
            KeyFile::Minisign(content) => Ok(Self::new(Algorithm::Ed25519, minisign::public(&content)?)),
        }
    }

    fn from_der(der: &[u8]) -> Result<Self, KeyError> {
        let own = Algorithm::ALL.into_iter().find_map(|algorithm| {
            let (header, length) = algorithm.header();
            let point = der.strip_prefix(header)?;
            (point.len() == length).then(|| Self::new(algorithm, point))
        });
        own.ok_or_else(|| other_algorithm(der))
    }

    /// What the key is known by: the SHA-256 of its SubjectPublicKeyInfo, in hexadecimal after `sha256:`.
    pub fn id(&self) -> String {
        let (header, _) = self.algorithm.header();
        format!("sha256:{}", sha256(&[header, &self.point].concat()))
    }

    /// Whether it verifies a signature of that message.
    pub(super) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let algorithm: &dyn VerificationAlgorithm = match self.algorithm {
            Algorithm::P256 => &ECDSA_P256_SHA256_ASN1,
            Algorithm::Ed25519 => &ED25519,
        };
        let key = UnparsedPublicKey::new(algorithm, &self.point);
        key.verify(message, signature).is_ok()
    }
}
