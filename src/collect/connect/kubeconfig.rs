//! Connects by a kubeconfig, found by the usual loading rules, or by the pod's service account.

use std::{
    env,
    ffi::OsString,
    fs::File,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    time::Duration,
};

use evidence::{LARGEST_CREDENTIAL, LARGEST_KUBECONFIG, api::UnknownName, check_bounded, read_text};
use futures::{executor::block_on, future::ready};
use kube::{
    Client, Config,
    config::{AuthInfo, KubeConfigOptions, Kubeconfig, KubeconfigError, LoadDataError},
};

use super::{
    call::REQUEST_TIMEOUT,
    client::client,
    error::{ConnectError, ContextError},
    exec,
    hub_access::{HubAccess, alone},
};

/// Which kubeconfig, which of its contexts, and how patient to be with its hub.
#[derive(Clone, Debug, Default)]
pub struct KubeconfigOptions {
    /// The file; none: `$KUBECONFIG`, else `~/.kube/config`, else the pod's service account.
    pub path: Option<PathBuf>,
    /// The context; none: the current one.
    pub context: Option<String>,
    /// How long a request may take; none: 30 s, zero: as long as it takes.
    pub request_timeout: Option<Duration>,
}

/// How long a request may take that the caller gives so long; none: 30 s, zero: as long as it takes.
pub(super) fn request_timeout(given: Option<Duration>) -> Duration {
    match given {
        None => REQUEST_TIMEOUT,
        Some(Duration::ZERO) => Duration::MAX,
        Some(limit) => limit,
    }
}

/// The parts of the environment that decide where a kubeconfig is.
struct Environment {
    kubeconfig: Option<OsString>,
    home: Option<PathBuf>,
    in_pod: bool,
}

impl Environment {
    /// That of this process.
    fn now() -> Self {
        Self {
            kubeconfig: env::var_os("KUBECONFIG").filter(|value| !value.is_empty()),
            home: env::home_dir(),
            in_pod: env::var_os("KUBERNETES_SERVICE_HOST").is_some(),
        }
    }
}

/// The kubeconfig that was found, and where.
struct Found {
    kubeconfig: Kubeconfig,
    place: String,
}

/// A client for the hub that the options and the environment lead to, its name for people, and the way to it for
/// others.
///
/// # Errors
/// When there is no such hub, or the way to it is not usable, such as by its credential plugin. Nothing is sent yet.
pub(super) async fn connect(
    options: &KubeconfigOptions,
) -> Result<(Client, String, HubAccess), ConnectError> {
    let Some(found) = find(options, &Environment::now())? else {
        let config = Config::incluster().map_err(|error| ConnectError::InCluster { source: error.into() })?;
        let access = HubAccess::of_pod(&config);
        let client = client(config).map_err(|error| ConnectError::InCluster { source: error.into() })?;
        return Ok((client, "in-cluster".to_owned(), access));
    };
    let (config, context) = config(&found.kubeconfig, &found.place, options.context.as_deref())?;
    let access = HubAccess::of_context(&found.kubeconfig, &context, &config);
    let limit = exec::PATIENCE.max(request_timeout(options.request_timeout));
    let client = exec::connect(config, limit, |config| ready(client(config))).await;
    let client = client.map_err(|error| unusable(&context, &found.place, error.into()))?;
    Ok((client, format!("context {context}"), access))
}

/// What a context of a kubeconfig leads to, and its name. Runs nothing, but reads the files that it names.
///
/// # Errors
/// When there is no such context, or it leads nowhere.
pub fn config(
    kubeconfig: &Kubeconfig,
    place: &str,
    asked: Option<&str>,
) -> Result<(Config, String), ConnectError> {
    let context = context(kubeconfig, place, asked)?;
    let options = KubeConfigOptions {
        context: Some(context.clone()),
        ..KubeConfigOptions::default()
    };
    files_are_bounded(&alone(kubeconfig, &context)).map_err(|flaw| unusable(&context, place, flaw))?;
    // It never waits for anything.
    let config = block_on(Config::from_custom_kubeconfig(
        alone(kubeconfig, &context),
        &options,
    ));
    let config = config.map_err(|error| unusable(&context, place, flaw(&error)))?;
    identity(&config.auth_info).map_err(|flaw| unusable(&context, place, flaw))?;
    Ok((config, context))
}

fn unusable(context: &str, place: &str, source: ContextError) -> ConnectError {
    ConnectError::Unusable {
        context: context.to_owned(),
        place: place.to_owned(),
        source,
    }
}

/// What a kubeconfig says it is.
const KIND: &str = "Config";

/// Reads the kubeconfig; none where there is none but a pod's service account is.
fn find(options: &KubeconfigOptions, environment: &Environment) -> Result<Option<Found>, ConnectError> {
    if let Some(path) = &options.path {
        return read(path).map(|kubeconfig| Some(found(kubeconfig, &[path])));
    }
    let (paths, from): (Vec<PathBuf>, _) = match (&environment.kubeconfig, &environment.home) {
        (Some(list), _) => (
            env::split_paths(list)
                .filter(|p| !p.as_os_str().is_empty())
                .collect(),
            "$KUBECONFIG",
        ),
        (None, Some(home)) => (vec![home.join(".kube").join("config")], "the default"),
        (None, None) => (Vec::new(), "the default"),
    };
    let (mut merged, mut used, mut looked) = (Kubeconfig::default(), Vec::new(), Vec::new());
    for path in &paths {
        match read(path) {
            Ok(next) => {
                merged = merged
                    .merge(next)
                    .map_err(|_| ConnectError::Unmergeable { path: path.clone() })?;
                used.push(path);
            }
            // As kubectl does: of several files, some may be missing.
            Err(ConnectError::Unreadable { source, .. }) if source.kind() == ErrorKind::NotFound => {
                looked.push(format!("{} ({from}) does not exist", path.display()));
            }
            Err(error) => return Err(error),
        }
    }
    let empty = merged.contexts.is_empty() && merged.current_context.is_none();
    match (empty, environment.in_pod) {
        (false, _) => Ok(Some(found(merged, &used))),
        // Asked for by name, a context must come from a kubeconfig.
        (true, true) if options.context.is_none() => Ok(None),
        (true, _) => {
            looked.extend(
                used.iter()
                    .map(|path| format!("{} ({from}) has no contexts", path.display())),
            );
            if looked.is_empty() {
                looked.push("$KUBECONFIG is not set and there is no home directory".to_owned());
            }
            Err(ConnectError::Nowhere { looked })
        }
    }
}

fn found<P: AsRef<Path>>(kubeconfig: Kubeconfig, paths: &[P]) -> Found {
    let paths: Vec<_> = paths
        .iter()
        .map(|path| path.as_ref().display().to_string())
        .collect();
    Found {
        kubeconfig,
        place: paths.join(", "),
    }
}

/// Reads a kubeconfig file; paths in it are then absolute.
///
/// # Errors
/// When it cannot be read or is none.
pub fn read(path: &Path) -> Result<Kubeconfig, ConnectError> {
    let unreadable = |source| ConnectError::Unreadable {
        path: path.to_owned(),
        source,
    };
    // What is no file, such as a pipe, can be read but once, and no path in it is relative to it.
    let is_file = path.metadata().map_err(unreadable)?.is_file();
    let read = if is_file {
        check_bounded(path, LARGEST_KUBECONFIG).map_err(unreadable)?;
        Kubeconfig::read_from(path)
    } else {
        Kubeconfig::from_yaml(&read_text(path, LARGEST_KUBECONFIG).map_err(unreadable)?)
    };
    let kubeconfig = read.map_err(|error| match error {
        KubeconfigError::ReadConfig(source, path) => ConnectError::Unreadable { path, source },
        KubeconfigError::Parse(error) => ConnectError::Unparsable {
            path: path.to_owned(),
            line: error
                .location()
                .map(|place| place.line())
                .filter(|line| *line > 0),
        },
        _ => ConnectError::Unmergeable {
            path: path.to_owned(),
        },
    })?;
    match &kubeconfig.kind {
        Some(kind) if kind != KIND => Err(ConnectError::NoConfig {
            path: path.to_owned(),
            kind: kind.clone(),
        }),
        _ => Ok(kubeconfig),
    }
}

/// The context of that name or, where none is named, the current one.
fn context(kubeconfig: &Kubeconfig, place: &str, asked: Option<&str>) -> Result<String, ConnectError> {
    let known: Vec<String> = kubeconfig
        .contexts
        .iter()
        .map(|context| context.name.clone())
        .collect();
    let current = kubeconfig
        .current_context
        .as_deref()
        .filter(|name| !name.is_empty());
    let place = place.to_owned();
    let Some(context) = asked.or(current) else {
        return Err(ConnectError::NoContext { place, known });
    };
    if known.iter().any(|name| name == context) {
        return Ok(context.to_owned());
    }
    let nearest = UnknownName::among("context", context, known.iter().map(String::as_str)).nearest;
    Err(ConnectError::UnknownContext {
        context: context.to_owned(),
        place,
        nearest,
        known,
    })
}

/// Describes what is wrong with a context, without its credentials.
fn flaw(error: &KubeconfigError) -> ContextError {
    let file = |error: &LoadDataError| match error {
        LoadDataError::ReadFile(source, path) => format!("{} cannot be read: {source}", path.display()),
        LoadDataError::DecodeBase64(_) => "it is not valid base64".to_owned(),
        LoadDataError::NoBase64DataOrFile => "there is none".to_owned(),
    };
    ContextError::Field(match error {
        KubeconfigError::LoadClusterOfContext(name) => return ContextError::NoCluster(name.clone()),
        KubeconfigError::MissingClusterUrl => "its cluster has no server".to_owned(),
        KubeconfigError::ParseClusterUrl(error) => format!("its cluster's server is no URL ({error})"),
        KubeconfigError::ParseProxyUrl(error) => format!("its proxy-url is no URL ({error})"),
        KubeconfigError::LoadCertificateAuthority(error) => {
            format!("its certificate authority: {}", file(error))
        }
        KubeconfigError::ParseCertificates(_) => "its certificate authority is not in PEM".to_owned(),
        KubeconfigError::LoadClientCertificate(error) => format!("its client certificate: {}", file(error)),
        KubeconfigError::LoadClientKey(LoadDataError::ReadFile(source, path)) => unreadable_key(path, source),
        KubeconfigError::LoadClientKey(error) => format!("its client key: {}", file(error)),
        KubeconfigError::LoadContext(_) => "it names no cluster".to_owned(),
        _ => "`kubectl config view --minify` may show what is wrong with it".to_owned(),
    })
}

/// Checks that the files which a kubeconfig names have an end. Whoever reads them knows no bound. What cannot be read, they
/// say.
///
/// # Errors
/// Which field, and why.
fn files_are_bounded(kubeconfig: &Kubeconfig) -> Result<(), ContextError> {
    let clusters = kubeconfig
        .clusters
        .iter()
        .filter_map(|named| named.cluster.as_ref());
    let authorities = clusters.map(|cluster| ("certificate-authority", &cluster.certificate_authority));
    let users = kubeconfig
        .auth_infos
        .iter()
        .filter_map(|named| named.auth_info.as_ref());
    let of_users = users.flat_map(|user| {
        [
            ("client-certificate", &user.client_certificate),
            ("client-key", &user.client_key),
            ("tokenFile", &user.token_file),
        ]
    });
    for (field, path) in authorities.chain(of_users) {
        let path = path
            .as_deref()
            .map(Path::new)
            .filter(|path| path.exists() && !path.is_dir());
        if let Some(Err(source)) = path.map(|path| check_bounded(path, LARGEST_CREDENTIAL)) {
            let flaw = format!("its {field}: the file cannot be used: {source}");
            return Err(ContextError::Field(flaw));
        }
    }
    Ok(())
}

/// Checks that a user's files can be read. Whoever makes a client of them does not say which cannot.
///
/// # Errors
/// Which field, and why.
fn identity(user: &AuthInfo) -> Result<(), ContextError> {
    let certificate = user.client_certificate.as_ref();
    if let Some(path) = certificate.filter(|_| user.client_certificate_data.is_none())
        && let Err(source) = File::open(path)
    {
        let flaw = format!("its client-certificate: {path} cannot be read: {source}");
        return Err(ContextError::Field(flaw));
    }
    let key = user
        .client_key
        .as_ref()
        .filter(|_| user.client_key_data.is_none());
    let opened = key.map(|path| {
        File::open(path).map_err(|source| ContextError::Field(unreadable_key(Path::new(path), &source)))
    });
    opened.transpose().map(|_| ())
}

fn unreadable_key(path: &Path, source: &io::Error) -> String {
    let place = if may_be_key(path) {
        "the file".to_owned()
    } else {
        path.display().to_string()
    };
    format!("its client-key: {place} cannot be read: {source}")
}

/// Whether a path may be a key, where `client-key` and `client-key-data` were mixed up: it is in PEM, or too long.
fn may_be_key(path: &Path) -> bool {
    const LONGEST_NAME: usize = 64;
    // How PEM begins in base64.
    const PEM: &str = "LS0tLS1";
    path.components().any(|part| {
        let part = part.as_os_str().to_string_lossy();
        part.len() > LONGEST_NAME || part.starts_with(PEM) || part.contains("-----")
    })
}

#[cfg(test)]
mod tests;
