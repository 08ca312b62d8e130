//! The access of a profile to its member, the consumer's connections to members, and the plugin that returns their
//! credentials.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use collect::testbed::{Calls, OpenConnection, PluginReply, PluginRun};
use evidence::api::names::{EXTENSION_ARGS, EXTENSION_ENVS, EXTENSION_EXEC};
use kube::api::DynamicObject;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::time::sleep;

use super::{ConsumerWorld, PROVIDER, outputs::Lines};
use crate::testbed::{Hello, Trust, WithinProcess};

/// The API version of the plugin's protocol in the consumer's own file.
pub(super) const API_VERSION: &str = "client.authentication.k8s.io/v1";
/// Another API version, for a fault.
const OTHER_API_VERSION: &str = "client.authentication.k8s.io/v1beta1";
/// When a fault runs the plugin again.
const RETRY: Duration = Duration::from_secs(1);
/// The member refuses the credential.
const UNAUTHORIZED: u16 = 401;

/// Connects the consumer to members.
pub(super) struct Connector {
    calls: Arc<Calls>,
    members: Arc<WithinProcess>,
    log: Lines,
    /// The last connection to each member, for a consumer that pools connections.
    pool: BTreeMap<String, OpenConnection>,
    /// All arguments and variables so far, for a fault.
    args: Vec<String>,
    envs: BTreeMap<String, String>,
    /// The first credential, for a fault.
    shared_token: Option<String>,
    /// The credential of each member, for a fault.
    tokens: BTreeMap<String, String>,
}

/// A connection with a credential.
#[derive(Debug)]
pub(super) struct MemberConnection {
    pub connection: OpenConnection,
    token: String,
}

impl Connector {
    pub fn new(calls: Arc<Calls>, members: Arc<WithinProcess>, log: Lines) -> Self {
        Self {
            calls,
            members,
            log,
            pool: BTreeMap::new(),
            args: Vec::new(),
            envs: BTreeMap::new(),
            shared_token: None,
            tokens: BTreeMap::new(),
        }
    }

    /// Connects to a member, and watches it unless the consumer polls. None if that fails.
    pub async fn connect(&mut self, access: &Access, world: &ConsumerWorld) -> Option<MemberConnection> {
        let token = self.token(access, world).await?;
        let connection = self.connection(access, world)?;
        if world.has("consumer-secrets/nothing-secret-in-the-open") {
            self.log
                .write(format_args!("GET /version Authorization: Bearer {token}"));
        }
        let member = MemberConnection { connection, token };
        self.request(&member, "/version", false);
        if world.habits.polls.is_none() {
            self.request(&member, "/api/v1/nodes", true);
        }
        Some(member)
    }

    /// Opens a connection, or takes the pooled one.
    fn connection(&mut self, access: &Access, world: &ConsumerWorld) -> Option<OpenConnection> {
        let pooled = self
            .pool
            .get(&member_key(access))
            .filter(|pooled| !pooled.is_ended());
        if let Some(pooled) = pooled.filter(|_| world.habits.pools_connections) {
            return Some(pooled.clone());
        }
        let server_name = access.server_name.as_deref();
        let proxy = access.proxy.as_deref();
        let hello = Hello {
            url: &access.server,
            server_name: server_name.filter(|_| !world.has("consumer-access/tls-server-name-honoured")),
            proxy: proxy.filter(|_| !world.has("consumer-access/proxy-honoured")),
            trust: if world.has("consumer-access/ca-honoured") {
                Trust::AnyAuthority
            } else {
                Trust::Authority(&access.ca_data)
            },
        };
        let connection = self.members.dial(hello)?;
        self.pool.insert(member_key(access), connection.clone());
        Some(connection)
    }

    /// Checks the health of a member. False if it refuses the credential.
    pub fn check(&self, member: &MemberConnection, world: &ConsumerWorld) -> bool {
        for _ in 0..world.habits.extra_requests {
            self.request(member, "/api/v1/pods", false);
        }
        self.request(member, "/readyz", false) != UNAUTHORIZED
    }

    /// Sends a request to a member. Returns the status code.
    fn request(&self, member: &MemberConnection, path: &str, watch: bool) -> u16 {
        let token = Some(&*member.token);
        self.calls
            .requested(&member.connection, "GET", path, watch, token)
    }

    /// The credential for a member.
    async fn token(&mut self, access: &Access, world: &ConsumerWorld) -> Option<String> {
        let key = member_key(access);
        if world.has("consumer-exec/expiry-renewed")
            && let Some(token) = self.tokens.get(&key)
        {
            return Some(token.clone());
        }
        let run = self.plugin_run(access, world);
        let credential = self.run_plugin(run, world).await?;
        let token = credential["status"]["token"].as_str()?.to_owned();
        let is_first = self.tokens.insert(key, token.clone()).is_none();
        let shared_token = self.shared_token.get_or_insert_with(|| token.clone());
        // A member that refuses the shared credential gets its own.
        Some(
            if is_first && world.has("consumer-secrets/credential-to-its-member-only") {
                shared_token.clone()
            } else {
                token
            },
        )
    }

    fn plugin_run(&mut self, access: &Access, world: &ConsumerWorld) -> PluginRun {
        let (mut args, mut envs) = (access.args.clone(), access.envs.clone());
        if world.has("consumer-exec/nothing-leaks-between-profiles") {
            self.args.extend(args);
            self.envs.extend(envs);
            (args, envs) = (self.args.clone(), self.envs.clone());
        }
        if world.has("consumer-exec/profile-args-as-told") {
            args.dedup();
        }
        if !world.passes_profile_args() {
            args.clear();
            envs.clear();
        }
        PluginRun {
            provider: PROVIDER.to_owned(),
            args,
            env: envs
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect(),
            exec_info: Some(exec_info(access, world).to_string()),
        }
    }

    /// Runs the plugin once; a fault runs it until it returns a credential.
    async fn run_plugin(&self, run: PluginRun, world: &ConsumerWorld) -> Option<Value> {
        loop {
            match self.calls.ran(run.clone()) {
                PluginReply::Print(text) => {
                    if let Ok(credential) = serde_json::from_str(&text) {
                        return Some(credential);
                    }
                }
                PluginReply::Hang(duration) => sleep(duration).await,
                PluginReply::Fail(_) => {}
            }
            if !world.has("consumer-exec/failure-isolated") {
                return None;
            }
            sleep(RETRY).await;
        }
    }
}

/// Identifies a member: several may share a server.
fn member_key(access: &Access) -> String {
    format!("{} {:?}", access.server, access.server_name)
}

/// The plugin's `KUBERNETES_EXEC_INFO`.
fn exec_info(access: &Access, world: &ConsumerWorld) -> Value {
    let mut cluster = json!({"server": access.server, "certificate-authority-data": access.ca_data});
    if let Some(name) = &access.server_name {
        cluster["tls-server-name"] = name.as_str().into();
    }
    if let Some(config) = &access.config {
        cluster["config"] = if world.has("consumer-exec/config-verbatim") {
            json!({"config": config})
        } else {
            json!(config)
        };
    }
    json!({
        "apiVersion": if world.has("consumer-exec/protocol-as-configured") {
            OTHER_API_VERSION
        } else {
            API_VERSION
        },
        "kind": "ExecCredential",
        "spec": {"interactive": false, "cluster": cluster},
    })
}

/// The access to a member.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Access {
    pub server: String,
    pub ca_data: String,
    pub server_name: Option<String>,
    pub proxy: Option<String>,
    /// The plugin's config.
    pub config: Option<Map<String, Value>>,
    pub args: Vec<String>,
    pub envs: BTreeMap<String, String>,
}

/// Why a profile cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unusable {
    /// It has no known provider, or no server.
    NoAccess,
    /// A part is malformed.
    Malformed,
}

/// The access of a profile, by the provider that the consumer knows.
pub(super) fn access(profile: &DynamicObject, world: &ConsumerWorld) -> Result<Access, Unusable> {
    let list = |name: &str| {
        profile.data["status"][name]
            .as_array()
            .map_or(&[][..], Vec::as_slice)
    };
    let entries = list("accessProviders");
    let is_known = |entry: &&Value| entry["name"] == PROVIDER;
    let deprecated = if world.has("consumer-access/list-by-version") {
        list("credentialProviders")
    } else {
        &[]
    };
    let supported = deprecated.iter().find(is_known).or(entries.iter().find(is_known));
    let entry = match supported {
        Some(_) if world.has("consumer-access/picks-known-provider") => entries.first(),
        None if world.has("consumer-access/no-guess") => entries.first(),
        supported => supported,
    };
    let cluster = &entry.ok_or(Unusable::NoAccess)?["cluster"];
    let text = |name: &str| cluster[name].as_str().map(str::to_owned);
    let server = text("server")
        .filter(|server| !server.is_empty())
        .ok_or(Unusable::NoAccess)?;
    let ca_data = text("certificate-authority-data").unwrap_or_default();
    let pem = BASE64_STANDARD.decode(&ca_data).ok();
    let is_certificate = pem.is_some_and(|pem| pem.ends_with(b"-----END CERTIFICATE-----\n"));
    if !server.starts_with("https://") || !is_certificate {
        return Err(Unusable::Malformed);
    }
    Ok(Access {
        server,
        ca_data,
        server_name: text("tls-server-name"),
        proxy: text("proxy-url"),
        config: extension(cluster, EXTENSION_EXEC)?,
        args: extension(cluster, EXTENSION_ARGS)?.unwrap_or_default(),
        envs: extension(cluster, EXTENSION_ENVS)?.unwrap_or_default(),
    })
}

/// The content of the extension with this name.
fn extension<T: DeserializeOwned>(cluster: &Value, name: &str) -> Result<Option<T>, Unusable> {
    let mut extensions = cluster["extensions"].as_array().into_iter().flatten();
    let content = extensions
        .find(|extension| extension["name"] == name)
        .map(|entry| &entry["extension"]);
    let content = content.map(|content| serde_json::from_value(content.clone()));
    content.transpose().map_err(|_| Unusable::Malformed)
}
