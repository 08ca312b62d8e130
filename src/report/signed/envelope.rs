//! DSSE envelopes: a payload with its type, and signatures of both.

use base64::{
    Engine as _,
    alphabet::{STANDARD, URL_SAFE},
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig, general_purpose},
};
use serde::{Deserialize, Serialize};

use super::{
    key_file::KeyError,
    private_key::PrivateKey,
    public_key::NamedKey,
    statement::{STATEMENTS, Statement, TEST_RESULT},
};

/// The most bytes that an envelope may have.
pub const LARGEST_ENVELOPE: u64 = 1 << 20;

/// The most signatures to verify.
const MOST_SIGNATURES: usize = 64;

/// The type of a payload that is an in-toto Statement.
const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// An envelope, decoded.
#[derive(Debug)]
pub struct Envelope {
    payload: Vec<u8>,
    signatures: Vec<Vec<u8>>,
}

/// Why a file cannot be used as the signature of a report.
#[derive(Debug, thiserror::Error)]
pub enum EnvelopeError {
    /// It is no envelope.
    #[error("it is no DSSE envelope: {0}")]
    Shape(#[source] serde_json::Error),
    /// Its base64 is invalid.
    #[error("the base64 of its {0} is invalid: copy the whole file again")]
    Base64(&'static str),
    /// It has another payload.
    #[error("its payloadType is `{0}`, and that of a signed report is `{PAYLOAD_TYPE}`")]
    PayloadType(String),
    /// It has no signature, or too many.
    #[error("it has {0} signatures: expected 1 to {MOST_SIGNATURES}")]
    Signatures(usize),
    /// No key verifies a signature.
    #[error(
        "no signature verifies with a key that was given: it was signed with another key, or changed since"
    )]
    Unverified,
    /// What was signed is no Statement.
    #[error("what it signs is no in-toto Statement: {0}")]
    Statement(#[source] serde_json::Error),
    /// What was signed is another kind of Statement.
    #[error("it signs a Statement of type `{0}`, and a signed report has `{TEST_RESULT}`")]
    OtherStatement(String),
}

/// The envelope as JSON. Other fields are ignored, and so are ids of keys: they are not signed.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    payload_type: String,
    payload: String,
    signatures: Vec<WireSignature>,
}

#[derive(Serialize, Deserialize)]
struct WireSignature {
    /// Empty, as cosign has it: verifiers skip signatures with an id that they would not have made.
    #[serde(default)]
    keyid: String,
    sig: String,
}

/// A bundle of Sigstore, in which `cosign attest-blob --bundle` wraps an envelope.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bundle {
    dsse_envelope: Wire,
}

impl Envelope {
    /// Signs a Statement. Returns the envelope as a line of JSON.
    ///
    /// # Errors
    /// When the key cannot sign.
    pub fn sign(statement: &Statement, key: &PrivateKey) -> Result<String, KeyError> {
        let payload = serde_json::to_vec(statement).expect("it has text alone");
        let encode = |bytes: &[u8]| general_purpose::STANDARD.encode(bytes);
        let wire = Wire {
            payload_type: PAYLOAD_TYPE.to_owned(),
            payload: encode(&payload),
            signatures: vec![WireSignature {
                keyid: String::new(),
                sig: encode(&key.sign(&signed_bytes(&payload))?),
            }],
        };
        Ok(serde_json::to_string(&wire).expect("it has text alone") + "\n")
    }

    /// Decodes an envelope, or a bundle of Sigstore with one.
    ///
    /// # Errors
    /// When it is none, or has another payload.
    pub fn parse(json: &[u8]) -> Result<Self, EnvelopeError> {
        let bundle = serde_json::from_slice(json).map(|Bundle { dsse_envelope }| dsse_envelope);
        let wire: Wire = bundle
            .or_else(|_| serde_json::from_slice(json))
            .map_err(EnvelopeError::Shape)?;
        if wire.payload_type != PAYLOAD_TYPE {
            return Err(EnvelopeError::PayloadType(wire.payload_type));
        }
        if !(1..=MOST_SIGNATURES).contains(&wire.signatures.len()) {
            return Err(EnvelopeError::Signatures(wire.signatures.len()));
        }
        let signatures = wire.signatures.iter().map(|one| decode(&one.sig, "signature"));
        Ok(Self {
            payload: decode(&wire.payload, "payload")?,
            signatures: signatures.collect::<Result<_, _>>()?,
        })
    }

    /// Opens it: returns what was signed, and the keys that verify a signature.
    ///
    /// # Errors
    /// When no key does, or something else was signed than what came of a run.
    pub(super) fn open<'a>(
        &self,
        keys: &'a [NamedKey],
    ) -> Result<(Statement, Vec<&'a NamedKey>), EnvelopeError> {
        let message = signed_bytes(&self.payload);
        let signs = |key: &NamedKey| self.signatures.iter().any(|one| key.key.verifies(&message, one));
        let signers: Vec<&NamedKey> = keys.iter().filter(|key| signs(key)).collect();
        if signers.is_empty() {
            return Err(EnvelopeError::Unverified);
        }
        let statement: Statement = serde_json::from_slice(&self.payload).map_err(EnvelopeError::Statement)?;
        if !STATEMENTS.contains(&&*statement.kind) {
            return Err(EnvelopeError::OtherStatement(statement.kind));
        }
        if statement.predicate_type != TEST_RESULT {
            return Err(EnvelopeError::OtherStatement(statement.predicate_type));
        }
        Ok((statement, signers))
    }
}

/// What is signed of a payload: DSSE's pre-authentication encoding.
fn signed_bytes(payload: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {PAYLOAD_TYPE} {} ", PAYLOAD_TYPE.len(), payload.len());
    [head.as_bytes(), payload].concat()
}

/// Decodes base64 in either alphabet, as DSSE asks.
fn decode(text: &str, what: &'static str) -> Result<Vec<u8>, EnvelopeError> {
    let alphabet = if text.contains(['-', '_']) {
        URL_SAFE
    } else {
        STANDARD
    };
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let decoded = GeneralPurpose::new(&alphabet, config).decode(text);
    decoded.map_err(|_| EnvelopeError::Base64(what))
}
