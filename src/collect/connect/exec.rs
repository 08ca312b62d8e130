//! Runs the credential plugin (`exec`) that a kubeconfig names, within a limit, and reads the ExecCredential that plugins print
//! (`client.authentication.k8s.io`).
//!
//! The client library runs plugins too, but without a limit: at the start, and again whenever a token expires.

use std::{error::Error, io, sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use http::{HeaderValue, Request, header};
use jiff::{SignedDuration, Timestamp};
use kube::{
    Client, Config,
    client::Body,
    config::{AuthInfo, ExecConfig, ExecInteractiveMode},
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{process::Command, sync::Mutex};
use tokio_util::sync::CancellationToken;
use zeroize::{Zeroize as _, Zeroizing};

use super::failure::{ClientError, one_line};
use crate::{
    clock::Clock,
    subprocess::{End, Sink, Subprocess, Subprocesses},
};

/// How long a plugin may take, unless a request may take longer: the user may have to log in by it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// How long before its end a token is renewed.
const RENEWAL: SignedDuration = SignedDuration::from_secs(60);
/// The largest answer of a plugin in bytes.
pub(crate) const LARGEST: usize = 1 << 20;
/// How many characters of a command are shown.
const SHOWN: usize = 200;

/// A plugin that has given a token, and gives the next one when that expires.
struct Login {
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
    let Some(exec) = take_plugin(&mut config.auth_info)? else {
        return connect(config).await;
    };
    let credential = run(&exec, limit).await?;
    if let Some(certificate) = credential.field("client-certificate-data") {
        let user = &mut config.auth_info;
        user.client_certificate = None;
        user.client_key = None;
        user.client_certificate_data = Some(certificate.to_owned());
        let key = credential.field("client-key-data");
        user.client_key_data = key.map(|key| key.to_owned().into());
    }
    let token = Token::of(&credential)?;
    let client = connect(config).await?;
    let Some(token) = token else {
        return Ok(client);
    };
    let login = Login {
        exec,
        limit,
        clock: Clock::system(),
        token: Mutex::new(token),
    };
    Ok(login.with(client))
}

/// Takes the plugin out of a kubeconfig's user; none if the client library prefers another credential.
fn take_plugin(user: &mut AuthInfo) -> Result<Option<ExecConfig>, ClientError> {
    if let Some(provider) = &user.auth_provider
        && provider.config.contains_key("cmd-path")
    {
        return Err(ClientError::Refused(format!(
            "the kubeconfig's auth-provider `{}` runs a command, which kubectl refuses since v1.26; have the kubeconfig \
             name a credential plugin (`exec`)",
            one_line(&provider.name, SHOWN)
        )));
    }
    let has_other = user.auth_provider.is_some()
        || user.token.is_some()
        || user.token_file.is_some()
        || (user.username.is_some() && user.password.is_some());
    Ok(user.exec.take().filter(|_| !has_other))
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
            let credential = run(&self.exec, self.limit).await?;
            *token = Token::of(&credential)?.ok_or_else(|| unreadable(&self.exec, "holds no token"))?;
        }
        Ok(token.header.clone())
    }
}

impl Token {
    /// The token of a credential; none if that is only a certificate.
    fn of(credential: &ExecCredential) -> Result<Option<Self>, ClientError> {
        let Some(token) = credential.field("token") else {
            return Ok(None);
        };
        let bearer = Zeroizing::new(format!("Bearer {token}"));
        let mut header = HeaderValue::try_from(bearer.as_str()).map_err(|_| ClientError::token())?;
        header.set_sensitive(true);
        Ok(Some(Self {
            header,
            expires: credential.expires,
        }))
    }
}

/// Runs a plugin as clients of Kubernetes do. One that is late is killed.
async fn run(exec: &ExecConfig, limit: Duration) -> Result<ExecCredential, ClientError> {
    let command = shown(exec);
    let is_interactive = exec.interactive_mode != Some(ExecInteractiveMode::Never);
    let stderr = if is_interactive { Sink::Ours } else { Sink::Nowhere };
    let plugin = order(exec, is_interactive)?;
    let ended = run_plugin(&Subprocesses::new(), plugin, is_interactive, stderr, limit).await;
    let (end, printed) = ended.map_err(|error| {
        ClientError::Refused(format!(
            "the credential plugin `{command}` could not be started: {error}"
        ))
    })?;
    match end {
        End::Late(_) | End::Stopped => Err(ClientError::SlowPlugin { command, limit }),
        End::TooMuch(most) => Err(unreadable(exec, &format!("is larger than {} KiB", most / 1024))),
        end if end.is_success() => ExecCredential::read(&printed, exec.api_version.as_deref())
            .map_err(|flaw| unreadable(exec, &flaw)),
        end => Err(ClientError::Refused(format!(
            "the kubeconfig's credential plugin `{command}` {end}"
        ))),
    }
}

/// Runs a credential plugin to its end. Returns what it has printed on its standard output.
pub(crate) async fn run_plugin(
    subprocesses: &Subprocesses,
    command: Command,
    is_interactive: bool,
    stderr: Sink<'_>,
    limit: Duration,
) -> io::Result<(End, Zeroizing<Vec<u8>>)> {
    // All of its capacity now: a vector that grows leaves copies behind.
    let mut printed = Zeroizing::new(Vec::with_capacity(LARGEST + 1));
    let subprocess = Subprocess {
        command,
        is_interactive,
        stdout: Sink::Whole {
            into: &mut printed,
            most: LARGEST,
        },
        stderr,
        limit,
        grace: Duration::ZERO,
        stop: &CancellationToken::new(),
    };
    let end = subprocesses.run(subprocess).await?;
    Ok((end, printed))
}

fn unreadable(exec: &ExecConfig, flaw: &str) -> ClientError {
    let command = shown(exec);
    ClientError::Refused(format!(
        "the answer of the credential plugin `{command}` could not be read: it {flaw}"
    ))
}

/// The program with its arguments and environment.
fn order(exec: &ExecConfig, is_interactive: bool) -> Result<Command, ClientError> {
    let no_command =
        || ClientError::Refused("the credential plugin has no command in the kubeconfig".to_owned());
    let program = exec.command.as_ref().ok_or_else(no_command)?;
    let mut command = Command::new(program);
    command.args(exec.args.iter().flatten());
    for variable in exec.env.iter().flatten() {
        if let (Some(name), Some(value)) = (variable.get("name"), variable.get("value")) {
            command.env(name, value);
        }
    }
    let mut spec = json!({"interactive": is_interactive});
    if exec.provide_cluster_info {
        spec["cluster"] = serde_json::to_value(&exec.cluster).unwrap_or_default();
    }
    let info = json!({"kind": "ExecCredential", "apiVersion": exec.api_version, "spec": spec});
    command.env("KUBERNETES_EXEC_INFO", info.to_string());
    Ok(command)
}

/// The program, for people: without arguments and environment, which may hold a password.
fn shown(exec: &ExecConfig) -> String {
    one_line(exec.command.as_deref().unwrap_or_default(), SHOWN)
}

/// A credential: a token, a client certificate with its key, or both.
pub(crate) struct ExecCredential {
    /// In the format of a kubeconfig's user.
    pub user: Hidden,
    /// When it expires; none if the plugin does not say.
    pub expires: Option<Timestamp>,
}

/// What a plugin prints.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Printed {
    api_version: String,
    kind: String,
    #[serde(default)]
    status: PrintedStatus,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PrintedStatus {
    token: Option<String>,
    client_certificate_data: Option<String>,
    client_key_data: Option<String>,
    expiration_timestamp: Option<String>,
}

impl ExecCredential {
    /// A field of the user.
    fn field(&self, name: &str) -> Option<&str> {
        self.user.0[name].as_str()
    }

    /// Reads a plugin's answer as client-go does: JSON or YAML, in the version that was asked for. None: any version.
    ///
    /// # Errors
    /// What is wrong with it; goes on after "the plugin's answer", and quotes none of it.
    pub fn read(printed: &[u8], version: Option<&str>) -> Result<Self, String> {
        let printed: Option<Printed> = serde_json::from_slice(printed)
            .ok()
            .or_else(|| serde_saphyr::from_slice(printed).ok());
        let printed = printed
            .filter(|printed| printed.kind == "ExecCredential")
            .ok_or("is not an ExecCredential")?;
        if let Some(version) = version.filter(|version| *version != printed.api_version) {
            return Err(format!(
                "is of another version than the {version} that was asked for"
            ));
        }
        let status = printed.status;
        let secret = |text: Option<String>| text.filter(|text| !text.is_empty()).map(Zeroizing::new);
        let mut user = Hidden(json!({}));
        if let Some(token) = secret(status.token) {
            user.0["token"] = token.as_str().into();
        }
        match (
            secret(status.client_certificate_data),
            secret(status.client_key_data),
        ) {
            (Some(certificate), Some(key)) => {
                user.0["client-certificate-data"] = BASE64.encode(certificate.as_str()).into();
                user.0["client-key-data"] = BASE64.encode(key.as_str()).into();
            }
            (None, None) if user.0["token"].is_null() => {
                return Err("holds neither a token nor a client certificate".to_owned());
            }
            (None, None) => {}
            _ => return Err("has a client certificate or a key, and not both".to_owned()),
        }
        let expires = status.expiration_timestamp.filter(|time| !time.is_empty());
        let expires = expires.map(|time| time.parse()).transpose();
        let expires = expires.map_err(|_| "has an expirationTimestamp that is not a time in RFC 3339")?;
        Ok(Self { user, expires })
    }
}

/// JSON that holds secrets. It cannot be printed or written, and is wiped when dropped.
pub(crate) struct Hidden(pub Value);

impl Drop for Hidden {
    fn drop(&mut self) {
        wipe(self.0.take());
    }
}

fn wipe(value: Value) {
    match value {
        Value::String(mut text) => text.zeroize(),
        Value::Array(items) => items.into_iter().for_each(wipe),
        Value::Object(fields) => fields.into_iter().for_each(|(_, field)| wipe(field)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::{convert::Infallible, fs, path::Path};

    use http::Response;
    use parking_lot::Mutex;

    use super::*;

    const V1: &str = "client.authentication.k8s.io/v1";

    /// A configuration whose plugin is that script.
    fn config(script: &str) -> Config {
        let exec = json!({"apiVersion": V1, "command": "sh", "args": ["-c", script],
            "interactiveMode": "Never"});
        let mut config = Config::new("https://127.0.0.1:1".parse().expect("an address"));
        config.auth_info.exec = serde_json::from_value(exec).expect("a plugin");
        config
    }

    fn answer(status: &serde_json::Value) -> String {
        format!(
            "echo '{}'",
            json!({"apiVersion": V1, "kind": "ExecCredential", "status": status})
        )
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
        assert!(
            error.to_string().contains("auth-provider `gcp` runs a command"),
            "{error}"
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
            crate::connect::cause(&error).contains(
                "the kubeconfig's credential plugin `sh` gave no credential within 2 s and was ended; it may wait for \
                 the user to log in"
            ),
            "{error}"
        );
        assert!(!crate::connect::failure::is_cut_off(&error));
        assert!(shown.lock().is_empty());
    }

    #[tokio::test]
    async fn a_certificate_takes_the_place_of_the_plugin() {
        let status = json!({"clientCertificateData": "C", "clientKeyData": "K"});
        let mut used = None;
        let client = connect(config(&answer(&status)), PATIENCE, |config| {
            used = Some(config.auth_info);
            async { Err(ClientError::Refused(String::new())) }
        });
        client.await.err().expect("no hub");
        let used = used.expect("a configuration");
        assert!(used.exec.is_none());
        assert_eq!(used.client_certificate_data.as_deref(), Some("Qw=="));
        assert!(used.client_key_data.is_some());
    }

    #[tokio::test]
    async fn errors_do_not_quote_the_plugin() {
        let unprintable = answer(&json!({"token": "CANARY\u{1}"}));
        for (script, message) in [
            ("echo CANARY; exit 3", "`sh` ended with exit code 3"),
            ("yes CANARY", "could not be read: it is larger than 1024 KiB"),
            (&unprintable, "characters that no HTTP header may have"),
        ] {
            let error = connected(config(script), PATIENCE)
                .await
                .err()
                .expect("no credential");
            assert!(error.to_string().contains(message), "{error}");
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

    fn read(answer: &str) -> Result<ExecCredential, String> {
        ExecCredential::read(answer.as_bytes(), Some(V1))
    }

    fn printed(status: &Value) -> String {
        json!({"apiVersion": V1, "kind": "ExecCredential", "status": status}).to_string()
    }

    #[test]
    fn credentials_are_read_as_clients_read_them() {
        let time = "2026-01-01T01:00:00+01:00";
        let timed =
            read(&printed(&json!({"token": "t", "expirationTimestamp": time}))).expect("a credential");
        assert_eq!(timed.user.0, json!({"token": "t"}));
        assert_eq!(timed.expires, "2026-01-01T00:00:00Z".parse().ok());
        let pair = json!({"clientCertificateData": "c", "clientKeyData": "k", "expirationTimestamp": null});
        let certified = read(&printed(&pair)).expect("a credential");
        assert!(certified.expires.is_none());
        let user = json!({"client-certificate-data": "Yw==", "client-key-data": "aw=="});
        assert_eq!(certified.user.0, user);
        let yaml = format!("apiVersion: {V1}\nkind: ExecCredential\nstatus:\n  token: t\n");
        for version in [Some(V1), None] {
            let any = ExecCredential::read(yaml.as_bytes(), version).expect("a credential");
            assert_eq!(any.field("token"), Some("t"));
        }
    }

    #[test]
    fn other_answers_are_refused_without_quoting_them() {
        let of = |version: &str, kind: &str| {
            json!({"apiVersion": version, "kind": kind, "status": {"token": "CANARY"}}).to_string()
        };
        for (answer, expected) in [
            ("CANARY: [".to_owned(), "not an ExecCredential"),
            (of(V1, "Secret"), "not an ExecCredential"),
            (
                of("v1beta1", "ExecCredential"),
                "another version than the client.authentication.k8s.io/v1 that",
            ),
            (printed(&json!("CANARY")), "not an ExecCredential"),
            (printed(&json!({"token": ""})), "neither a token nor"),
            (
                printed(&json!({"token": "CANARY", "clientKeyData": "CANARY"})),
                "and not both",
            ),
            (
                printed(&json!({"token": "CANARY", "expirationTimestamp": "CANARY"})),
                "not a time in RFC 3339",
            ),
        ] {
            let flaw = read(&answer).err().expect("no credential");
            assert!(flaw.contains(expected) && !flaw.contains("CANARY"), "{flaw}");
        }
    }
}
