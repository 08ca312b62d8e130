//! What the stage's members and its credential plugin see of the consumer.

use std::collections::HashMap;

use evidence::{
    Called, Log, MemberAddress, MemberCall, PluginAnswer, PluginCall, PluginCluster, StagedCredential,
    Window, api::Json,
};
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{profile::is_staged_variable, random::random_text};
use crate::clock::Clock;

/// So many calls of each kind are kept. A consumer that makes more floods its members.
const MOST_CALLS: usize = 50_000;
/// How long a credential is good for.
const LIFETIME: SignedDuration = SignedDuration::from_mins(10);
/// The version in which the plugin answers if the consumer names none.
const API_VERSION: &str = "client.authentication.k8s.io/v1";

/// All calls of a consumer on a stage, and the credentials that were issued to it.
#[derive(Debug)]
pub struct Calls {
    clock: Clock,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    addresses: Vec<MemberAddress>,
    /// By token: the member that it is for, and its number.
    issued: HashMap<String, (String, u64)>,
    members: Vec<MemberCall>,
    plugins: Vec<PluginCall>,
    connections: u64,
    /// Since when calls are no longer kept.
    full: Option<Timestamp>,
}

/// A connection to a member.
#[derive(Clone, Debug)]
pub struct Connection {
    url: String,
    member: String,
    server_name: Option<String>,
    number: u64,
}

/// A request to a member.
#[derive(Clone, Copy, Debug)]
pub struct MemberRequest<'a> {
    /// The method.
    pub method: &'a str,
    /// The path, without its query.
    pub path: &'a str,
    /// Whether it watches.
    pub watch: bool,
    /// Its bearer token.
    pub token: Option<&'a str>,
}

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
    /// Fail with this message.
    Failure(String),
}

impl Calls {
    /// No calls yet.
    pub fn new(clock: Clock) -> Self {
        Self {
            clock,
            state: Mutex::default(),
        }
    }

    /// From now on a member answers at that address.
    pub fn open(&self, address: MemberAddress) {
        self.state.lock().addresses.push(address);
    }

    /// The addresses at a URL: several where server names tell their members apart.
    pub fn at(&self, url: &str) -> Vec<MemberAddress> {
        let state = self.state.lock();
        let there = state.addresses.iter().filter(|address| address.url == url);
        there.cloned().collect()
    }

    /// All addresses, in the order of their opening.
    pub fn addresses(&self) -> Vec<MemberAddress> {
        self.state.lock().addresses.clone()
    }

    /// A connection came to nothing.
    pub fn broken(&self, url: &str, server_name: Option<&str>, reason: &str) {
        let connection = self.number(url, server_name);
        self.note(
            &connection,
            Called::Broken {
                reason: reason.to_owned(),
            },
        );
    }

    /// A client is connected: both sides trust each other.
    pub fn connected(&self, url: &str, server_name: Option<&str>) -> Connection {
        let connection = self.number(url, server_name);
        self.note(&connection, Called::Connected {});
        connection
    }

    /// A request came. Gives the status code to answer with: 200, or 401 for a token that is not the member's.
    pub fn requested(&self, connection: &Connection, request: MemberRequest<'_>) -> u16 {
        let credential = self.whose(request.token);
        let is_its =
            matches!(&credential, StagedCredential::Of { member, .. } if *member == connection.member);
        let code = if is_its { 200 } else { 401 };
        self.note(
            connection,
            Called::Request {
                method: request.method.to_owned(),
                path: request.path.to_owned(),
                watch: request.watch,
                credential,
                code,
            },
        );
        code
    }

    /// The plugin ran.
    pub fn ran(&self, run: PluginRun) -> PluginReply {
        let at = self.clock.now();
        let info: Option<Value> = run.exec_info.and_then(|text| serde_json::from_str(&text).ok());
        let info = info.filter(Value::is_object).unwrap_or_default();
        let api_version = info["apiVersion"].as_str().map(str::to_owned);
        let cluster = info["spec"].get("cluster").filter(|cluster| cluster.is_object());
        let cluster = cluster.map(plugin_cluster);
        let mut state = self.state.lock();
        let member = cluster.as_ref().and_then(|cluster| state.member_of(cluster));
        let (answer, reply) = match member {
            None => (
                PluginAnswer::NoMember {},
                PluginReply::Failure("there is no member of that server".to_owned()),
            ),
            Some(member) => {
                let (token, serial) = state.issue(&member);
                let expires = at.saturating_add(LIFETIME).unwrap_or(Timestamp::MAX);
                let credential = json!({
                    "apiVersion": api_version.as_deref().unwrap_or(API_VERSION),
                    "kind": "ExecCredential",
                    "status": {
                        "token": token,
                        "expirationTimestamp": expires.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
                    },
                });
                (
                    PluginAnswer::Credential {
                        member,
                        serial,
                        expires: None,
                    },
                    PluginReply::Credential(credential),
                )
            }
        };
        let mut env = run.env;
        env.retain(|variable| is_staged_variable(variable));
        let call = PluginCall {
            at,
            provider: run.provider,
            args: run.args,
            env,
            api_version,
            cluster,
            answer,
        };
        if state.plugins.len() < MOST_CALLS {
            state.plugins.push(call);
        } else {
            state.full.get_or_insert(at);
        }
        reply
    }

    /// When the consumer first reached a member, and was trusted by it and trusted it.
    pub fn first_call(&self, member: &str) -> Option<Timestamp> {
        let state = self.state.lock();
        let mut calls = state.members.iter();
        let first = calls.find(|call| call.member == member && call.was_trusted());
        first.map(|call| call.at)
    }

    /// All that has reached members so far.
    pub fn recorded(&self) -> Vec<MemberCall> {
        self.state.lock().members.clone()
    }

    /// The calls since that moment, and since when more of them were not kept.
    pub(super) fn since(&self, from: Timestamp) -> (Log<MemberCall>, Log<PluginCall>, Option<Timestamp>) {
        let state = self.state.lock();
        let until = state.full.unwrap_or(self.clock.now());
        let covers = Window { from, until };
        let members = Log {
            covers,
            events: state.members.clone(),
        };
        let plugins = Log {
            covers,
            events: state.plugins.clone(),
        };
        (members, plugins, state.full)
    }

    fn number(&self, url: &str, server_name: Option<&str>) -> Connection {
        let mut state = self.state.lock();
        state.connections += 1;
        let mut there = state.addresses.iter().filter(|address| address.url == url);
        let address = there
            .find(|address| address.server_name.is_none() || address.server_name.as_deref() == server_name);
        Connection {
            url: url.to_owned(),
            member: address.map(|address| address.member.clone()).unwrap_or_default(),
            server_name: server_name.map(str::to_owned),
            number: state.connections,
        }
    }

    fn note(&self, connection: &Connection, what: Called) {
        let at = self.clock.now();
        let mut state = self.state.lock();
        if state.members.len() >= MOST_CALLS {
            state.full.get_or_insert(at);
            return;
        }
        state.members.push(MemberCall {
            at,
            url: connection.url.clone(),
            member: connection.member.clone(),
            connection: connection.number,
            server_name: connection.server_name.clone(),
            what,
        });
    }

    fn whose(&self, token: Option<&str>) -> StagedCredential {
        let Some(token) = token else {
            return StagedCredential::None;
        };
        match self.state.lock().issued.get(token) {
            Some((member, serial)) => StagedCredential::Of {
                member: member.clone(),
                serial: *serial,
            },
            None => StagedCredential::Unknown,
        }
    }
}

impl State {
    /// The member that a plugin is asked about: by its server, and where several are behind one, by the server name or what the
    /// profile says to the plugin.
    fn member_of(&self, cluster: &PluginCluster) -> Option<String> {
        let there: Vec<&MemberAddress> = self
            .addresses
            .iter()
            .filter(|address| address.url == cluster.server)
            .collect();
        if let [address] = there[..] {
            return Some(address.member.clone());
        }
        let config = cluster.config.as_ref().map(Json::value).unwrap_or_default();
        let named = there.iter().find(|address| {
            address.server_name == cluster.tls_server_name || config["member"] == *address.member
        });
        named.map(|address| address.member.clone())
    }

    /// Issues a credential.
    fn issue(&mut self, member: &str) -> (String, u64) {
        let token = random_text();
        let serial = self.issued.len() as u64 + 1;
        self.issued.insert(token.clone(), (member.to_owned(), serial));
        (token, serial)
    }
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
