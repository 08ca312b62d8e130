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
pub(crate) const LARGEST: usize = 1 << 20;
/// The variable by which a plugin gets its request.
pub(crate) const EXEC_INFO: &str = "KUBERNETES_EXEC_INFO";
const SHOWN: usize = 200;

/// A plugin that has given a token, and gives the next one when that expires.
pub(crate) struct ExecLogin {
    exec: ExecConfig,
    limit: Duration,
    clock: Clock,
    token: Mutex<ExecToken>,
}

struct ExecToken {
    header: HeaderValue,
    expires: Option<Timestamp>,
}

/// Takes the plugin out of a configuration and runs it, for `limit` at most. Its certificate goes into the configuration, and
/// its token into the login, which the client needs: see [`with_login`].
pub(crate) async fn log_in(config: &mut Config, limit: Duration) -> Result<Option<ExecLogin>, ClientError> {
    let Some(exec) = take_plugin(&mut config.auth_info)? else {
        return Ok(None);
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
    let token = ExecToken::of(&credential)?;
    Ok(token.map(|token| ExecLogin {
        exec,
        limit,
        clock: Clock::system(),
        token: Mutex::new(token),
    }))
}

/// A client that shows the token of a login, if there is one.
pub(crate) fn with_login(client: Client, login: Option<ExecLogin>) -> Client {
    match login {
        Some(login) => login.with(client),
        None => client,
    }
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

impl ExecLogin {
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
            *token = ExecToken::of(&credential)?.ok_or_else(|| unreadable(&self.exec, "holds no token"))?;
        }
        Ok(token.header.clone())
    }
}

impl ExecToken {
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
    let command = program(exec);
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
            .map_err(|cause| unreadable(exec, &cause)),
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

fn unreadable(exec: &ExecConfig, why: &str) -> ClientError {
    let command = program(exec);
    ClientError::Refused(format!(
        "the answer of the credential plugin `{command}` could not be read: it {why}"
    ))
}

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
    let cluster = serde_json::to_value(&exec.cluster).unwrap_or_default();
    let cluster = exec.provide_cluster_info.then_some(cluster);
    let info = exec_info(exec.api_version.as_deref(), is_interactive, cluster);
    command.env(EXEC_INFO, info);
    Ok(command)
}

/// The content of [`EXEC_INFO`] for a plugin, with its cluster if it gets that.
pub(crate) fn exec_info(api_version: Option<&str>, is_interactive: bool, cluster: Option<Value>) -> String {
    let mut spec = json!({"interactive": is_interactive});
    if let Some(cluster) = cluster {
        spec["cluster"] = cluster;
    }
    json!({"kind": "ExecCredential", "apiVersion": api_version, "spec": spec}).to_string()
}

/// The program, for people: without arguments and environment, which may hold a password.
fn program(exec: &ExecConfig) -> String {
    one_line(exec.command.as_deref().unwrap_or_default(), SHOWN)
}

/// A credential: a token, a client certificate with its key, or both.
pub(crate) struct ExecCredential {
    /// In the format of a kubeconfig's user.
    pub user: Hidden,
    /// When it expires; none if the plugin does not say.
    pub expires: Option<Timestamp>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PrintedCredential {
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
    fn field(&self, name: &str) -> Option<&str> {
        self.user.0[name].as_str()
    }

    /// Reads a plugin's answer as client-go does: JSON or YAML, in the version that was asked for. None: any version.
    /// The error goes on after "the plugin's answer", and quotes none of it.
    pub fn read(printed: &[u8], version: Option<&str>) -> Result<Self, String> {
        let printed: Option<PrintedCredential> = serde_json::from_slice(printed)
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
mod tests;
