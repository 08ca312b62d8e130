//! What a plugin's answer is worth to a consumer.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::plan::{Output, Protocol};
use crate::connect::{
    exec_credential::{AnswerFlaw, ExecCredential},
    hidden::Hidden,
};

/// The clock skew up to which a credential does not count as expired.
const SKEW: SignedDuration = SignedDuration::from_mins(5);

/// A credential that a plugin has issued.
pub(crate) struct Issued {
    /// In the format of a kubeconfig's user.
    pub user: Hidden,
    /// When it expires; none if the plugin does not say.
    pub expires: Option<Timestamp>,
}

/// Why an answer is of no use; goes on after "the plugin's answer".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Useless {
    #[error(transparent)]
    Flawed(#[from] AnswerFlaw),
    #[error("expired {:#} ago", .0)]
    Expired(SignedDuration),
}

/// Reads an answer in that version of the protocol.
///
/// # Errors
/// When it is none, or has expired.
pub(super) fn read(output: &Output, protocol: Protocol, now: Timestamp) -> Result<Issued, Useless> {
    let credential = ExecCredential::read(&output.0, Some(protocol.api_version()))?;
    if let Some(expires) = credential.expires {
        let age = now.duration_since(expires);
        if age > SKEW {
            return Err(Useless::Expired(SignedDuration::from_secs(age.as_secs())));
        }
    }
    let mut user = Hidden(json!({}));
    if let Some(token) = &credential.token {
        user.0["token"] = token.as_str().into();
    }
    if let Some(pair) = &credential.pair {
        user.0["client-certificate-data"] = BASE64.encode(&pair.certificate).into();
        user.0["client-key-data"] = BASE64.encode(pair.key.as_str()).into();
    }
    Ok(Issued {
        user,
        expires: credential.expires,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn outcome(status: &Value) -> Result<(Value, Option<Timestamp>), Useless> {
        let version = Protocol::V1.api_version();
        let answer = json!({"apiVersion": version, "kind": "ExecCredential", "status": status});
        let now = "2026-01-01T00:00:00Z".parse().expect("a time");
        let output = Output(answer.to_string().into_bytes());
        read(&output, Protocol::V1, now).map(|issued| (issued.user.0.clone(), issued.expires))
    }

    #[test]
    fn a_credential_becomes_a_kubeconfigs_user() {
        let token = json!({"token": "t", "expirationTimestamp": "2025-12-31T23:56:00Z"});
        let expires = "2025-12-31T23:56:00Z".parse().ok();
        assert_eq!(outcome(&token), Ok((json!({"token": "t"}), expires)));
        let pair = json!({"clientCertificateData": "c", "clientKeyData": "k"});
        let user = json!({"client-certificate-data": "Yw==", "client-key-data": "aw=="});
        assert_eq!(outcome(&pair), Ok((user, None)));
    }

    #[test]
    fn what_has_expired_or_is_none_is_useless() {
        let told = |status: Value| outcome(&status).expect_err("no credential").to_string();
        let expired = json!({"token": "CANARY", "expirationTimestamp": "2025-12-31T22:00:00Z"});
        assert_eq!(told(expired), "expired 2h ago");
        assert_eq!(told(json!({})), "holds neither a token nor a client certificate");
    }
}
