//! Sends requests to a member, with limits of time and size.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use evidence::{Reason, ReasonId};
use http::{HeaderMap, Method, StatusCode};
use jiff::Timestamp;
use kube::{Client, config::AuthInfo};
use serde_json::{Map, Value, json};
use zeroize::Zeroizing;

use crate::connect::{
    call::{NO_WHOLE_ANSWER, TimedClient, answer, body, once, read, request, retry, send, within},
    failure::{Failure, How, code_name, one_line},
    own_credentials::secrets_in,
};

/// How long a request may take in all.
const REQUEST: Duration = Duration::from_secs(10);
/// How often a request is sent to a member that is busy or ailing.
const ATTEMPTS: u32 = 2;

/// Why a member that does not accept the credential is missing.
pub(super) const NOT_ACCEPTED: &str =
    "the member answered 401 Unauthorized: it does not accept the credential";

/// A member, as it is asked.
pub(super) struct Asker {
    pub client: TimedClient,
    pub clean: Clean,
    /// When its credential expires, if that is known.
    pub expires: Option<Timestamp>,
}

impl Asker {
    pub fn new(client: Client, clean: Clean) -> Self {
        Self {
            client: TimedClient::new(client, REQUEST, Arc::default(), 0),
            clean,
            expires: None,
        }
    }

    /// Gets what is at `path`, whatever the member answers.
    ///
    /// # Errors
    /// When there is no whole answer.
    pub async fn answer(&self, path: &str) -> Result<(StatusCode, Bytes), Failure> {
        within(REQUEST, NO_WHOLE_ANSWER, async {
            let response = answer(&self.client, request(Method::GET, path)?).await?;
            Ok((response.status(), body(response).await?))
        })
        .await
    }

    /// Reads the object at `path`, with the headers of the answer.
    ///
    /// # Errors
    /// When there is none.
    pub async fn get(&self, path: &str) -> Result<(Value, HeaderMap), Failure> {
        let attempts = retry(ATTEMPTS, Failure::is_ailing, || async {
            let response = send(&self.client, request(Method::GET, path)?).await?;
            let headers = response.headers().clone();
            let object: Map<String, Value> = read(response, path, &self.client).await?;
            Ok((object.into(), headers))
        });
        within(REQUEST, NO_WHOLE_ANSWER, attempts).await
    }

    /// Asks a question about oneself, which stores nothing.
    ///
    /// # Errors
    /// When it is not answered.
    pub async fn review(&self, path: &str, review: &Value) -> Result<Value, Failure> {
        let attempts = retry(ATTEMPTS, Failure::is_ailing, || async {
            let answer: Map<String, Value> =
                once(&self.client, Method::POST, path, "application/json", Some(review)).await?;
            Ok(answer.into())
        });
        within(REQUEST, NO_WHOLE_ANSWER, attempts).await
    }

    /// Why there is no answer to use, in one line. Holds nothing of what the member said. `right` is what would let the
    /// runner in.
    pub fn describe(&self, failure: &Failure, right: &str) -> Reason {
        match (failure, failure.code()) {
            (Failure::NoAnswer { cause, how }, _) => {
                let insecure = if *how == How::Insecure {
                    "no secure connection: "
                } else {
                    ""
                };
                format!("{insecure}{}", self.clean.words(cause)).into()
            }
            (_, 401) => NOT_ACCEPTED.into(),
            (_, 403) => {
                let reason = format!("the member answered 403 Forbidden: grant {right} on the member");
                Reason::of(ReasonId::MemberForbidden, reason)
            }
            (_, code @ 300..=399) => {
                format!("the member answered {}, which is not followed", code_name(code)).into()
            }
            (_, code) => format!("the member answered {}", code_name(code)).into(),
        }
    }
}

/// The answer makes no sense.
pub(super) fn unreadable() -> Failure {
    Failure::broken("what the member answered cannot be read")
}

/// Shorter values are words that other texts contain, too.
const SHORTEST_SECRET: usize = 8;
/// How many characters of a member's words are kept.
const LONGEST_WORDS: usize = 200;

/// Redacts the credentials of a kubeconfig, which a member's answers may repeat. Can neither be printed nor written, and is
/// wiped when dropped.
#[derive(Default)]
pub(super) struct Clean(Zeroizing<Vec<String>>);

impl Clean {
    /// Redacts the credentials of a kubeconfig's user.
    pub fn of(user: &AuthInfo) -> Self {
        let kubeconfig = Zeroizing::new(json!({"users": [{"user": user}]}).to_string());
        // What rules compare may contain a region or a profile's name, which a kubeconfig may also give to a plugin.
        let secrets = secrets_in(&kubeconfig).into_iter();
        let secrets: Vec<String> = secrets.filter(|secret| secret.len() >= SHORTEST_SECRET).collect();
        Self(secrets.into())
    }

    /// A member's words in one line, without credentials.
    pub fn words(&self, text: &str) -> String {
        one_line(&self.value(text), LONGEST_WORDS)
    }

    /// A value without the credentials.
    pub fn value(&self, text: &str) -> String {
        let secrets = self.0.iter();
        secrets.fold(text.to_owned(), |text, secret| text.replace(secret, "…"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_that_repeats_its_credential_tells_nothing() {
        let user = r#"{"token": " CANARY-token\n", "password": "short", "client-key-data": "Q0FOQVJZ"}"#;
        let clean = Clean::of(&serde_json::from_str(user).expect("a user"));
        assert_eq!(
            clean.words("a CANARY-token, short\nand Q0FOQVJZ"),
            "a …, short and …"
        );
        assert_eq!(clean.value("CANARY-token"), "…");
        assert_eq!(clean.words(&"é".repeat(300)), format!("{}…", "é".repeat(200)));
        assert_eq!(Clean::default().words("Bearer abcdefghijklmnopqrstuvwxyz"), "…");
    }
}
