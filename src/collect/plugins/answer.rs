//! Reads a plugin's answer: an ExecCredential.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{
    error::AnswerFlaw,
    plan::{Output, Protocol},
};
use crate::hidden::Hidden;

/// The clock skew up to which a credential does not count as expired.
const SKEW: SignedDuration = SignedDuration::from_mins(5);

/// A credential that a plugin has issued.
pub(crate) struct Issued {
    /// In the format of a kubeconfig's user.
    pub user: Hidden,
    /// When it expires; none if the plugin does not say.
    pub expires: Option<Timestamp>,
}

/// Reads an answer in that version of the protocol.
///
/// # Errors
/// What is wrong with it.
pub(super) fn read(output: &Output, protocol: Protocol, now: Timestamp) -> Result<Issued, AnswerFlaw> {
    let answer = Hidden(parse(&output.0).ok_or(AnswerFlaw::NoCredential)?);
    let answer = &answer.0;
    if answer["kind"] != "ExecCredential" {
        return Err(AnswerFlaw::NoCredential);
    }
    if answer["apiVersion"] != protocol.api_version() {
        return Err(AnswerFlaw::Version(protocol));
    }
    let status = &answer["status"];
    if !status.is_object() {
        return Err(AnswerFlaw::NoStatus);
    }
    let text = |field: &'static str| match &status[field] {
        Value::Null => Ok(""),
        Value::String(text) => Ok(text.as_str()),
        _ => Err(AnswerFlaw::NotText(field)),
    };
    let (token, certificate, key) = (
        text("token")?,
        text("clientCertificateData")?,
        text("clientKeyData")?,
    );
    if certificate.is_empty() != key.is_empty() {
        return Err(AnswerFlaw::HalfAPair);
    }
    if token.is_empty() && key.is_empty() {
        return Err(AnswerFlaw::Empty);
    }
    let expires = match text("expirationTimestamp")? {
        "" => None,
        time => Some(expiry(time, now)?),
    };
    let mut user = Hidden(json!({}));
    if !token.is_empty() {
        user.0["token"] = token.into();
    }
    if !key.is_empty() {
        user.0["client-certificate-data"] = BASE64.encode(certificate).into();
        user.0["client-key-data"] = BASE64.encode(key).into();
    }
    Ok(Issued { user, expires })
}

/// Parses JSON or YAML: consumers' libraries read both.
fn parse(bytes: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(bytes).ok()?;
    let json: Option<Value> = serde_json::from_str(text).ok();
    json.or_else(|| serde_saphyr::from_str(text).ok())
        .filter(Value::is_object)
}

fn expiry(time: &str, now: Timestamp) -> Result<Timestamp, AnswerFlaw> {
    let expires: Timestamp = time.parse().map_err(|_| AnswerFlaw::NoTime)?;
    let age = now.duration_since(expires);
    if age > SKEW {
        Err(AnswerFlaw::Expired(SignedDuration::from_secs(age.as_secs())))
    } else {
        Ok(expires)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(answer: &str) -> Result<(Value, Option<Timestamp>), AnswerFlaw> {
        let now = "2026-01-01T00:00:00Z".parse().expect("a time");
        let output = Output(answer.as_bytes().to_vec());
        read(&output, Protocol::V1, now).map(|issued| (issued.user.0.clone(), issued.expires))
    }

    fn answer(status: Value) -> String {
        let version = Protocol::V1.api_version();
        json!({"apiVersion": version, "kind": "ExecCredential", "status": status}).to_string()
    }

    #[test]
    fn credentials_are_read_as_clients_read_them() {
        let time = "2026-01-01T01:00:00+01:00";
        let issued = outcome(&answer(json!({"token": "t", "expirationTimestamp": time})));
        let expires = "2026-01-01T00:00:00Z".parse().ok();
        assert_eq!(issued, Ok((json!({"token": "t"}), expires)));
        let pair = json!({"clientCertificateData": "c", "clientKeyData": "k", "expirationTimestamp": null});
        let user = json!({"client-certificate-data": "Yw==", "client-key-data": "aw=="});
        assert_eq!(outcome(&answer(pair)), Ok((user, None)));
        let yaml = "apiVersion: client.authentication.k8s.io/v1\nkind: ExecCredential\nstatus:\n  token: t\n";
        assert_eq!(outcome(yaml), Ok((json!({"token": "t"}), None)));
    }

    #[test]
    fn what_is_none_is_told_without_a_word_of_it() {
        let of = |version: &str, kind: &str| {
            json!({"apiVersion": version, "kind": kind, "status": {"token": "CANARY"}}).to_string()
        };
        let (v1, beta) = (Protocol::V1.api_version(), Protocol::V1Beta1.api_version());
        let cases = [
            (String::new(), "no ExecCredential"),
            ("CANARY".to_owned(), "no ExecCredential"),
            ("CANARY: [".to_owned(), "no ExecCredential"),
            (of(v1, "Secret"), "no ExecCredential"),
            (of(beta, "ExecCredential"), "another version than"),
            (of("CANARY", "ExecCredential"), "another version than"),
            (answer(json!("CANARY")), "no status"),
            (answer(json!({})), "neither a token nor"),
            (
                answer(json!({"token": ["CANARY"]})),
                "status.token that is no text",
            ),
            (
                answer(json!({"token": "CANARY", "clientKeyData": "CANARY"})),
                "and not both",
            ),
            (
                answer(json!({"token": "CANARY", "expirationTimestamp": "CANARY"})),
                "no time in RFC 3339",
            ),
            (
                answer(json!({"token": "CANARY", "expirationTimestamp": "2025-12-31T22:00:00Z"})),
                "expired 2h ago",
            ),
        ];
        for (answer, expected) in cases {
            let flaw = outcome(&answer).expect_err("no credential").to_string();
            assert!(flaw.contains(expected) && !flaw.contains("CANARY"), "{flaw}");
        }
    }
}
