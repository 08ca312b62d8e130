//! The credential plugin of a testbed: what it is told to do for each member, and what it gave.

use std::{collections::HashMap, time::Duration};

use evidence::{MemberCredential, PluginAnswer, PluginCluster, api::Json};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::random::{LENGTH, random_text};

/// How tokens begin, so that they are found in texts.
pub(super) const TOKEN_PREFIX: &str = "cpt-";
/// The length of a token.
pub(super) const TOKEN_LENGTH: usize = TOKEN_PREFIX.len() + LENGTH;
/// How long a credential is good for, unless it is told otherwise.
const LIFETIME: Duration = Duration::from_secs(600);
/// The version in which the plugin answers if the consumer names none.
const API_VERSION: &str = "client.authentication.k8s.io/v1";
/// What no client takes for a credential.
const GARBAGE: &str = "this is no credential";

/// A run of the credential plugin.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PluginRun {
    /// The provider, as the consumer's own file has it.
    pub provider: String,
    /// The arguments after that file's.
    pub args: Vec<String>,
    /// Variables of its environment that staged profiles ask for, as `NAME=value`. Others are not kept.
    pub env: Vec<String>,
    /// `KUBERNETES_EXEC_INFO`.
    pub exec_info: Option<String>,
}

/// What the plugin is to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PluginReply {
    /// Print this ExecCredential.
    Credential(Value),
    /// Print this text, which is none.
    Garbage(String),
    /// Fail with this message.
    Failure(String),
    /// Do nothing for so long, and fail then.
    Hang(Duration),
}

/// What the plugin does for a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PluginPlan {
    /// It gives credentials that are good for so long.
    Gives(Duration),
    /// It fails.
    Fails,
    /// It prints what is no credential.
    PrintsGarbage,
    /// It does nothing for so long, and fails then.
    Hangs(Duration),
}

/// The credentials that were issued, and the plans for those to come.
#[derive(Debug, Default)]
pub(super) struct Credentials {
    plans: HashMap<String, PluginPlan>,
    /// By token.
    issued: HashMap<String, Issued>,
}

#[derive(Clone, Debug)]
struct Issued {
    member: String,
    serial: u64,
    expires: Timestamp,
}

impl Credentials {
    /// From now on the plugin does that for a member.
    pub(super) fn plan(&mut self, member: &str, plan: PluginPlan) {
        self.plans.insert(member.to_owned(), plan);
    }

    /// From now on the plugin gives credentials for all members.
    pub(super) fn forget_plans(&mut self) {
        self.plans.clear();
    }

    /// What the plugin answers for a member, in that version of its protocol.
    pub(super) fn answer(
        &mut self,
        member: String,
        at: Timestamp,
        api_version: Option<&str>,
    ) -> (PluginAnswer, PluginReply) {
        let plan = self.plans.get(&member).copied();
        let lifetime = match plan.unwrap_or(PluginPlan::Gives(LIFETIME)) {
            PluginPlan::Gives(lifetime) => lifetime,
            PluginPlan::Fails => {
                let reply = PluginReply::Failure("the plugin was told to fail".to_owned());
                return (PluginAnswer::Failed {}, reply);
            }
            PluginPlan::PrintsGarbage => {
                return (PluginAnswer::Garbage {}, PluginReply::Garbage(GARBAGE.to_owned()));
            }
            PluginPlan::Hangs(duration) => return (PluginAnswer::Hung {}, PluginReply::Hang(duration)),
        };
        let lifetime = SignedDuration::try_from(lifetime).unwrap_or(SignedDuration::MAX);
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
        let issued = Issued {
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
        (answer, PluginReply::Credential(credential))
    }

    /// Whose credential that is, and whether it has expired.
    pub(super) fn whose(&self, token: Option<&str>, at: Timestamp) -> (MemberCredential, bool) {
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

/// What a caller tells the plugin: the version, and the cluster, if any.
pub(super) fn told(exec_info: Option<&str>) -> (Option<String>, Option<PluginCluster>) {
    let info: Option<Value> = exec_info.and_then(|text| serde_json::from_str(text).ok());
    let info = info.filter(Value::is_object).unwrap_or_default();
    let api_version = info["apiVersion"].as_str().map(str::to_owned);
    let cluster = info["spec"].get("cluster").filter(|cluster| cluster.is_object());
    (api_version, cluster.map(plugin_cluster))
}

fn plugin_cluster(cluster: &Value) -> PluginCluster {
    let text = |name: &str| cluster[name].as_str().map(str::to_owned);
    PluginCluster {
        server: text("server").unwrap_or_default(),
        tls_server_name: text("tls-server-name"),
        certificate_authority_data: text("certificate-authority-data"),
        proxy_url: text("proxy-url"),
        config: cluster.get("config").map(Json::from),
    }
}
