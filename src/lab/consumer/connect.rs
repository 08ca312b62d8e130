//! The plugin that gives a credential, and the connection to a member.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use collect::testbed::{Calls, Connection, MemberRequest, PluginReply, PluginRun};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{
    access::Access,
    log::Lines,
    world::{Misbehaviour, World},
};
use crate::testbed::{Hello, Trust, WithinProcess};

/// The version of the plugin's protocol, as the consumer's own file has it.
pub(super) const API_VERSION: &str = "client.authentication.k8s.io/v1";
/// Another version.
const OTHER_API_VERSION: &str = "client.authentication.k8s.io/v1beta1";
/// How soon a fault has a plugin run again that gave nothing.
const AGAIN: Duration = Duration::from_secs(1);
/// The member refuses the credential.
const UNAUTHORIZED: u16 = 401;

/// Connects the consumer to members.
pub(super) struct Connector {
    calls: Arc<Calls>,
    members: Arc<WithinProcess>,
    log: Lines,
    /// What was once handed to a plugin: for a fault.
    args: Vec<String>,
    envs: BTreeMap<String, String>,
    /// The first credential: for a fault.
    shared: Option<String>,
    /// The credential of each member: for another one, which gets no second.
    kept: BTreeMap<String, String>,
}

/// A connection with its credential.
#[derive(Debug)]
pub(super) struct Line {
    connection: Connection,
    token: String,
}

impl Connector {
    pub(super) fn new(calls: Arc<Calls>, members: Arc<WithinProcess>, log: Lines) -> Self {
        Self {
            calls,
            members,
            log,
            args: Vec::new(),
            envs: BTreeMap::new(),
            shared: None,
            kept: BTreeMap::new(),
        }
    }

    /// Connects to a member, and begins to watch it. None if that fails.
    pub(super) async fn connect(&mut self, access: &Access, world: &World) -> Option<Line> {
        let token = self.token(access, world).await?;
        let server_name = access.server_name.as_deref();
        let hello = Hello {
            url: &access.server,
            server_name: server_name.filter(|_| !world.has(Misbehaviour::DropsServerName)),
            proxy: access
                .proxy
                .as_deref()
                .filter(|_| !world.has(Misbehaviour::GoesAroundProxies)),
            trust: if world.has(Misbehaviour::TrustsAnybody) {
                Trust::Anybody
            } else {
                Trust::Authority(&access.ca_data)
            },
        };
        let connection = self.members.dial(hello).ok()?;
        if world.has(Misbehaviour::LogsCredentials) {
            self.log
                .write(format_args!("GET /version Authorization: Bearer {token}"));
        }
        let line = Line { connection, token };
        self.ask(&line, "/version", false);
        if !world.habits.polls {
            self.ask(&line, "/api/v1/nodes", true);
        }
        Some(line)
    }

    /// Asks a member whether it is well. False if it refuses the credential.
    pub(super) fn check(&self, line: &Line) -> bool {
        self.ask(line, "/readyz", false) != UNAUTHORIZED
    }

    /// Asks a member for something. Gives the status code.
    fn ask(&self, line: &Line, path: &str, watch: bool) -> u16 {
        let request = MemberRequest {
            method: "GET",
            path,
            watch,
            token: Some(&line.token),
        };
        self.calls.requested(&line.connection, request)
    }

    /// The credential for a member.
    async fn token(&mut self, access: &Access, world: &World) -> Option<String> {
        if world.has(Misbehaviour::KeepsCredentials)
            && let Some(kept) = self.kept.get(&member(access))
        {
            return Some(kept.clone());
        }
        let (mut args, mut envs) = (access.args.clone(), access.envs.clone());
        if world.has(Misbehaviour::CollectsArguments) {
            self.args.extend(args);
            self.envs.extend(envs);
            (args, envs) = (self.args.clone(), self.envs.clone());
        }
        if world.has(Misbehaviour::DropsRepeats) {
            args.dedup();
        }
        if !world.hands_on_additions() {
            args.clear();
            envs.clear();
        }
        let run = PluginRun {
            provider: access.provider.clone(),
            args,
            env: envs
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect(),
            exec_info: Some(exec_info(access, world).to_string()),
        };
        let credential = self.run(run, world).await?;
        let token = credential["status"]["token"].as_str()?.to_owned();
        let before = self.kept.insert(member(access), token.clone());
        let shared = self.shared.get_or_insert_with(|| token.clone());
        // Where it was refused, it tries the member's own.
        Some(if before.is_none() && world.has(Misbehaviour::SharesCredential) {
            shared.clone()
        } else {
            token
        })
    }

    /// Runs the plugin: once, unless a fault has it do nothing else until it gets a credential.
    async fn run(&self, run: PluginRun, world: &World) -> Option<Value> {
        loop {
            match self.calls.ran(run.clone()) {
                PluginReply::Credential(credential) => return Some(credential),
                PluginReply::Hang(duration) => sleep(duration).await,
                PluginReply::Garbage(_) | PluginReply::Failure(_) => {}
            }
            if !world.has(Misbehaviour::StopsAtFailure) {
                return None;
            }
            sleep(AGAIN).await;
        }
    }
}

impl Line {
    /// Whether the member has ended it.
    pub(super) fn is_ended(&self) -> bool {
        self.connection.is_ended()
    }
}

/// What tells members apart.
fn member(access: &Access) -> String {
    format!("{} {:?}", access.server, access.server_name)
}

/// What the plugin is told of the cluster.
fn exec_info(access: &Access, world: &World) -> Value {
    let mut cluster = json!({"server": access.server, "certificate-authority-data": access.ca_data});
    if let Some(name) = &access.server_name {
        cluster["tls-server-name"] = name.as_str().into();
    }
    if let Some(config) = &access.config {
        cluster["config"] = if world.has(Misbehaviour::WrapsConfig) {
            json!({"config": config})
        } else {
            config.clone()
        };
    }
    json!({
        "apiVersion": if world.has(Misbehaviour::TellsAnotherVersion) {
            OTHER_API_VERSION
        } else {
            API_VERSION
        },
        "kind": "ExecCredential",
        "spec": {"interactive": false, "cluster": cluster},
    })
}
