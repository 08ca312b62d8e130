//! Starts the servers, waits for them, and gives access to them.

use std::{
    fmt, fs, io, iter,
    net::TcpListener,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use http::{Request, Uri};
use kube::{Client, Config};
use ring::rand::{SecureRandom as _, SystemRandom};
use serde_json::json;
use tempfile::TempDir;
use tokio::time::{sleep, timeout};

use crate::{Assets, EnvtestError, Servers};

/// The user that every server has.
const ADMIN: &str = "admin";

/// How often the server is asked whether it is ready.
const POLL: Duration = Duration::from_millis(100);
/// How often free ports are chosen before another program's taking them is an error.
const ATTEMPTS: usize = 3;

/// Settings of one API server.
#[derive(Clone, Debug)]
pub struct EnvtestOptions {
    /// Users in addition to `admin`, whom every server knows.
    pub users: Vec<EnvtestUser>,
    /// The audit policy, in YAML. The default logs the metadata of every request of a user.
    pub audit_policy: String,
    /// Further flags for kube-apiserver, for example `--feature-gates=…`.
    pub api_server_flags: Vec<String>,
    /// How long the API server may take to become ready.
    pub ready_within: Duration,
}

impl Default for EnvtestOptions {
    fn default() -> Self {
        Self {
            users: Vec::new(),
            audit_policy: include_str!("audit-policy.yaml").to_owned(),
            api_server_flags: Vec::new(),
            ready_within: Duration::from_secs(60),
        }
    }
}

/// A user that the API server knows by a bearer token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvtestUser {
    /// The name, which RBAC and the audit log use.
    pub name: String,
    /// The groups; none has a comma in its name. A user without any may do nothing until a role is bound to it.
    pub groups: Vec<String>,
}

impl EnvtestUser {
    /// A user in these groups.
    pub fn new(name: impl Into<String>, groups: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            name: name.into(),
            groups: groups.into_iter().map(Into::into).collect(),
        }
    }

    /// A user who may do everything: a member of `system:masters`.
    pub fn admin(name: impl Into<String>) -> Self {
        Self::new(name, ["system:masters"])
    }

    /// A user who may do nothing until a role is bound to it.
    pub fn without_rights(name: impl Into<String>) -> Self {
        Self::new(name, [] as [String; 0])
    }
}

/// A running API server. Dropping it kills the servers and removes their files; if this process is killed, a watchdog
/// does so.
///
/// It knows `admin`, who may do everything, and [`EnvtestOptions::users`], by tokens drawn again at each start. It
/// refuses anonymous requests.
pub struct Envtest {
    // Dropped in this order: the servers must be gone before their folder can be removed.
    servers: Servers,
    folder: TempDir,
    /// With their tokens.
    users: Vec<(EnvtestUser, String)>,
    port: u16,
    /// The server's certificate and its authority, in PEM.
    certificates: String,
    server_version: String,
}

impl Envtest {
    /// Starts etcd and kube-apiserver from `assets` on free ports of the loopback address, and waits until the API
    /// server is ready and has made its first namespaces. Needs a runtime in real time: a paused clock runs ahead of
    /// the servers.
    ///
    /// # Errors
    /// When a program cannot be started, ends, or is not ready in time. The last two errors have the end of the log,
    /// and the path of a copy that stays.
    pub async fn start(assets: &Assets, options: EnvtestOptions) -> Result<Self, EnvtestError> {
        for _ in 1..ATTEMPTS {
            match Self::start_once(assets, &options).await {
                // Another program took a port after it was chosen and before the server listened on it.
                Err(EnvtestError::NotReady { tail, .. }) if tail.contains("address already in use") => {}
                outcome => return outcome,
            }
        }
        Self::start_once(assets, &options).await
    }

    async fn start_once(assets: &Assets, options: &EnvtestOptions) -> Result<Self, EnvtestError> {
        let folder = private_folder()?;
        let admin = EnvtestUser::admin(ADMIN);
        let users = iter::once(&admin).chain(&options.users);
        let users: Vec<_> = users.map(|user| (user.clone(), random_token())).collect();
        for (name, text) in [
            ("tokens.csv", &token_file(&users)),
            ("audit-policy.yaml", &options.audit_policy),
        ] {
            fs::write(folder.path().join(name), text)
                .map_err(EnvtestError::system(format!("write {name}")))?;
        }
        let ports = free_ports();
        let [etcd_port, port] = ports.map_err(EnvtestError::system("find a free port on 127.0.0.1"))?;
        let mut servers = Servers::watched(folder.path())?;
        servers.start("etcd", etcd(assets, folder.path(), etcd_port))?;
        let mut api_server = api_server(assets, folder.path(), etcd_port, port);
        api_server.args(&options.api_server_flags);
        servers.start("kube-apiserver", api_server)?;
        let mut envtest = Self {
            servers,
            folder,
            users,
            port,
            certificates: String::new(),
            server_version: String::new(),
        };
        envtest.wait_until_ready(options.ready_within).await?;
        Ok(envtest)
    }

    async fn wait_until_ready(&mut self, within: Duration) -> Result<(), EnvtestError> {
        let mut answer = "nothing yet".to_owned();
        let waiting = async {
            loop {
                if let Some((name, status)) = self.servers.ended() {
                    let reason = format!("{name} ended ({status}) before the API server was ready");
                    return Err(self.servers.not_ready(name, reason));
                }
                match self.version().await {
                    Ok(version) => {
                        self.server_version = version;
                        return Ok(());
                    }
                    Err(error) => answer = error,
                }
                sleep(POLL).await;
            }
        };
        timeout(within, waiting).await.unwrap_or_else(|_| {
            let why = format!("the API server was not ready within {within:?} (it last answered: {answer})");
            Err(self.servers.not_ready("kube-apiserver", why))
        })
    }

    /// The version of a server that is ready, or why it is not.
    async fn version(&mut self) -> Result<String, String> {
        // The server makes its certificate when it starts.
        let certificates = self.folder.path().join("apiserver.crt");
        self.certificates = fs::read_to_string(certificates).map_err(|error| error.to_string())?;
        let client = Client::try_from(self.config(ADMIN)).map_err(|error| error.to_string())?;
        ready(&client).await.map_err(|error| error.to_string())
    }

    /// Kills the servers and removes their folder. Dropping does the same, but cannot report a folder that stays.
    ///
    /// # Errors
    /// When the folder cannot be removed.
    pub async fn stop(self) -> Result<(), EnvtestError> {
        drop(self.servers);
        let action = format!("remove {}", self.folder.path().display());
        self.folder.close().map_err(EnvtestError::system(action))
    }

    /// The API server's address, for example `https://127.0.0.1:40123`.
    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// The version that the server reports, for example `v1.36.3`.
    pub fn server_version(&self) -> &str {
        &self.server_version
    }

    /// The audit log's path: one JSON event a line, as [`EnvtestOptions::audit_policy`] says. The server writes a
    /// request's event before it answers.
    pub fn audit_log(&self) -> PathBuf {
        self.folder.path().join("audit.log")
    }

    /// The servers' folder, with `etcd.log`, `kube-apiserver.log` and the audit log. Only the current user can read it:
    /// it has keys and tokens.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The process ids of etcd and kube-apiserver.
    pub fn process_ids(&self) -> Vec<u32> {
        self.servers.started.iter().map(|(_, child)| child.id()).collect()
    }

    fn token(&self, name: &str) -> &str {
        let user = self.users.iter().find(|(user, _)| user.name == name);
        let (_, token) = user.unwrap_or_else(|| panic!("the API server has no user {name:?}"));
        token
    }

    /// The client configuration of `user`. The client does not retry requests.
    ///
    /// # Panics
    /// When there is no such user.
    pub fn config(&self, user: &str) -> Config {
        let url: Uri = self.url().parse().expect("an address and a port make a URL");
        let mut config = Config::new(url);
        config.root_cert = Some(der(&self.certificates));
        config.auth_info.token = Some(self.token(user).to_owned().into());
        config.default_retry = false;
        config
    }

    /// The kubeconfig of `user` (in JSON, which is YAML too), for kubectl and other programs.
    ///
    /// # Panics
    /// When there is no such user.
    pub fn kubeconfig(&self, user: &str) -> String {
        let cluster = json!({
            "server": self.url(),
            "certificate-authority-data": BASE64.encode(&self.certificates),
        });
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "envtest",
            "clusters": [{"name": "envtest", "cluster": cluster}],
            "users": [{"name": user, "user": {"token": self.token(user)}}],
            "contexts": [{"name": "envtest", "context": {"cluster": "envtest", "user": user}}],
        });
        format!("{kubeconfig:#}\n")
    }
}

impl fmt::Debug for Envtest {
    /// Without the tokens.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Envtest")
            .field("url", &self.url())
            .field("server_version", &self.server_version)
            .field("folder", &self.folder.path())
            .finish_non_exhaustive()
    }
}

/// Returns the server's version, once it is ready. The namespace `default` appears a moment after `/readyz` passes, so
/// both are read.
///
/// # Errors
/// When the server does not answer, or is not ready yet.
pub async fn ready(client: &Client) -> kube::Result<String> {
    for path in ["/readyz", "/api/v1/namespaces/default"] {
        let request = Request::get(path).body(Vec::new());
        client
            .request_text(request.map_err(kube::Error::HttpError)?)
            .await?;
    }
    Ok(client.apiserver_version().await?.git_version)
}

/// The certificates of a PEM file.
fn der(pem: &str) -> Vec<Vec<u8>> {
    let bodies = pem.split("-----END CERTIFICATE-----");
    let bodies = bodies.filter_map(|text| Some(text.split_once("-----BEGIN CERTIFICATE-----")?.1));
    bodies
        .filter_map(|body| BASE64.decode(body.split_whitespace().collect::<String>()).ok())
        .collect()
}

/// A folder that only the current user can read.
fn private_folder() -> Result<TempDir, EnvtestError> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("kube-envtest-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    let folder = builder.tempdir();
    folder.map_err(EnvtestError::system("create a folder for the servers"))
}

/// Two ports that were free a moment ago. Both are bound before either is released, so they differ.
fn free_ports() -> io::Result<[u16; 2]> {
    let bind = || TcpListener::bind(("127.0.0.1", 0));
    let (one, other) = (bind()?, bind()?);
    Ok([one.local_addr()?.port(), other.local_addr()?.port()])
}

/// A program that runs in `folder` with an empty environment: etcd takes settings from variables named `ETCD_…`.
fn program(assets: &Assets, name: &str, folder: &Path) -> Command {
    let mut command = Command::new(assets.folder().join(name));
    command.current_dir(folder).env_clear().env("HOME", folder);
    command
}

/// The data lives for one run, so etcd need not wait for the disk. The peer port is never used; the system picks it.
fn etcd(assets: &Assets, folder: &Path, port: u16) -> Command {
    let mut etcd = program(assets, "etcd", folder);
    etcd.args([
        "--data-dir=etcd",
        "--listen-peer-urls=http://127.0.0.1:0",
        "--unsafe-no-fsync",
    ]);
    etcd.arg(format!("--listen-client-urls=http://127.0.0.1:{port}"));
    etcd.arg(format!("--advertise-client-urls=http://127.0.0.1:{port}"));
    // The default of 2 GiB is soon full when a test writes a hundred thousand objects again and again.
    etcd.arg(format!("--quota-backend-bytes={}", 8_u64 << 30));
    etcd
}

/// Only flags that kube-apiserver has had since 1.29 or earlier.
fn api_server(assets: &Assets, folder: &Path, etcd_port: u16, port: u16) -> Command {
    let mut server = program(assets, "kube-apiserver", folder);
    server.arg(format!("--etcd-servers=http://127.0.0.1:{etcd_port}"));
    server.arg(format!("--secure-port={port}"));
    server.args([
        "--bind-address=127.0.0.1",
        // Without it the server looks for a default route, which a machine without a network lacks.
        "--advertise-address=127.0.0.1",
        // It makes a certificate there, whose key serves for service accounts, too.
        "--cert-dir=.",
        "--service-account-key-file=apiserver.key",
        "--service-account-signing-key-file=apiserver.key",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--token-auth-file=tokens.csv",
        "--anonymous-auth=false",
        "--authorization-mode=RBAC",
        "--service-cluster-ip-range=10.0.0.0/24",
        // It waits for service accounts, which no controller creates here.
        "--disable-admission-plugins=ServiceAccount",
        // The `kubernetes` service needs no endpoints, and refuses loopback ones.
        "--endpoint-reconciler-type=none",
        "--audit-policy-file=audit-policy.yaml",
        "--audit-log-path=audit.log",
        // In MiB: the log is one file, however long the run.
        "--audit-log-maxsize=100000",
    ]);
    server
}

/// The users in the format of kube-apiserver's `--token-auth-file`: token, name, uid, "group,group". An empty last
/// column would be a group without a name.
fn token_file(users: &[(EnvtestUser, String)]) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let line = |(user, token): &(EnvtestUser, String)| {
        let name = quoted(&user.name);
        let groups = match user.groups.as_slice() {
            [] => String::new(),
            groups => format!(",{}", quoted(&groups.join(","))),
        };
        format!("{token},{name},{name}{groups}\n")
    };
    users.iter().map(line).collect()
}

fn random_token() -> String {
    let mut bytes = [0_u8; 32];
    let drawn = SystemRandom::new().fill(&mut bytes);
    drawn.expect("the system gives random bytes");
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
