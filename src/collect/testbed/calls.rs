//! What the testbed's members and its credential plugin see of the consumer.

use std::collections::HashMap;

use evidence::{
    CallEvent, Log, MemberAddress, MemberCall, MemberCredential, PluginAnswer, PluginCall, PluginCluster,
    Window, api::Json,
};
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::{
    plugin::{Credentials, PluginPlan, PluginReply, PluginRun, told},
    publish::is_profile_variable,
};
use crate::clock::Clock;

/// So many calls of each kind are kept. A consumer that makes more floods its members.
const MOST_CALLS: usize = 50_000;

/// All calls of a consumer on a testbed, and the credentials that were issued to it.
#[derive(Debug)]
pub struct Calls {
    clock: Clock,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
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
pub struct Connection {
    url: String,
    member: String,
    server_name: Option<String>,
    hello: bool,
    via_proxy: bool,
    number: u64,
    end: CancellationToken,
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

impl Connection {
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

    /// A connection ended before or in its handshake.
    pub fn failed(&self, arrival: Arrival<'_>, reason: &str) {
        let connection = self.number(arrival);
        self.note(
            &connection,
            CallEvent::Failed {
                reason: reason.to_owned(),
            },
        );
    }

    /// A client is connected: both sides trust each other.
    pub fn connected(&self, arrival: Arrival<'_>) -> Connection {
        let connection = self.number(arrival);
        self.note(&connection, CallEvent::Connected {});
        connection
    }

    /// A request came. Gives the status code to answer with: 200, or 401 for a token that is not the member's, or expired.
    pub fn requested(&self, connection: &Connection, request: MemberRequest<'_>) -> u16 {
        let now = self.clock.now();
        let (credential, is_expired) = self.state.lock().credentials.whose(request.token, now);
        let is_its =
            matches!(&credential, MemberCredential::Of { member, .. } if *member == connection.member);
        let code = if is_its && !is_expired { 200 } else { 401 };
        self.note(
            connection,
            CallEvent::Request {
                method: request.method.to_owned(),
                path: request.path.to_owned(),
                watch: request.watch,
                credential,
                code,
            },
        );
        code
    }

    /// The consumer asks a proxy at that URL for a way to a host.
    pub fn proxied(&self, url: &str, host: &str) {
        let connection = self.number(Arrival {
            url,
            ..Arrival::default()
        });
        self.note(
            &connection,
            CallEvent::Proxied {
                host: host.to_owned(),
            },
        );
    }

    /// From now on the plugin does that for a member.
    pub fn plan(&self, member: &str, plan: PluginPlan) {
        self.state.lock().credentials.plan(member, plan);
    }

    /// From now on the plugin gives credentials for all members.
    pub fn give_again(&self) {
        self.state.lock().credentials.forget_plans();
    }

    /// Ends all connections to a member, if there were any. New ones are answered.
    pub fn cut(&self, member: &str) {
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

    /// The plugin ran.
    pub fn ran(&self, run: PluginRun) -> PluginReply {
        let at = self.clock.now();
        let (api_version, cluster) = told(run.exec_info.as_deref());
        let mut state = self.state.lock();
        let member = cluster.as_ref().and_then(|cluster| state.member_of(cluster));
        let (answer, reply) = match member {
            None => (
                PluginAnswer::NoMember {},
                PluginReply::Failure("there is no member of that server".to_owned()),
            ),
            Some(member) => state.credentials.answer(member, at, api_version.as_deref()),
        };
        let mut env = run.env;
        env.retain(|variable| is_profile_variable(variable));
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

    /// The member that a credential was issued for, if it was.
    pub fn member_of(&self, token: &str) -> Option<String> {
        let now = self.clock.now();
        match self.state.lock().credentials.whose(Some(token), now).0 {
            MemberCredential::Of { member, .. } => Some(member),
            MemberCredential::None | MemberCredential::Unknown => None,
        }
    }

    /// When the consumer first reached a member, and was trusted by it and trusted it.
    pub fn first_call(&self, member: &str) -> Option<Timestamp> {
        let state = self.state.lock();
        let mut calls = state.members.iter();
        let first = calls.find(|call| call.member == member && call.was_trusted());
        first.map(|call| call.at)
    }

    /// When the consumer last reached a member.
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

    fn number(&self, arrival: Arrival<'_>) -> Connection {
        let mut state = self.state.lock();
        state.connections += 1;
        let mut there = state
            .addresses
            .iter()
            .filter(|address| address.url == arrival.url);
        let address = there.find(|address| {
            address.server_name.is_none() || address.server_name.as_deref() == arrival.server_name
        });
        let member = address.map(|address| address.member.clone()).unwrap_or_default();
        Connection {
            url: arrival.url.to_owned(),
            server_name: arrival.server_name.map(str::to_owned),
            hello: arrival.hello,
            via_proxy: arrival.via_proxy,
            number: state.connections,
            end: state.ends.entry(member.clone()).or_default().clone(),
            member,
        }
    }

    fn note(&self, connection: &Connection, what: CallEvent) {
        self.state.lock().keep(MemberCall {
            at: self.clock.now(),
            url: connection.url.clone(),
            member: connection.member.clone(),
            connection: connection.number,
            server_name: connection.server_name.clone(),
            hello: connection.hello,
            via_proxy: connection.via_proxy,
            what,
        });
    }
}

impl State {
    /// Keeps what reached a member, unless there is too much of that.
    fn keep(&mut self, call: MemberCall) {
        if self.members.len() < MOST_CALLS {
            self.members.push(call);
        } else {
            self.full.get_or_insert(call.at);
        }
    }

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
}
