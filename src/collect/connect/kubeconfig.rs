//! Finds a kubeconfig by the usual loading rules, and what one of its contexts leads to.

use std::{
    env,
    ffi::OsString,
    fmt,
    fs::File,
    path::{Path, PathBuf, absolute},
    time::Duration,
};

use evidence::{LARGEST_CREDENTIAL, LARGEST_KUBECONFIG, api::UnknownName, check_bounded, read_text};
use futures::FutureExt as _;
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig, KubeconfigError},
};
use serde_json::{Value, json};

use super::{
    call::REQUEST_TIMEOUT,
    client, exec,
    failure::{ClientError, ConnectError, ConnectFault},
};

const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
const SHOWN: usize = 12;

/// Which kubeconfig, which of its contexts, and how patient to be with its hub.
#[derive(Clone, Debug, Default)]
pub struct KubeconfigOptions {
    /// The file; none: `$KUBECONFIG`, else `~/.kube/config`, else the pod's service account.
    pub path: Option<PathBuf>,
    /// The context; none: the current one.
    pub context: Option<String>,
    /// How long a request may take; none: 30 s, zero: without a limit.
    pub request_timeout: Option<Duration>,
}

impl KubeconfigOptions {
    pub(super) fn request_timeout(&self) -> Duration {
        match self.request_timeout {
            None => REQUEST_TIMEOUT,
            Some(Duration::ZERO) => Duration::MAX,
            Some(limit) => limit,
        }
    }
}

struct ProcessEnvironment {
    kubeconfig: Option<OsString>,
    home: Option<PathBuf>,
    in_pod: bool,
}

/// A client for the hub that the options and the environment lead to, its name for people, and the way to it for
/// other programs. Sends nothing yet, but runs the context's credential plugin.
pub(super) async fn connect(
    options: &KubeconfigOptions,
) -> Result<(Client, String, HubAccess), ConnectError> {
    let environment = ProcessEnvironment {
        kubeconfig: env::var_os("KUBECONFIG").filter(|value| !value.is_empty()),
        home: env::home_dir(),
        in_pod: env::var_os("KUBERNETES_SERVICE_HOST").is_some(),
    };
    let Some((kubeconfig, place)) = find(options, &environment)? else {
        let failed = |error: &dyn fmt::Display| {
            let message = format!(
                "failed to use the pod's service account: {error}; mount its token (automountServiceAccountToken)"
            );
            ConnectError::new(ConnectFault::ServiceAccount, message)
        };
        let config = Config::incluster().map_err(|error| failed(&error))?;
        let access = HubAccess::of_pod(&config);
        let client = client(config).map_err(|error| failed(&error))?;
        return Ok((client, "in-cluster".to_owned(), access));
    };
    let (mut config, context) = config(&kubeconfig, &place, options.context.as_deref())?;
    let access = HubAccess::of_context(&kubeconfig, &context, &config);
    let limit = exec::PATIENCE.max(options.request_timeout());
    let connecting = async {
        let login = exec::log_in(&mut config, limit).await?;
        Ok(exec::with_login(client(config)?, login))
    };
    let client = connecting.await.map_err(|error| match error {
        ClientError::SlowPlugin { .. } => unusable(ConnectFault::SlowPlugin, &context, &place, &error),
        ClientError::Refused(_) => unusable(ConnectFault::Context, &context, &place, &error),
    })?;
    Ok((client, format!("context {context}"), access))
}

/// The configuration and the name of a context; of the current one if none is given. Runs nothing, but reads the
/// files that the context names.
///
/// # Errors
/// When there is no such context, or it leads nowhere.
pub fn config(
    kubeconfig: &Kubeconfig,
    place: &str,
    context: Option<&str>,
) -> Result<(Config, String), ConnectError> {
    let context = existing_context(kubeconfig, place, context)?;
    let one = alone(kubeconfig, &context);
    let unusable = |error: &dyn fmt::Display| unusable(ConnectFault::Context, &context, place, error);
    check_files(&one).map_err(|error| unusable(&error))?;
    let options = KubeConfigOptions {
        context: Some(context.clone()),
        ..KubeConfigOptions::default()
    };
    let config = client_config(one, &options).map_err(|error| unusable(&error))?;
    Ok((config, context))
}

/// The configuration of a client by a kubeconfig.
pub(crate) fn client_config(
    kubeconfig: Kubeconfig,
    options: &KubeConfigOptions,
) -> Result<Config, KubeconfigError> {
    let reading = Config::from_custom_kubeconfig(kubeconfig, options);
    reading.now_or_never().expect("it never waits")
}

fn unusable(fault: ConnectFault, context: &str, place: &str, error: &dyn fmt::Display) -> ConnectError {
    let message = format!("failed to use the context `{context}` of {place}: {error}");
    ConnectError::new(fault, message)
}

/// Reads the kubeconfig, and says from which files; none if there is only a pod's service account.
fn find(
    options: &KubeconfigOptions,
    environment: &ProcessEnvironment,
) -> Result<Option<(Kubeconfig, String)>, ConnectError> {
    if let Some(path) = &options.path {
        return Ok(Some((read(path)?, path.display().to_string())));
    }
    let (paths, from): (Vec<PathBuf>, _) = match (&environment.kubeconfig, &environment.home) {
        (Some(list), _) => (env::split_paths(list).collect(), "$KUBECONFIG"),
        (None, home) => {
            let default = home.iter().map(|home| home.join(".kube").join("config"));
            (default.collect(), "the default")
        }
    };
    let (mut merged, mut used, mut tried) = (Kubeconfig::default(), Vec::new(), Vec::new());
    for path in paths.iter().filter(|path| !path.as_os_str().is_empty()) {
        // As kubectl does: of several files, some may be missing.
        if !path.exists() {
            tried.push(format!("{} ({from}) does not exist", path.display()));
            continue;
        }
        merged = merged.merge(read(path)?).map_err(|error| {
            let message = format!("failed to merge the kubeconfig {}: {error}", path.display());
            ConnectError::new(ConnectFault::File, message)
        })?;
        used.push(path.display().to_string());
    }
    let is_empty = merged.contexts.is_empty() && merged.current_context.is_none();
    if !is_empty {
        return Ok(Some((merged, used.join(", "))));
    }
    // A context that the user names must come from a kubeconfig.
    if environment.in_pod && options.context.is_none() {
        return Ok(None);
    }
    tried.extend(used.iter().map(|path| format!("{path} ({from}) has no contexts")));
    if tried.is_empty() {
        tried.push("$KUBECONFIG is not set and there is no home directory".to_owned());
    }
    let message = format!(
        "found no hub: {}, and this is not running in a pod",
        tried.join(", ")
    );
    Err(ConnectError::new(ConnectFault::NoHub, message))
}

/// Reads a kubeconfig file; paths in it are then absolute.
///
/// # Errors
/// When it cannot be read or is not a kubeconfig. The message quotes none of it.
pub fn read(path: &Path) -> Result<Kubeconfig, ConnectError> {
    let failed = |message| ConnectError::new(ConnectFault::File, message);
    let path_text = path.display();
    let unreadable = |error| failed(format!("failed to read the kubeconfig {path_text}: {error}"));
    // A pipe can be read only once, and no path in it is relative to it.
    let is_file = path.metadata().map_err(unreadable)?.is_file();
    let read = if is_file {
        check_bounded(path, LARGEST_KUBECONFIG).map_err(unreadable)?;
        Kubeconfig::read_from(absolute(path).map_err(unreadable)?)
    } else {
        Kubeconfig::from_yaml(&read_text(path, LARGEST_KUBECONFIG).map_err(unreadable)?)
    };
    let kubeconfig = read.map_err(|error| match error {
        KubeconfigError::ReadConfig(error, _) => unreadable(error),
        KubeconfigError::Parse(error) => {
            let line = error
                .location()
                .map(|place| place.line())
                .filter(|line| *line > 0);
            let line = line.map(|line| format!(" (line {line})")).unwrap_or_default();
            failed(format!(
                "failed to parse the kubeconfig {path_text}{line}: not a valid kubeconfig"
            ))
        }
        error => failed(format!("failed to read the kubeconfig {path_text}: {error}")),
    })?;
    match &kubeconfig.kind {
        Some(kind) if kind != "Config" => Err(failed(format!(
            "{path_text} is not a valid kubeconfig: its kind is `{kind}`, not `Config`"
        ))),
        _ => Ok(kubeconfig),
    }
}

fn existing_context(
    kubeconfig: &Kubeconfig,
    place: &str,
    context_name: Option<&str>,
) -> Result<String, ConnectError> {
    let names: Vec<&str> = kubeconfig.contexts.iter().map(|context| &*context.name).collect();
    let current = kubeconfig.current_context.as_deref();
    let quoted: Vec<_> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    let more = if names.len() > SHOWN { ", …" } else { "" };
    let examples = format!("{}{more}", quoted.join(", "));
    let (fault, message) = match context_name.or(current.filter(|name| !name.is_empty())) {
        Some(context) if names.contains(&context) => return Ok(context.to_owned()),
        Some(context) => {
            let nearest = UnknownName::among("context", context, names).nearest;
            let nearest = nearest.map(|name| format!(": did you mean `{name}`?"));
            let nearest = nearest.unwrap_or_default();
            let contexts = if examples.is_empty() {
                "it has no contexts".to_owned()
            } else {
                format!("its contexts: {examples}")
            };
            let message = format!("no context `{context}` in {place}{nearest}; {contexts}");
            (ConnectFault::UnknownContext, message)
        }
        None if names.is_empty() => {
            let message = format!("{place} has no contexts: it may not be a kubeconfig");
            (ConnectFault::Empty, message)
        }
        None => {
            let message = format!("{place} sets no current-context; its contexts: {examples}");
            (ConnectFault::NoContext, message)
        }
    };
    Err(ConnectError::new(fault, message))
}

/// Checks that the files which the kubeconfig of one context names can be read and have an end: the client library knows
/// no bound, and does not name the field.
/// The error does not show the path of a key or a token: it may be the key itself.
fn check_files(one: &Kubeconfig) -> Result<(), String> {
    let cluster = one.clusters.first().and_then(|entry| entry.cluster.clone());
    let user = one.auth_infos.first().and_then(|entry| entry.auth_info.clone());
    let (cluster, user) = (cluster.unwrap_or_default(), user.unwrap_or_default());
    let (has_ca, has_key) = (
        cluster.certificate_authority_data.is_some(),
        user.client_key_data.is_some(),
    );
    let has_certificate = user.client_certificate_data.is_some();
    // Data in the kubeconfig is used instead of a file.
    let files = [
        ("certificate-authority", cluster.certificate_authority, has_ca),
        ("client-certificate", user.client_certificate, has_certificate),
        ("client-key", user.client_key, has_key),
        ("tokenFile", user.token_file, user.token.is_some()),
    ];
    for (field, path, has_data) in files {
        let Some(path) = path.filter(|_| !has_data) else {
            continue;
        };
        let checked = check_bounded(Path::new(&path), LARGEST_CREDENTIAL).and_then(|()| File::open(&path));
        if let Err(error) = checked {
            let is_public = field.contains("certificate");
            let file = if is_public { &path } else { "the file" };
            return Err(format!("its {field}: {file} cannot be read: {error}"));
        }
    }
    Ok(())
}

/// The part of a kubeconfig that is about one context.
pub fn alone(kubeconfig: &Kubeconfig, context: &str) -> Kubeconfig {
    let contexts = kubeconfig.contexts.iter().filter(|one| one.name == context);
    let contexts: Vec<_> = contexts.take(1).cloned().collect();
    let first = contexts.first().and_then(|entry| entry.context.clone());
    let first = first.unwrap_or_default();
    let clusters = kubeconfig.clusters.iter().filter(|one| one.name == first.cluster);
    let users = kubeconfig.auth_infos.iter();
    let users = users.filter(|one| Some(&one.name) == first.user.as_ref());
    Kubeconfig {
        clusters: clusters.take(1).cloned().collect(),
        auth_infos: users.take(1).cloned().collect(),
        contexts,
        ..Kubeconfig::default()
    }
}

/// Access to a hub, for programs that the run starts.
pub struct HubAccess {
    /// The API server's address: by it runs know that they are on the same hub.
    pub server: String,
    /// A kubeconfig whose only context is the hub's. Its paths are absolute.
    pub kubeconfig: String,
}

impl HubAccess {
    /// Takes what belongs to `context` out of a kubeconfig.
    pub fn of_context(kubeconfig: &Kubeconfig, context: &str, config: &Config) -> Self {
        let one = Kubeconfig {
            current_context: Some(context.to_owned()),
            ..alone(kubeconfig, context)
        };
        Self::new(config, &serde_json::to_value(one).unwrap_or_default())
    }

    fn of_pod(config: &Config) -> Self {
        let file = |name: &str| format!("{SERVICE_ACCOUNT}/{name}");
        let context = json!({"cluster": "hub", "user": "hub", "namespace": config.default_namespace});
        let cluster =
            json!({"server": config.cluster_url.to_string(), "certificate-authority": file("ca.crt")});
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "hub",
            "clusters": [{"name": "hub", "cluster": cluster}],
            "users": [{"name": "hub", "user": {"tokenFile": file("token")}}],
            "contexts": [{"name": "hub", "context": context}],
        });
        Self::new(config, &kubeconfig)
    }

    fn new(config: &Config, kubeconfig: &Value) -> Self {
        Self {
            server: config.cluster_url.to_string().trim_end_matches('/').to_owned(),
            kubeconfig: format!("{kubeconfig:#}\n"),
        }
    }
}

#[cfg(test)]
mod tests;
