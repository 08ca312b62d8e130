//! Runs the credential plugin (`exec`) that a kubeconfig names, within a bound.
//!
//! The client library runs it too, but waits for it forever: at the start, and again whenever a token expires.

use std::{error::Error, fmt, io, process::Stdio, sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use http::{HeaderValue, Request, header};
use jiff::{SignedDuration, Timestamp};
use kube::{
    Client, Config,
    client::Body,
    config::{ExecConfig, ExecInteractiveMode},
};
use serde::Deserialize;
use serde_json::json;
use tokio::{io::AsyncReadExt as _, process::Command, sync::Mutex, time::timeout};
use zeroize::{Zeroize as _, Zeroizing};

use super::ClientError;
use crate::{clock::Clock, words::one_line};

/// How long a plugin may take, unless a request may take longer: somebody may have to log in by it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// The largest answer in bytes.
const LARGEST: u64 = 1 << 20;
/// How long before its end a token is renewed.
const RENEWAL: SignedDuration = SignedDuration::from_secs(60);
/// How many characters of a command are shown.
const SHOWN: usize = 200;

/// Why the plugin of a kubeconfig gave no credential. Shows nothing that the plugin printed, nor its arguments.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExecError {
    /// The kubeconfig names no program.
    #[error("the credential plugin has no command in the kubeconfig")]
    NoCommand,
    /// The program does not start.
    #[error("the credential plugin `{command}` could not be started: {reason}")]
    NotStarted {
        /// The program.
        command: String,
        /// What the system said.
        reason: String,
    },
    /// It ended with an error.
    #[error("the kubeconfig's credential plugin `{command}` failed ({status})")]
    Failed {
        /// The program.
        command: String,
        /// How it ended.
        status: String,
    },
    /// It did not end.
    #[error(
        "the kubeconfig's credential plugin `{command}` gave no credential within {} s and was ended; it may wait for \
         somebody to log in",
        limit.as_secs()
    )]
    Late {
        /// The program.
        command: String,
        /// How long it had.
        limit: Duration,
    },
    /// Its answer is no ExecCredential with a credential, or is too large.
    #[error("the answer of the credential plugin `{command}` could not be read")]
    Unreadable {
        /// The program.
        command: String,
    },
    /// The user has a predecessor of plugins, whose command nothing would bound.
    #[error(
        "the kubeconfig's auth-provider `{name}` runs a command, which kubectl refuses since v1.26; \
         have the kubeconfig name a credential plugin (`exec`)"
    )]
    AuthProvider {
        /// The name of the auth-provider.
        name: String,
    },
}

/// A plugin that has given a token, and gives the next one when that expires.
pub(crate) struct Login {
    exec: ExecConfig,
    limit: Duration,
    clock: Clock,
    token: Mutex<Token>,
}

/// A token as a header, and when it expires.
struct Token {
    header: HeaderValue,
    expires: Option<Timestamp>,
}

#[derive(Deserialize)]
struct Answer {
    status: Option<Status>,
}

/// What a plugin gives; wiped when dropped.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    expiration_timestamp: Option<String>,
    token: Option<String>,
    client_certificate_data: Option<String>,
    client_key_data: Option<String>,
}

impl Drop for Status {
    fn drop(&mut self) {
        self.token.zeroize();
        self.client_key_data.zeroize();
    }
}

/// Makes a client of a configuration. If it names a plugin, runs that first, for `limit` at most.
///
/// # Errors
/// When the plugin gives no credential in time, or `connect` fails.
pub(crate) async fn connect<F>(
    mut config: Config,
    limit: Duration,
    connect: impl FnOnce(Config) -> F,
) -> Result<Client, ClientError>
where
    F: Future<Output = Result<Client, ClientError>>,
{
    let login = log_in(&mut config, limit).await?;
    let client = connect(config).await?;
    Ok(match login {
        Some(login) => login.with(client),
        None => client,
    })
}

/// Runs the plugin of a configuration, and puts what it gives in its place. A token is returned rather, as it expires.
async fn log_in(config: &mut Config, limit: Duration) -> Result<Option<Login>, ClientError> {
    let user = &mut config.auth_info;
    if let Some(provider) = &user.auth_provider
        && provider.config.contains_key("cmd-path")
    {
        let name = one_line(&provider.name, SHOWN);
        return Err(ExecError::AuthProvider { name }.into());
    }
    // Where there are several, the client library takes these first.
    let has_other = user.auth_provider.is_some()
        || user.token.is_some()
        || user.token_file.is_some()
        || (user.username.is_some() && user.password.is_some());
    if has_other {
        return Ok(None);
    }
    let Some(exec) = user.exec.take() else {
        return Ok(None);
    };
    let status = run(&exec, limit).await?;
    if let (Some(certificate), Some(key)) = (&status.client_certificate_data, &status.client_key_data) {
        user.client_certificate = None;
        user.client_key = None;
        user.client_certificate_data = Some(BASE64.encode(certificate));
        user.client_key_data = Some(BASE64.encode(key).into());
    }
    let token = status.token.as_deref().filter(|token| !token.is_empty());
    if token.is_none() {
        return Ok(None);
    }
    let token = Token::of(&exec, &status)?;
    Ok(Some(Login {
        exec,
        limit,
        clock: Clock::system(),
        token: Mutex::new(token),
    }))
}

impl Login {
    /// A client that shows the token with each request.
    fn with(self, client: Client) -> Client {
        let namespace = client.default_namespace().to_owned();
        let login = Arc::new(self);
        let service = tower::service_fn(move |mut request: Request<Body>| {
            let (client, login) = (client.clone(), Arc::clone(&login));
            async move {
                let header = login.header().await?;
                request.headers_mut().insert(header::AUTHORIZATION, header);
                Ok::<_, Box<dyn Error + Send + Sync>>(client.send(request).await?)
            }
        });
        Client::new(service, namespace)
    }

    /// The header of the token. Asks for another token when it is about to expire.
    async fn header(&self) -> Result<HeaderValue, ClientError> {
        let mut token = self.token.lock().await;
        let is_due =
            |expires: Timestamp| self.clock.now() >= expires.saturating_sub(RENEWAL).unwrap_or(expires);
        if token.expires.is_some_and(is_due) {
            *token = Token::of(&self.exec, &run(&self.exec, self.limit).await?)?;
        }
        Ok(token.header.clone())
    }
}

impl Token {
    fn of(exec: &ExecConfig, status: &Status) -> Result<Self, ClientError> {
        let unreadable = || ExecError::Unreadable { command: shown(exec) };
        let token = status.token.as_deref().ok_or_else(unreadable)?;
        let bearer = Zeroizing::new(format!("Bearer {token}"));
        let mut header = HeaderValue::try_from(bearer.as_str()).map_err(|_| ClientError::Token)?;
        header.set_sensitive(true);
        let expires = status.expiration_timestamp.as_deref();
        let expires = expires.map(str::parse).transpose().map_err(|_| unreadable())?;
        Ok(Self { header, expires })
    }
}

/// Runs a plugin as clients of Kubernetes do. One that is late is killed.
async fn run(exec: &ExecConfig, limit: Duration) -> Result<Status, ExecError> {
    let command = shown(exec);
    let not_started = |error: io::Error| ExecError::NotStarted {
        command: command.clone(),
        reason: error.to_string(),
    };
    let mut child = order(exec)?.spawn().map_err(not_started)?;
    let output = child.stdout.take();
    let answered = async {
        let mut printed = Zeroizing::new(Vec::with_capacity(8192));
        if let Some(output) = output {
            // What was read before a failure is what there is.
            let _ = output.take(LARGEST + 1).read_to_end(&mut printed).await;
        }
        if printed.len() as u64 > LARGEST {
            return Err(ExecError::Unreadable {
                command: command.clone(),
            });
        }
        let status = child.wait().await.map_err(not_started)?;
        if !status.success() {
            return Err(ExecError::Failed {
                command: command.clone(),
                status: status.to_string(),
            });
        }
        // Some plugins print YAML.
        let answer: Option<Answer> = serde_saphyr::from_slice(&printed).ok();
        let status = answer.and_then(|answer| answer.status);
        status.ok_or_else(|| ExecError::Unreadable {
            command: command.clone(),
        })
    };
    let late = |_| ExecError::Late {
        command: command.clone(),
        limit,
    };
    timeout(limit, answered).await.map_err(late)?
}

/// The program with its arguments and environment. It ends when nobody waits for it any more.
fn order(exec: &ExecConfig) -> Result<Command, ExecError> {
    let program = exec.command.as_ref().ok_or(ExecError::NoCommand)?;
    let mut command = Command::new(program);
    command.args(exec.args.iter().flatten());
    for variable in exec.env.iter().flatten() {
        if let (Some(name), Some(value)) = (variable.get("name"), variable.get("value")) {
            command.env(name, value);
        }
    }
    let interactive = exec.interactive_mode != Some(ExecInteractiveMode::Never);
    let talk = || {
        if interactive {
            Stdio::inherit()
        } else {
            Stdio::null()
        }
    };
    let mut spec = json!({"interactive": interactive});
    if exec.provide_cluster_info {
        spec["cluster"] = serde_json::to_value(&exec.cluster).unwrap_or_default();
    }
    let info = json!({"kind": "ExecCredential", "apiVersion": exec.api_version, "spec": spec});
    command
        .env("KUBERNETES_EXEC_INFO", info.to_string())
        .stdin(talk())
        .stderr(talk())
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    Ok(command)
}

/// The program, for people: without arguments and environment, which may hold a password.
fn shown(exec: &ExecConfig) -> String {
    one_line(exec.command.as_deref().unwrap_or_default(), SHOWN)
}

impl fmt::Debug for Login {
    /// Without the token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").finish_non_exhaustive()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::{convert::Infallible, fs, path::Path};

    use http::Response;
    use parking_lot::Mutex;

    use super::*;

    /// A configuration whose plugin is that script.
    fn config(script: &str) -> Config {
        let exec = json!({"apiVersion": "client.authentication.k8s.io/v1", "command": "sh", "args": ["-c", script],
            "interactiveMode": "Never"});
        let mut config = Config::new("https://127.0.0.1:1".parse().expect("an address"));
        config.auth_info.exec = serde_json::from_value(exec).expect("a plugin");
        config
    }

    fn answer(status: &serde_json::Value) -> String {
        format!("echo '{}'", json!({"kind": "ExecCredential", "status": status}))
    }

    /// Connects to a hub that notes the credentials which it is shown.
    async fn connected(
        config: Config,
        limit: Duration,
    ) -> Result<(Client, Arc<Mutex<Vec<String>>>), ClientError> {
        let shown = Arc::<Mutex<Vec<String>>>::default();
        let noted = Arc::clone(&shown);
        let service = tower::service_fn(move |request: Request<Body>| {
            let header = request.headers().get(header::AUTHORIZATION);
            let header = header.and_then(|header| header.to_str().ok()).unwrap_or("none");
            noted.lock().push(header.to_owned());
            async { Ok::<_, Infallible>(Response::new(Body::empty())) }
        });
        let dial = |_| async { Ok(Client::new(service, "default")) };
        Ok((connect(config, limit, dial).await?, shown))
    }

    async fn ask(client: &Client) -> Result<(), kube::Error> {
        client.send(Request::new(Body::empty())).await.map(drop)
    }

    #[tokio::test]
    async fn an_auth_provider_that_runs_a_command_is_refused() {
        let mut config = config("exit 1");
        config.auth_info.exec = None;
        let provider = json!({"name": "gcp", "config": {"cmd-path": "sleep", "cmd-args": "1000"}});
        config.auth_info.auth_provider = serde_json::from_value(provider).expect("an auth-provider");
        let error = connected(config, PATIENCE).await.err().expect("no credential");
        let name = "gcp".to_owned();
        assert_eq!(error, ClientError::Exec(ExecError::AuthProvider { name }));
    }

    #[tokio::test]
    async fn a_plugin_that_hangs_is_ended_in_time() {
        let folder = tempfile::tempdir().expect("a folder");
        let fifo = folder.path().join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status();
        assert!(made.is_ok_and(|status| status.success()), "mkfifo");
        let script = format!("exec sleep 1000 > {}", fifo.display());
        // Ends when nobody has the pipe open any more.
        let ended = tokio::task::spawn_blocking(move || fs::read(fifo));
        let limit = Duration::from_millis(300);
        let error = connected(config(&script), limit)
            .await
            .err()
            .expect("no credential");
        let late = ExecError::Late {
            command: "sh".to_owned(),
            limit,
        };
        assert_eq!(error, ClientError::Exec(late));
        let ended = timeout(Duration::from_secs(20), ended).await;
        ended.expect("it has ended").expect("no panic").expect("a pipe");
        let told = ExecError::Late {
            command: "kubelogin".to_owned(),
            limit: PATIENCE,
        };
        assert_eq!(
            told.to_string(),
            "the kubeconfig's credential plugin `kubelogin` gave no credential within 60 s and was ended; it may wait \
             for somebody to log in"
        );
    }

    #[tokio::test]
    async fn a_token_is_shown_until_it_expires() {
        let folder = tempfile::tempdir().expect("a folder");
        let runs = |path: &Path| fs::read_to_string(path).unwrap_or_default().len();
        for (expires, expected) in [("2999-01-01T00:00:00Z", 1), ("2000-01-01T00:00:00Z", 3)] {
            let count = folder.path().join(expires);
            let given = answer(&json!({"token": "CANARY", "expirationTimestamp": expires}));
            let script = format!("printf x >> {}; {given}", count.display());
            let (client, shown) = connected(config(&script), PATIENCE).await.expect("a client");
            ask(&client).await.expect("an answer");
            ask(&client).await.expect("an answer");
            assert_eq!(*shown.lock(), ["Bearer CANARY", "Bearer CANARY"]);
            assert_eq!(runs(&count), expected);
        }
    }

    #[tokio::test]
    async fn a_plugin_that_hangs_later_fails_the_request() {
        let folder = tempfile::tempdir().expect("a folder");
        let given = answer(&json!({"token": "CANARY", "expirationTimestamp": "2000-01-01T00:00:00Z"}));
        let been = folder.path().join("been");
        let script = format!(
            "[ -e {0} ] && exec sleep 1000; touch {0}; {given}",
            been.display()
        );
        let (client, shown) = connected(config(&script), Duration::from_secs(2))
            .await
            .expect("a client");
        let error = ask(&client).await.expect_err("no token");
        assert!(
            crate::connect::cause(&error).contains("`sh` gave no credential within 2 s"),
            "{error}"
        );
        assert!(!crate::connect::is_cut_off(&error));
        assert!(shown.lock().is_empty());
    }

    #[tokio::test]
    async fn a_certificate_takes_the_place_of_the_plugin() {
        let mut config = config(&answer(
            &json!({"clientCertificateData": "C", "clientKeyData": "K"}),
        ));
        assert!(
            log_in(&mut config, PATIENCE)
                .await
                .expect("a credential")
                .is_none()
        );
        assert!(config.auth_info.exec.is_none());
        assert_eq!(config.auth_info.client_certificate_data.as_deref(), Some("Qw=="));
        assert!(config.auth_info.client_key_data.is_some());
    }

    #[tokio::test]
    async fn what_is_wrong_is_told_without_what_the_plugin_says() {
        for (script, told) in [
            ("echo CANARY; exit 3", "`sh` failed (exit status: 3)"),
            (
                "echo CANARY",
                "the answer of the credential plugin `sh` could not be read",
            ),
            ("yes CANARY", "could not be read"),
            (
                "printf %s '{\"status\": {\"token\": \"CANARY\\u0001\"}}'",
                "characters that no HTTP header may have",
            ),
            (
                "echo '{\"status\": {\"token\": \"CANARY\", \"expirationTimestamp\": \"CANARY\"}}'",
                "could not be read",
            ),
        ] {
            let error = connected(config(script), PATIENCE)
                .await
                .err()
                .expect("no credential");
            assert!(error.to_string().contains(told), "{error}");
            assert!(!format!("{error} {error:?}").contains("CANARY"), "{error:?}");
        }
        let mut absent = config("");
        absent.auth_info.exec.as_mut().expect("a plugin").command = Some("/none/such".to_owned());
        let error = connected(absent, PATIENCE).await.err().expect("no credential");
        assert!(
            error
                .to_string()
                .starts_with("the credential plugin `/none/such` could not be started: "),
            "{error}"
        );
    }
}
