//! Redacts a member's own credentials in its answers, which may repeat them.

use kube::config::AuthInfo;
use serde_json::Value;
use zeroize::Zeroizing;

use crate::connect::messages::one_line;

/// Shorter ones would be found in innocent words.
const SHORTEST: usize = 8;
/// How many characters of a member's words are kept.
const LONGEST: usize = 200;

/// The credentials by which a member is asked, as far as they are known: not those that a plugin gives. Can neither be
/// printed nor written, and is wiped in the end.
#[derive(Default)]
pub(super) struct Clean(Zeroizing<Vec<String>>);

impl Clean {
    /// Of what a kubeconfig says of a user.
    pub fn of(user: &AuthInfo) -> Self {
        let mut user = serde_json::to_value(user).unwrap_or_default();
        let secrets = ["token", "password", "client-key-data"].map(|key| user[key].take());
        let secrets = secrets.into_iter().filter_map(|secret| match secret {
            Value::String(secret) => Some(secret),
            _ => None,
        });
        let secrets: Vec<String> = secrets.filter(|secret| secret.trim().len() >= SHORTEST).collect();
        Self(secrets.into())
    }

    /// A member's words in one line, without credentials and no longer than anybody reads.
    pub fn words(&self, text: &str) -> String {
        one_line(&self.value(text), LONGEST)
    }

    /// A value as it is, but for the very credentials.
    pub fn value(&self, text: &str) -> String {
        let secrets = self.0.iter().map(|secret| secret.trim());
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
