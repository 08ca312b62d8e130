//! What the testbed's members and its credential plugin record of the consumer.

use std::{collections::HashMap, time::Duration};

use evidence::{
    CallEvent, Log, MemberAddress, MemberCall, MemberCredential, PluginAnswer, PluginCall, PluginCluster,
    Window, api::Json,
};
use jiff::Timestamp;
use parking_lot::Mutex;
use serde::Deserialize as _;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{
    plugin::{Credentials, PluginReply, PluginRun},
    publish::is_profile_variable,
    scenarios::PluginBehavior,
};
use crate::clock::Clock;

/// The most calls of each kind that are kept. A consumer that makes more floods its members.
const MOST_CALLS: usize = 50_000;

/// All calls of a consumer on a testbed, and the credentials that were issued to it.
#[derive(Debug)]
pub struct Calls {
    clock: Clock,
    state: Mutex<CallsState>,
}

#[derive(Debug, Default)]
struct CallsState {
    addresses: Vec<MemberAddress>,
    credentials: Credentials,
    /// What ends the present connections of a member.
    ends: HashMap<String, CancellationToken>,
    members: Vec<MemberCall>,
    plugins: Vec<PluginCall>,
    connections: u64,
    /// Since when calls are no longer kept.
    full: Option<Timestamp>,
}

/// A connection that arrives at an address.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrival<'a> {
    /// The URL of the address.
    pub url: &'a str,
    /// The server name (SNI), if the client sent one.
    pub server_name: Option<&'a str>,
    /// Whether the client sent a TLS hello.
    pub hello: bool,
    /// Whether the run's own proxy opened the connection.
    pub via_proxy: bool,
}

/// A connection to a member.
#[derive(Clone, Debug)]
pub struct OpenConnection {
    begin: MemberCall,
    end: CancellationToken,
}

impl OpenConnection {
    /// Returns once the member ends the connection.
    pub async fn ended(&self) {
        self.end.cancelled().await;
    }

    /// Whether the member has ended it.
    pub fn is_ended(&self) -> bool {
        self.end.is_cancelled()
    }
}

impl Calls {
    /// No calls yet.
    pub fn new(clock: Clock) -> Self {
        Self {
            clock,
            state: Mutex::default(),
        }
    }

    /// Records that a member answers at that address from now on.
    pub fn open(&self, address: MemberAddress) {
        self.state.lock().addresses.push(address);
    }

    /// All addresses, in the order of their opening.
    pub fn addresses(&self) -> Vec<MemberAddress> {
        self.state.lock().addresses.clone()
    }

    /// Records a connection that ended before or in its handshake.
    pub fn failed(&self, arrival: Arrival<'_>, reason: &str) {
        let reason = reason.to_owned();
        self.begin(arrival, CallEvent::Failed { reason });
    }

    /// Records a connection on which both sides trust each other.
    pub fn connected(&self, arrival: Arrival<'_>) -> OpenConnection {
        self.begin(arrival, CallEvent::Connected {})
    }

    /// Records a request to a proxy at that URL for a connection to a host.
    pub fn proxied(&self, url: &str, host: &str) {
        let host = host.to_owned();
        let arrival = Arrival {
            url,
            ..Arrival::default()
        };
        self.begin(arrival, CallEvent::Proxied { host });
    }

    fn begin(&self, arrival: Arrival<'_>, what: CallEvent) -> OpenConnection {
        let mut state = self.state.lock();
        state.connections += 1;
        let member = state.member_at(arrival.url, arrival.server_name);
        let begin = MemberCall {
            at: self.clock.now(),
            url: arrival.url.to_owned(),
            connection: state.connections,
            server_name: arrival.server_name.map(str::to_owned),
            hello: arrival.hello,
            via_proxy: arrival.via_proxy,
            what,
            member,
        };
        state.keep(begin.clone());
        let end = state.ends.entry(begin.member.clone()).or_default().clone();
        OpenConnection { begin, end }
    }

    /// Records a request: `path` without its query, and the bearer token. Returns the status code of the answer: 200, or 401
    /// if the token is not the member's, or has expired.
    pub fn requested(
        &self,
        connection: &OpenConnection,
        method: &str,
        path: &str,
        watch: bool,
        token: Option<&str>,
    ) -> u16 {
        let at = self.clock.now();
        let mut state = self.state.lock();
        let (credential, is_expired) = state.credentials.identify(token, at);
        let called_member = &connection.begin.member;
        let is_own = matches!(&credential, MemberCredential::Of { member, .. } if member == called_member);
        let code = if is_own && !is_expired { 200 } else { 401 };
        let what = CallEvent::Request {
            method: method.to_owned(),
            path: path.to_owned(),
            watch,
            credential,
            code,
        };
        state.keep(MemberCall {
            at,
            what,
            ..connection.begin.clone()
        });
        code
    }

    /// Sets what the plugin does for a member, and how long it hangs.
    pub(super) fn set_plugin(&self, member: String, behavior: PluginBehavior, hang: Duration) {
        let behaviors = &mut self.state.lock().credentials.behaviors;
        behaviors.insert(member, (behavior, hang));
    }

    pub(super) fn reset_plugin(&self) {
        self.state.lock().credentials.behaviors.clear();
    }

    /// Ends all connections to a member, if there were any. The member answers new ones.
    pub fn end_connections(&self, member: &str) {
        let at = self.clock.now();
        let mut state = self.state.lock();
        let Some(end) = state.ends.remove(member) else {
            return;
        };
        let addresses = state.addresses.iter().filter(|address| address.member == member);
        let urls: Vec<String> = addresses.map(|address| address.url.clone()).collect();
        for url in urls {
            state.keep(MemberCall {
                at,
                url,
                member: member.to_owned(),
                connection: 0,
                server_name: None,
                hello: false,
                via_proxy: false,
                what: CallEvent::Closed {},
            });
        }
        drop(state);
        end.cancel();
    }

    /// Records a run of the plugin. Returns what the plugin does.
    pub fn ran(&self, run: PluginRun) -> PluginReply {
        let at = self.clock.now();
        let (api_version, cluster) = read_exec_info(run.exec_info.as_deref());
        let mut state = self.state.lock();
        let member = cluster.as_ref().and_then(|cluster| state.member_of(cluster));
        let (answer, reply) = match member {
            Some(member) => state.credentials.answer(member, at, api_version.as_deref()),
            None => {
                let reply = PluginReply::Fail("there is no member of that server".to_owned());
                (PluginAnswer::NoMember {}, reply)
            }
        };
        let mut env = run.env;
        env.retain(|variable| is_profile_variable(variable));
        if state.plugins.len() < MOST_CALLS {
            state.plugins.push(PluginCall {
                at,
                provider: run.provider,
                args: run.args,
                env,
                api_version,
                cluster,
                answer,
            });
        } else {
            state.full.get_or_insert(at);
        }
        reply
    }

    /// The member that a token was issued for, if it was.
    pub(super) fn member_of_token(&self, token: &str) -> Option<String> {
        let now = self.clock.now();
        match self.state.lock().credentials.identify(Some(token), now).0 {
            MemberCredential::Of { member, .. } => Some(member),
            MemberCredential::None | MemberCredential::Unknown => None,
        }
    }

    pub(super) fn first_call(&self, member: &str) -> Option<Timestamp> {
        let state = self.state.lock();
        let mut calls = state.members.iter();
        let first = calls.find(|call| call.member == member && call.was_trusted());
        first.map(|call| call.at)
    }

    pub(super) fn last_call(&self) -> Option<Timestamp> {
        let state = self.state.lock();
        let mut calls = state.members.iter().rev();
        calls.find(|call| call.was_trusted()).map(|call| call.at)
    }

    /// Since when calls are not recorded, because there were too many.
    pub(super) fn full(&self) -> Option<Timestamp> {
        self.state.lock().full
    }

    /// All that has reached members so far.
    pub fn recorded(&self) -> Vec<MemberCall> {
        self.state.lock().members.clone()
    }

    pub(super) fn logs(&self, from: Timestamp) -> (Log<MemberCall>, Log<PluginCall>) {
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
        (members, plugins)
    }
}

impl CallsState {
    fn keep(&mut self, call: MemberCall) {
        if self.members.len() < MOST_CALLS {
            self.members.push(call);
        } else {
            self.full.get_or_insert(call.at);
        }
    }

    /// The addresses at a URL: several if server names distinguish their members.
    fn at(&self, url: &str) -> impl Iterator<Item = &MemberAddress> {
        self.addresses.iter().filter(move |address| address.url == url)
    }

    /// The member that answers at a URL to a server name; empty if none does.
    fn member_at(&self, url: &str, server_name: Option<&str>) -> String {
        let answers = |address: &&MemberAddress| {
            address.server_name.is_none() || address.server_name.as_deref() == server_name
        };
        let address = self.at(url).find(answers);
        address.map(|address| address.member.clone()).unwrap_or_default()
    }

    /// The member of a cluster: by its server, and if several are behind one, by the server name or the plugin's configuration.
    fn member_of(&self, cluster: &PluginCluster) -> Option<String> {
        let addresses: Vec<&MemberAddress> = self.at(&cluster.server).collect();
        let config = cluster.config.as_ref().map(Json::value).unwrap_or_default();
        let address = addresses.iter().find(|address| {
            let is_named = address.server_name == cluster.tls_server_name;
            addresses.len() == 1 || is_named || config["member"] == *address.member
        });
        address.map(|address| address.member.clone())
    }
}

fn read_exec_info(text: Option<&str>) -> (Option<String>, Option<PluginCluster>) {
    let info: Value = text
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    let cluster = info
        .pointer("/spec/cluster")
        .filter(|cluster| cluster.is_object());
    let cluster = cluster.map(|cluster| PluginCluster {
        // Null is a configuration, too.
        config: cluster.get("config").cloned().map(Json::from),
        ..PluginCluster::deserialize(cluster).unwrap_or_default()
    });
    (info["apiVersion"].as_str().map(str::to_owned), cluster)
}
