//! The plugin that gives a credential, and the connection to a member.

use std::{collections::BTreeMap, sync::Arc};

use collect::stage::{Calls, Connection, MemberRequest, PluginReply, PluginRun};
use serde_json::{Value, json};

use super::{
    access::Access,
    world::{Misbehaviour, World},
};
use crate::stage::{Hello, Trust, WithinProcess};

/// The version of the plugin's protocol, as the consumer's own file has it.
const API_VERSION: &str = "client.authentication.k8s.io/v1";

/// Connects the consumer to members.
pub(super) struct Connector {
    calls: Arc<Calls>,
    members: Arc<WithinProcess>,
    /// What was once handed to a plugin: for a fault.
    args: Vec<String>,
    envs: BTreeMap<String, String>,
    /// The first credential: for a fault.
    shared: Option<String>,
}

/// A connection with its credential.
#[derive(Debug)]
pub(super) struct Line {
    connection: Connection,
    token: String,
}

impl Connector {
    pub(super) fn new(calls: Arc<Calls>, members: Arc<WithinProcess>) -> Self {
        Self {
            calls,
            members,
            args: Vec::new(),
            envs: BTreeMap::new(),
            shared: None,
        }
    }

    /// Connects to a member, and begins to watch it. None if that fails.
    pub(super) fn connect(&mut self, access: &Access, world: &World) -> Option<Line> {
        let token = self.token(access, world)?;
        let server_name = access.server_name.as_deref();
        let hello = Hello {
            url: &access.server,
            server_name: server_name.filter(|_| !world.has(Misbehaviour::DropsServerName)),
            trust: if world.has(Misbehaviour::TrustsAnybody) {
                Trust::Anybody
            } else {
                Trust::Authority(&access.ca_data)
            },
        };
        let connection = self.members.dial(hello).ok()?;
        let line = Line { connection, token };
        self.ask(&line, "/version", false);
        if !world.habits.polls {
            self.ask(&line, "/api/v1/nodes", true);
        }
        Some(line)
    }

    /// Asks a member whether it is well.
    pub(super) fn check(&self, line: &Line) {
        self.ask(line, "/readyz", false);
    }

    fn ask(&self, line: &Line, path: &str, watch: bool) {
        let request = MemberRequest {
            method: "GET",
            path,
            watch,
            token: Some(&line.token),
        };
        self.calls.requested(&line.connection, request);
    }

    /// Runs the plugin.
    fn token(&mut self, access: &Access, world: &World) -> Option<String> {
        let (mut args, mut envs) = (access.args.clone(), access.envs.clone());
        if world.has(Misbehaviour::CollectsArguments) {
            self.args.extend(args);
            self.envs.extend(envs);
            (args, envs) = (self.args.clone(), self.envs.clone());
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
        let PluginReply::Credential(credential) = self.calls.ran(run) else {
            return None;
        };
        let token = credential["status"]["token"].as_str()?.to_owned();
        let shared = self.shared.get_or_insert_with(|| token.clone());
        Some(if world.has(Misbehaviour::SharesCredential) {
            shared.clone()
        } else {
            token
        })
    }
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
        "apiVersion": API_VERSION,
        "kind": "ExecCredential",
        "spec": {"interactive": false, "cluster": cluster},
    })
}
