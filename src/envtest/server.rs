//! Starting the servers, waiting for them, and the ways to reach them.

use std::{
    fmt, fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use http::Uri;
use kube::{Client, Config};
use serde_json::json;
use tempfile::TempDir;

use super::{Assets, EnvtestError, certificates::Certificates, processes::Processes, users::Users};
use crate::start::ready;

/// What the audit log of an API server of ours tells: all of requests on ClusterProfiles.
pub const AUDIT_POLICY: &str = include_str!("audit-policy.yaml");

/// How often the server is asked whether it is ready.
const POLL: Duration = Duration::from_millis(100);

/// How many times free ports are chosen before somebody else's taking them is an error.
const ATTEMPTS: usize = 3;

/// What may differ between two API servers.
#[derive(Clone, Debug)]
pub struct EnvtestOptions {
    /// The groups of the user `conformance`, which runs the suite. `system:masters` unless told otherwise; give none to
    /// try the suite with the rights that a test binds to that user.
    pub conformance_groups: Vec<String>,
    /// Further flags for kube-apiserver, such as `--feature-gates=…`.
    pub api_server_flags: Vec<String>,
    /// How long the API server may take to become ready.
    pub ready_within: Duration,
}

impl Default for EnvtestOptions {
    fn default() -> Self {
        Self {
            conformance_groups: vec!["system:masters".to_owned()],
            api_server_flags: Vec::new(),
            ready_within: Duration::from_secs(60),
        }
    }
}

/// A running API server. Dropping it ends the servers and removes all they wrote; when our process is killed, a
/// watchdog does so.
///
/// It knows four users, by tokens drawn anew at each start: `admin`, `conformance` and `reference-manager`, who may do
/// everything, and `viewer`, who may do nothing until a role is bound to it. There are no anonymous requests.
pub struct Envtest {
    // In this order they are dropped: the servers must be gone before their folder can be removed.
    processes: Processes,
    folder: TempDir,
    users: Users,
    authority_pem: String,
    authority_der: Vec<u8>,
    port: u16,
    server_version: String,
}

impl Envtest {
    /// Starts etcd and kube-apiserver from `assets` on free ports of the loopback address, and waits until the API
    /// server is ready and has made its first namespaces. Needs a runtime in real time: a paused clock runs ahead of
    /// the servers.
    ///
    /// # Errors
    /// When a program cannot be started, ends, or is not ready in time. The error then has the end of the log, and the
    /// path of a copy of it that stays.
    pub async fn start(assets: &Assets, options: EnvtestOptions) -> Result<Self, EnvtestError> {
        for _ in 1..ATTEMPTS {
            match Self::start_once(assets, &options).await {
                Err(error) if error.is_port_taken() => {}
                outcome => return outcome,
            }
        }
        Self::start_once(assets, &options).await
    }

    async fn start_once(assets: &Assets, options: &EnvtestOptions) -> Result<Self, EnvtestError> {
        let folder = private_folder()?;
        let users = Users::generate(&options.conformance_groups)?;
        let certificates = Certificates::generate()?;
        write_files(folder.path(), &certificates, &users)?;
        let [etcd_port, port] = free_ports()?;

        let mut processes = Processes::watched(folder.path())?;
        let etcd = etcd(assets, folder.path(), etcd_port);
        processes.spawn("etcd", etcd, folder.path().join("etcd.log"))?;
        let mut api_server = api_server(assets, folder.path(), etcd_port, port);
        api_server.args(&options.api_server_flags);
        processes.spawn(
            "kube-apiserver",
            api_server,
            folder.path().join("kube-apiserver.log"),
        )?;

        let mut envtest = Self {
            processes,
            folder,
            users,
            authority_pem: certificates.authority,
            authority_der: certificates.authority_der,
            port,
            server_version: String::new(),
        };
        envtest.server_version = envtest.wait_until_ready(options.ready_within).await?;
        Ok(envtest)
    }

    async fn wait_until_ready(&mut self, within: Duration) -> Result<String, EnvtestError> {
        let client =
            Client::try_from(self.config("admin")).map_err(|error| EnvtestError::Client(Box::new(error)))?;
        let mut answer = "nothing yet".to_owned();
        let processes = &mut self.processes;
        let waiting = async {
            loop {
                if let Some(ended) = processes.ended() {
                    let (log, tail) = processes.keep_log(ended.name);
                    let status = ended.status.to_string();
                    return Err(EnvtestError::Exited {
                        program: ended.name,
                        status,
                        log,
                        tail,
                    });
                }
                match ready(&client).await {
                    Ok(version) => return Ok(version),
                    Err(error) => answer = error.to_string(),
                }
                tokio::time::sleep(POLL).await;
            }
        };
        match tokio::time::timeout(within, waiting).await {
            Ok(outcome) => outcome,
            Err(_) => {
                let (log, tail) = self.processes.keep_log("kube-apiserver");
                Err(EnvtestError::NotReady {
                    within,
                    answer,
                    log,
                    tail,
                })
            }
        }
    }

    /// Ends the servers and removes their folder. Dropping does the same, but cannot tell when the folder stays.
    ///
    /// # Errors
    /// When the folder cannot be removed.
    pub async fn stop(self) -> Result<(), EnvtestError> {
        let Self {
            processes, folder, ..
        } = self;
        drop(processes);
        let path = folder.path().to_owned();
        folder
            .close()
            .map_err(|source| EnvtestError::Folder { path, source })
    }

    /// The API server's address, such as `https://127.0.0.1:40123`.
    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// The version that the server tells of itself, such as `v1.36.3`.
    pub fn server_version(&self) -> &str {
        &self.server_version
    }

    /// The audit log: one JSON event a line. Writes of ClusterProfiles are there with their bodies and answers, those of
    /// Namespaces with their bodies, all other requests, of Secrets above all, without. A request's event is written
    /// before it is answered.
    pub fn audit_log(&self) -> PathBuf {
        self.folder.path().join("audit.log")
    }

    /// The servers' folder, with `etcd.log`, `kube-apiserver.log` and the audit log. Only the current user may look
    /// into it: it has the keys and tokens.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The process ids of etcd and kube-apiserver.
    pub fn process_ids(&self) -> Vec<u32> {
        self.processes.ids()
    }

    /// How to reach the server as `user`: `admin`, `conformance`, `reference-manager` or `viewer`. Requests are not
    /// retried by the client.
    ///
    /// # Panics
    /// When there is no such user.
    pub fn config(&self, user: &str) -> Config {
        let url: Uri = self.url().parse().expect("an address and a port make a URL");
        let mut config = Config::new(url);
        config.root_cert = Some(vec![self.authority_der.clone()]);
        config.auth_info.token = Some(self.users.token(user).to_owned().into());
        config.default_retry = false;
        config
    }

    /// The same as a kubeconfig file's text (JSON, which is YAML too), for kubectl and others.
    ///
    /// # Panics
    /// When there is no such user.
    pub fn kubeconfig(&self, user: &str) -> String {
        let cluster = json!({
            "server": self.url(),
            "certificate-authority-data": BASE64.encode(&self.authority_pem),
        });
        let kubeconfig = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "envtest", "cluster": cluster}],
            "users": [{"name": user, "user": {"token": self.users.token(user)}}],
            "contexts": [{"name": "envtest", "context": {"cluster": "envtest", "user": user}}],
            "current-context": "envtest",
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

/// A folder that only the current user may look into.
fn private_folder() -> Result<TempDir, EnvtestError> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("clusterprofile-conformance-envtest-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    builder.tempdir().map_err(|source| EnvtestError::Folder {
        path: std::env::temp_dir(),
        source,
    })
}

fn write_files(folder: &Path, certificates: &Certificates, users: &Users) -> Result<(), EnvtestError> {
    let tokens = users.token_file();
    let files = [
        ("serving.crt", certificates.serving.as_str()),
        ("serving.key", &certificates.serving_key),
        ("service-account.key", &certificates.service_account_key),
        ("service-account.pub", &certificates.service_account_public_key),
        ("tokens.csv", &tokens),
        ("audit-policy.yaml", AUDIT_POLICY),
    ];
    for (name, text) in files {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|source| EnvtestError::Folder { path, source })?;
    }
    Ok(())
}

/// Ports that were free a moment ago. Both are held before either is let go, so they differ.
fn free_ports() -> Result<[u16; 2], EnvtestError> {
    let bind = || TcpListener::bind(("127.0.0.1", 0)).map_err(EnvtestError::Port);
    let listeners = [bind()?, bind()?];
    let mut ports = [0; 2];
    for (port, listener) in ports.iter_mut().zip(&listeners) {
        *port = listener.local_addr().map_err(EnvtestError::Port)?.port();
    }
    Ok(ports)
}

/// A command that runs in `folder`, untouched by our environment: etcd takes settings from variables named `ETCD_…`.
fn command(program: PathBuf, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).env_clear().env("HOME", folder);
    command
}

/// Everything lives for one run, so etcd need not wait for the disk. The peer port is never used; the system picks it.
fn etcd(assets: &Assets, folder: &Path, port: u16) -> Command {
    let mut etcd = command(assets.etcd(), folder);
    etcd.arg("--data-dir").arg(folder.join("etcd"));
    etcd.arg(format!("--listen-client-urls=http://127.0.0.1:{port}"));
    etcd.arg(format!("--advertise-client-urls=http://127.0.0.1:{port}"));
    etcd.arg("--listen-peer-urls=http://127.0.0.1:0");
    etcd.arg("--unsafe-no-fsync");
    // The default of 2 GiB is soon full of versions when a hundred thousand profiles are written to.
    etcd.arg(format!("--quota-backend-bytes={}", 8_u64 << 30));
    etcd
}

/// Only flags that kube-apiserver has had since 1.29 or earlier.
fn api_server(assets: &Assets, folder: &Path, etcd_port: u16, port: u16) -> Command {
    let file = |name: &str| folder.join(name).display().to_string();
    let mut server = command(assets.kube_apiserver(), folder);
    server.args([
        format!("--etcd-servers=http://127.0.0.1:{etcd_port}"),
        "--bind-address=127.0.0.1".to_owned(),
        // Without it the server looks for a default route, which a machine without a network lacks.
        "--advertise-address=127.0.0.1".to_owned(),
        format!("--secure-port={port}"),
        format!("--cert-dir={}", folder.display()),
        format!("--tls-cert-file={}", file("serving.crt")),
        format!("--tls-private-key-file={}", file("serving.key")),
        format!("--token-auth-file={}", file("tokens.csv")),
        "--anonymous-auth=false".to_owned(),
        "--authorization-mode=RBAC".to_owned(),
        "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
        format!("--service-account-key-file={}", file("service-account.pub")),
        format!(
            "--service-account-signing-key-file={}",
            file("service-account.key")
        ),
        "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
        // It waits for service accounts, which a controller that is not there would make.
        "--disable-admission-plugins=ServiceAccount".to_owned(),
        // The `kubernetes` service needs no endpoints, and refuses loopback ones.
        "--endpoint-reconciler-type=none".to_owned(),
        format!("--audit-policy-file={}", file("audit-policy.yaml")),
        format!("--audit-log-path={}", file("audit.log")),
        // In MiB: the log is one file, however long the run.
        "--audit-log-maxsize=100000".to_owned(),
    ]);
    server
}
