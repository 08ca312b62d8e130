//! The credentials that the testbed's plugin issues, and how the plugin behaves for each member.

use std::{collections::HashMap, time::Duration};

use evidence::{MemberCredential, PluginAnswer};
use jiff::{SignedDuration, Timestamp};
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::scenarios::PluginBehavior;

/// The prefix of tokens, by which they are found in texts.
pub(super) const TOKEN_PREFIX: &str = "cpt-";
pub(super) const TOKEN_LENGTH: usize = TOKEN_PREFIX.len() + 2 * RANDOM_BYTES;
const RANDOM_BYTES: usize = 24;
/// How long a credential is valid by default, in seconds.
const LIFETIME: u32 = 600;
/// The version in which the plugin answers if the consumer names none.
const API_VERSION: &str = "client.authentication.k8s.io/v1";
/// No client can read it as a credential.
const GARBAGE: &str = "this is not a credential";

/// A run of the credential plugin.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PluginRun {
    /// The provider, as the consumer's own file has it.
    pub provider: String,
    /// The arguments after those of that file.
    pub args: Vec<String>,
    /// Variables of its environment that published profiles ask for, as `NAME=value`.
    pub env: Vec<String>,
    /// `KUBERNETES_EXEC_INFO`.
    pub exec_info: Option<String>,
}

/// What the plugin does then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PluginReply {
    /// It prints this text: an ExecCredential, or invalid output.
    Print(String),
    /// It fails with this message.
    Fail(String),
    /// It does nothing for this time, and fails then.
    Hang(Duration),
}

/// The credentials that were issued, and how the plugin behaves for each member.
#[derive(Debug, Default)]
pub(super) struct Credentials {
    /// By member: what the plugin does, and how long it hangs.
    pub(super) behaviors: HashMap<String, (PluginBehavior, Duration)>,
    /// By token.
    issued: HashMap<String, IssuedCredential>,
}

#[derive(Clone, Debug)]
struct IssuedCredential {
    member: String,
    serial: u64,
    expires: Timestamp,
}

impl Credentials {
    /// What the plugin answers for a member, in that version of its protocol.
    pub(super) fn answer(
        &mut self,
        member: String,
        at: Timestamp,
        api_version: Option<&str>,
    ) -> (PluginAnswer, PluginReply) {
        let lifetime = match self.behaviors.get(&member) {
            None => LIFETIME,
            Some((PluginBehavior::Expires(seconds), _)) => *seconds,
            Some((PluginBehavior::Fails, _)) => {
                let reply = PluginReply::Fail("this failure is part of the scenario".to_owned());
                return (PluginAnswer::Failed {}, reply);
            }
            Some((PluginBehavior::PrintsGarbage, _)) => {
                return (PluginAnswer::Garbage {}, PluginReply::Print(GARBAGE.to_owned()));
            }
            Some((PluginBehavior::Hangs, hang)) => return (PluginAnswer::Hung {}, PluginReply::Hang(*hang)),
        };
        let lifetime = SignedDuration::from_secs(lifetime.into());
        let expires = at.saturating_add(lifetime).unwrap_or(Timestamp::MAX);
        let serial = self.issued.len() as u64 + 1;
        let token = format!("{TOKEN_PREFIX}{}", random_text());
        let credential = json!({
            "apiVersion": api_version.unwrap_or(API_VERSION),
            "kind": "ExecCredential",
            "status": {
                "token": token,
                "expirationTimestamp": expires.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            },
        });
        let issued = IssuedCredential {
            member: member.clone(),
            serial,
            expires,
        };
        self.issued.insert(token, issued);
        let answer = PluginAnswer::Credential {
            member,
            serial,
            expires: Some(expires),
        };
        (answer, PluginReply::Print(credential.to_string()))
    }

    /// The credential with that token, and whether it has expired.
    pub(super) fn identify(&self, token: Option<&str>, at: Timestamp) -> (MemberCredential, bool) {
        let Some(token) = token else {
            return (MemberCredential::None, false);
        };
        match self.issued.get(token) {
            Some(issued) => {
                let credential = MemberCredential::Of {
                    member: issued.member.clone(),
                    serial: issued.serial,
                };
                (credential, issued.expires <= at)
            }
            None => (MemberCredential::Unknown, false),
        }
    }
}

/// Random letters and digits, for a secret.
pub(super) fn random_text() -> String {
    let mut random = [0; RANDOM_BYTES];
    SystemRandom::new()
        .fill(&mut random)
        .expect("the random source works");
    random.iter().map(|byte| format!("{byte:02x}")).collect()
}
