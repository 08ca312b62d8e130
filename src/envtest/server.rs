//! Starts the servers, waits for them, and tells how to reach them.

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

use crate::{
    Assets, EnvtestError, EnvtestOptions,
    certificates::Certificates,
    processes::Processes,
    ready::ready,
    users::{ADMIN, Users},
};

/// How often the server is asked whether it is ready.
const POLL: Duration = Duration::from_millis(100);

/// How often free ports are chosen before another program's taking them is an error.
const ATTEMPTS: usize = 3;

/// A running API server. Dropping it kills the servers and removes their files; if this process is killed, a watchdog
/// does so.
///
/// It knows `admin`, who may do everything, and [`EnvtestOptions::users`], by tokens drawn anew at each start. It refuses
/// anonymous requests.
pub struct Envtest {
    // Dropped in this order: the servers must be gone before their folder can be removed.
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
    /// When a user is refused, or when a program cannot be started, ends, or is not ready in time. The last two errors
    /// have the end of the log, and the path of a copy that stays.
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
        let users = Users::generate(&options.users)?;
        let certificates = Certificates::generate()?;
        write_files(folder.path(), &certificates, &users, &options.audit_policy)?;
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
            Client::try_from(self.config(ADMIN)).map_err(|error| EnvtestError::Client(Box::new(error)))?;
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

    /// Kills the servers and removes their folder. Dropping does the same, but cannot report a folder that stays.
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

    /// The version that the server reports, such as `v1.36.3`.
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
        self.processes.ids()
    }

    /// The client configuration of `user`. The client does not retry requests.
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

    /// The kubeconfig of `user` (in JSON, which is YAML too), for kubectl and other programs.
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

/// A folder that only the current user can read.
fn private_folder() -> Result<TempDir, EnvtestError> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("kube-envtest-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    builder.tempdir().map_err(|source| EnvtestError::Folder {
        path: std::env::temp_dir(),
        source,
    })
}

fn write_files(
    folder: &Path,
    certificates: &Certificates,
    users: &Users,
    audit_policy: &str,
) -> Result<(), EnvtestError> {
    let tokens = users.token_file();
    let files = [
        ("serving.crt", certificates.serving.as_str()),
        ("serving.key", &certificates.serving_key),
        ("service-account.key", &certificates.service_account_key),
        ("service-account.pub", &certificates.service_account_public_key),
        ("tokens.csv", &tokens),
        ("audit-policy.yaml", audit_policy),
    ];
    for (name, text) in files {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|source| EnvtestError::Folder { path, source })?;
    }
    Ok(())
}

/// Two ports that were free a moment ago. Both are bound before either is released, so they differ.
fn free_ports() -> Result<[u16; 2], EnvtestError> {
    let bind = || TcpListener::bind(("127.0.0.1", 0)).map_err(EnvtestError::Port);
    let listeners = [bind()?, bind()?];
    let mut ports = [0; 2];
    for (port, listener) in ports.iter_mut().zip(&listeners) {
        *port = listener.local_addr().map_err(EnvtestError::Port)?.port();
    }
    Ok(ports)
}

/// A command that runs in `folder` with an empty environment: etcd takes settings from variables named `ETCD_…`.
fn command(program: PathBuf, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).env_clear().env("HOME", folder);
    command
}

/// The data lives for one run, so etcd need not wait for the disk. The peer port is never used; the system picks it.
fn etcd(assets: &Assets, folder: &Path, port: u16) -> Command {
    let mut etcd = command(assets.etcd(), folder);
    etcd.arg("--data-dir").arg(folder.join("etcd"));
    etcd.arg(format!("--listen-client-urls=http://127.0.0.1:{port}"));
    etcd.arg(format!("--advertise-client-urls=http://127.0.0.1:{port}"));
    etcd.arg("--listen-peer-urls=http://127.0.0.1:0");
    etcd.arg("--unsafe-no-fsync");
    // The default of 2 GiB is soon full when a test writes a hundred thousand objects again and again.
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
        // It waits for service accounts, which no controller creates here.
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
