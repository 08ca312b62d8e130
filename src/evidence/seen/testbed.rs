//! A testbed: the run publishes profiles as a cluster manager, and records what an honest consumer does with each, and
//! which members the consumer calls.

use std::collections::BTreeSet;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    ConsumerSpec, DriverAction, ObjectKey, OutputSnapshot,
    api::{ClusterProfile, Json, PlacementDecision},
};

/// The testbed of one run: who was judged on it, which members it had, and when.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Testbed {
    /// The run's id. Everything that the run created carries it.
    pub run: String,
    /// What the consumer's author says of it.
    pub consumer: ConsumerSpec,
    /// The addresses of the members.
    pub addresses: Vec<MemberAddress>,
    /// The scenarios, in the order of time.
    pub scenarios: Vec<ScenarioRun>,
    /// What the run wrote, in the order of the API server's responses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<Publication>,
    /// What an honest consumer does with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub expectations: Vec<Expectation>,
    /// How long the consumer may take to follow a change, in seconds. None if it never called the member of a control.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settle_seconds: Option<u64>,
    /// The hooks that its author gives, of those that concern the whole consumer.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub hooks: BTreeSet<DriverAction>,
    /// The calls of these hooks, in the order of time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hook_calls: Vec<HookCall>,
    /// What the consumer had made, in the order of time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<OutputSnapshot>,
    /// Whether the audit log has a request of its user that reads profiles. Otherwise the log may leave its user out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub user_in_audit_log: bool,
}

/// An address at which a member answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MemberAddress {
    /// The URL, as profiles name it.
    pub url: String,
    /// The member: the name of its profile, unless a profile of another namespace has that name, too.
    pub member: String,
    /// The server name (SNI) to which alone the member answers there; none if it answers to any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_name: Option<String>,
    /// The certificate of its authority: PEM in base64. Empty if it speaks plain HTTP.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub ca_data: String,
}

/// A span in which the run played a scenario, alongside a control: a new profile without any difficulty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScenarioRun {
    /// The scenario, for people.
    pub name: String,
    /// The member of the control profile.
    pub control: String,
    /// When the control profile was there.
    pub from: Timestamp,
    /// When the run went on.
    pub until: Timestamp,
    /// When the consumer called the control's member first; none if it never did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub called_at: Option<Timestamp>,
    /// Whether it may hold up a sequential consumer. Then the control does not show its usual delay.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_delay: bool,
}

/// One write of the run. The consumer can know of it from `sent` on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Publication {
    /// The object.
    pub object: ObjectKey,
    /// When the request was sent, by the runner's clock.
    pub sent: Timestamp,
    /// When the API server's response arrived, by the runner's clock.
    pub answered: Timestamp,
    /// The object after the write.
    pub state: Published,
}

/// An object after a write of the run, from the API server's response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Published {
    /// A ClusterProfile.
    Profile(Box<ClusterProfile>),
    /// A PlacementDecision.
    Slice(Box<PlacementDecision>),
    /// A deleted object that waits for its finalizers.
    Terminating {
        /// The finalizers.
        finalizers: Vec<String>,
    },
    /// The object no longer exists.
    Deleted {},
}

/// What an honest consumer does with a published profile during a period.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Expectation {
    /// The rule that judges it.
    pub rule: String,
    /// The published profile.
    pub profile: ObjectKey,
    /// The member that the profile describes.
    pub member: String,
    /// The URL of the member, as the profile has it; empty if the profile has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub url: String,
    /// What the consumer does.
    pub expect: Expect,
    /// When the API server's response to the write arrived that begins the period.
    pub from: Timestamp,
    /// When the next write on the profile was sent, or the end of the run.
    pub until: Timestamp,
    /// Whether another behavior is at most a warning.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub warn: bool,
    /// Why the expectation cannot be judged, for example because another client changed the profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub void: Option<String>,
}

/// What a consumer does with a published profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Expect {
    /// It calls the member.
    Called {},
    /// It calls the member again after the run ended all connections, as it does with the member of the other profile.
    CalledAs {
        /// The other profile.
        other: ObjectKey,
    },
    /// It does not call the member.
    NotCalled {},
    /// It stops calling the member.
    StopsCalling {},
    /// It calls the member at its new URL and stops calling it at the old one.
    Moves {
        /// The old URL.
        from: String,
    },
    /// It does not trust the member's certificate.
    RefusesCertificate {},
    /// It reaches the member through the proxy only.
    UsesProxy {
        /// The URL of the proxy.
        proxy: String,
    },
    /// It uses a new credential after the first one has expired.
    RenewsCredential {},
    /// It keeps its connections while the run writes the profile without changing its access.
    KeepsConnections {
        /// When these writes were sent.
        writes: Vec<Timestamp>,
    },
    /// It does not run the credential plugin for the profile.
    NoPluginRun {},
    /// It lets the deleted profile disappear.
    LetsGo {},
    /// It reports, in an event or in its log, that it does not act on the profile, and the profile on which it acts.
    Reports {
        /// The profile on which it acts.
        other: ObjectKey,
    },
}

/// Something that reached an address of a member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemberCall {
    /// When, by the runner's clock.
    pub at: Timestamp,
    /// The URL of the address.
    pub url: String,
    /// The member that the call reached; empty if its server name led to none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub member: String,
    /// The connection: unique in the run.
    pub connection: u64,
    /// The server name (SNI) of the connection, if it sent one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_name: Option<String>,
    /// Whether the connection sent a TLS hello. A connection without one may be a port scan.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hello: bool,
    /// Whether the connection came through the run's own proxy.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub via_proxy: bool,
    /// What it was.
    #[serde(rename = "event")]
    pub what: CallEvent,
}

/// What reached a member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CallEvent {
    /// A connection that was not trusted, or ended in its handshake.
    Failed {
        /// How it ended.
        reason: String,
    },
    /// A connection on which requests may follow.
    Connected {},
    /// A request.
    Request {
        /// The method.
        method: String,
        /// The path, without its query.
        path: String,
        /// Whether it watches.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        watch: bool,
        /// The credential that it carried.
        credential: MemberCredential,
        /// The status code of the answer.
        code: u16,
    },
    /// A request to a proxy: it asked for a way to another address.
    Proxied {
        /// Host and port of that address.
        host: String,
    },
    /// No call: the member ended all of its connections.
    Closed {},
}

/// A bearer token, known by the members that the run issued it for. The token itself is never kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum MemberCredential {
    /// There was none.
    None,
    /// One that the run issued.
    #[serde(rename = "issued")]
    Of {
        /// The member that it is for.
        member: String,
        /// The number of the credential: a later one is higher.
        serial: u64,
    },
    /// One that the run did not issue.
    Unknown,
}

/// One run of the recording credential plugin by the consumer (KEP-5339).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginCall {
    /// When it began, by the runner's clock.
    pub at: Timestamp,
    /// The access provider that the consumer runs it for, by the arguments of its own file.
    pub provider: String,
    /// The arguments beyond those.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// The variables that a published profile asks for, as `NAME=value`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// The `apiVersion` of `KUBERNETES_EXEC_INFO`; none if that was missing or is not an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// Its `spec.cluster`, if it was there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<PluginCluster>,
    /// What the plugin answered.
    pub answer: PluginAnswer,
}

/// The parts of a plugin call's `spec.cluster` that rules need.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct PluginCluster {
    /// The URL.
    pub server: String,
    /// The name to check the server's certificate against.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_server_name: Option<String>,
    /// The certificate of the authority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate_authority_data: Option<String>,
    /// The proxy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_url: Option<String>,
    /// `config`: what the profile says to the plugin. None if it was missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    pub config: Option<Json>,
}

/// What the recording plugin answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PluginAnswer {
    /// The credential of a member.
    Credential {
        /// The member.
        member: String,
        /// The number of the credential.
        serial: u64,
        /// When it expires: from then on the member refuses it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires: Option<Timestamp>,
    },
    /// It failed, as the run had planned.
    Failed {},
    /// It hung, as the run had planned.
    Hung {},
    /// It printed an invalid ExecCredential, as the run had planned.
    #[serde(rename = "invalidOutput")]
    Garbage {},
    /// It knows no member of that URL and that server name.
    NoMember {},
}

impl MemberCall {
    /// Whether both sides went past the handshake.
    pub fn was_trusted(&self) -> bool {
        !matches!(self.what, CallEvent::Failed { .. } | CallEvent::Closed {})
    }
}

/// One call of a hook that concerns the whole consumer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HookCall {
    /// What it has the consumer do.
    pub action: DriverAction,
    /// When the run called it, by the runner's clock.
    pub from: Timestamp,
    /// When it returned.
    pub until: Timestamp,
    /// Why it failed; none if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The end of the hook's output, without credentials.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
}
