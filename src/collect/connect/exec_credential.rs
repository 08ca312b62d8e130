//! Reads an ExecCredential: what a credential plugin prints (`client.authentication.k8s.io`).

use jiff::Timestamp;
use serde_json::Value;
use zeroize::Zeroizing;

use super::hidden::Hidden;

/// The largest answer in bytes.
pub(crate) const LARGEST: usize = 1 << 20;

/// A credential: a token, a client certificate with its key, or both. Wiped when dropped.
pub(crate) struct ExecCredential {
    pub token: Option<Zeroizing<String>>,
    pub pair: Option<Pair>,
    /// When it expires; none if the plugin does not say.
    pub expires: Option<Timestamp>,
}

/// A client certificate and its key, in PEM.
pub(crate) struct Pair {
    pub certificate: String,
    pub key: Zeroizing<String>,
}

/// What is wrong with an answer; goes on after "the plugin's answer". Quotes none of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerFlaw {
    /// It is too large to read.
    #[error("is larger than {} KiB", LARGEST / 1024)]
    TooLarge,
    /// It is neither JSON nor YAML, or of another kind.
    #[error("is no ExecCredential")]
    NoCredential,
    /// It has another `apiVersion`.
    #[error("is of another version than the {0} that was asked for")]
    Version(String),
    /// It has no `status`.
    #[error("has no status")]
    NoStatus,
    /// A field has another type.
    #[error("has a status.{0} that is no text")]
    NotText(&'static str),
    /// A certificate needs its key.
    #[error("has a client certificate or a key, and not both")]
    HalfAPair,
    /// It holds no credential.
    #[error("holds neither a token nor a client certificate")]
    Empty,
    /// It holds a certificate alone, where a token is to be renewed.
    #[error("holds no token")]
    NoToken,
    /// Its end cannot be read.
    #[error("has an expirationTimestamp that is no time in RFC 3339")]
    NoTime,
}

impl ExecCredential {
    /// Reads a plugin's answer as client-go does: JSON or YAML, in the version that was asked for. None: any version.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(printed: &[u8], version: Option<&str>) -> Result<Self, AnswerFlaw> {
        let answer = Hidden(parse(printed).ok_or(AnswerFlaw::NoCredential)?);
        let answer = &answer.0;
        if answer["kind"] != "ExecCredential" {
            return Err(AnswerFlaw::NoCredential);
        }
        if let Some(version) = version
            && answer["apiVersion"] != version
        {
            return Err(AnswerFlaw::Version(version.to_owned()));
        }
        let status = &answer["status"];
        if !status.is_object() {
            return Err(AnswerFlaw::NoStatus);
        }
        let text = |field: &'static str| match &status[field] {
            Value::Null => Ok(None),
            Value::String(text) => Ok(Some(text.clone()).filter(|text| !text.is_empty())),
            _ => Err(AnswerFlaw::NotText(field)),
        };
        let token = text("token")?.map(Zeroizing::new);
        let certificate = text("clientCertificateData")?;
        let key = text("clientKeyData")?.map(Zeroizing::new);
        let pair = match (certificate, key) {
            (Some(certificate), Some(key)) => Some(Pair { certificate, key }),
            (None, None) => None,
            _ => return Err(AnswerFlaw::HalfAPair),
        };
        if token.is_none() && pair.is_none() {
            return Err(AnswerFlaw::Empty);
        }
        let expires = text("expirationTimestamp")?.map(|time| time.parse());
        let expires = expires.transpose().map_err(|_| AnswerFlaw::NoTime)?;
        Ok(Self { token, pair, expires })
    }
}

/// Parses JSON or YAML: consumers' libraries read both.
fn parse(bytes: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(bytes).ok()?;
    let json: Option<Value> = serde_json::from_str(text).ok();
    json.or_else(|| serde_saphyr::from_str(text).ok())
        .filter(Value::is_object)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const V1: &str = "client.authentication.k8s.io/v1";
    const BETA: &str = "client.authentication.k8s.io/v1beta1";

    fn read(answer: &str) -> Result<ExecCredential, AnswerFlaw> {
        ExecCredential::read(answer.as_bytes(), Some(V1))
    }

    fn answer(status: &Value) -> String {
        json!({"apiVersion": V1, "kind": "ExecCredential", "status": status}).to_string()
    }

    #[test]
    fn credentials_are_read_as_clients_read_them() {
        let token = |answer: &str| {
            read(answer)
                .expect("a credential")
                .token
                .expect("a token")
                .to_string()
        };
        let time = "2026-01-01T01:00:00+01:00";
        let timed = answer(&json!({"token": "t", "expirationTimestamp": time}));
        assert_eq!(token(&timed), "t");
        let timed = read(&timed).expect("a credential");
        assert_eq!(timed.expires, "2026-01-01T00:00:00Z".parse().ok());
        assert!(timed.pair.is_none());

        let pair = json!({"clientCertificateData": "c", "clientKeyData": "k", "expirationTimestamp": null});
        let certified = read(&answer(&pair)).expect("a credential");
        assert!(certified.token.is_none() && certified.expires.is_none());
        let pair = certified.pair.expect("a pair");
        assert_eq!((pair.certificate.as_str(), pair.key.as_str()), ("c", "k"));

        let yaml = format!("apiVersion: {V1}\nkind: ExecCredential\nstatus:\n  token: t\n");
        assert_eq!(token(&yaml), "t");
        let any = ExecCredential::read(yaml.as_bytes(), None).expect("a credential");
        assert_eq!(any.token.expect("a token").as_str(), "t");
    }

    #[test]
    fn what_is_none_is_told_without_a_word_of_it() {
        let of = |version: &str, kind: &str| {
            json!({"apiVersion": version, "kind": kind, "status": {"token": "CANARY"}}).to_string()
        };
        let cases = [
            (String::new(), "no ExecCredential"),
            ("CANARY".to_owned(), "no ExecCredential"),
            ("CANARY: [".to_owned(), "no ExecCredential"),
            (of(V1, "Secret"), "no ExecCredential"),
            (
                of(BETA, "ExecCredential"),
                "another version than the client.authentication.k8s.io/v1 that",
            ),
            (of("CANARY", "ExecCredential"), "another version than"),
            (answer(&json!("CANARY")), "no status"),
            (answer(&json!({})), "neither a token nor"),
            (answer(&json!({"token": ""})), "neither a token nor"),
            (
                answer(&json!({"token": ["CANARY"]})),
                "status.token that is no text",
            ),
            (
                answer(&json!({"token": "CANARY", "clientKeyData": "CANARY"})),
                "and not both",
            ),
            (
                answer(&json!({"token": "CANARY", "expirationTimestamp": "CANARY"})),
                "no time in RFC 3339",
            ),
        ];
        for (answer, expected) in cases {
            let flaw = read(&answer).err().expect("no credential").to_string();
            assert!(flaw.contains(expected) && !flaw.contains("CANARY"), "{flaw}");
        }
    }
}
