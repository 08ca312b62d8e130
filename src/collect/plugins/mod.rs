//! Credential plugins of access providers (KEP-5339): how a consumer of the inventory gets access to a member.
//!
//! The suite runs only plugins that a provider file names, in the format of consumers. The file's policies decide which
//! arguments and variables a profile may add. A plugin's answer stays in memory, is tried on the member, and is wiped.

mod call;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use evidence::{LARGEST_TEXT, read_text, user_file};
use futures::future::BoxFuture;
use kube::config::ExecInteractiveMode;
use serde::Deserialize;
use zeroize::Zeroizing;

pub(super) use self::call::PluginRequest;
pub use self::call::Processes;
use self::call::is_variable;

/// What a provider file may look like, for errors.
const EXAMPLE: &str = "give for each provider a name and an execConfig with apiVersion and command, for example \
                       `providers: [{name: secretreader, execConfig: {apiVersion: client.authentication.k8s.io/v1, \
                       command: ./secretreader, provideClusterInfo: true}}]`";

/// Why a provider file cannot be used. Quotes no argument and no variable's value.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ProvidersError(String);

/// Why the program of a plugin cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its command {0}")]
pub struct NoProgram(String);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProviderFile {
    providers: Vec<Provider>,
}

/// The plugin of one access provider. Clients write null for what is not set.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Provider {
    /// The provider's name in profiles.
    pub name: String,
    /// How to run the plugin.
    pub exec_config: PluginConfig,
    /// The policy for arguments that a profile adds.
    #[serde(rename = "profileSourcedCLIArgsPolicy")]
    args_policy: Option<ArgsPolicy>,
    /// The policy for variables that a profile adds.
    #[serde(rename = "profileSourcedEnvVarsPolicy")]
    envs_policy: Option<EnvsPolicy>,
}

/// How to run a plugin.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PluginConfig {
    api_version: Protocol,
    /// The path of the program.
    pub command: PathBuf,
    args: Option<Vec<String>>,
    /// Variables in addition to the runner's own environment; of two with one name, the last counts.
    env: Option<Vec<Variable>>,
    install_hint: Option<String>,
    /// No mode makes a difference: the suite gives plugins no terminal.
    #[serde(rename = "interactiveMode")]
    _interactive_mode: Option<ExecInteractiveMode>,
    /// Whether the plugin gets the cluster.
    provide_cluster_info: Option<bool>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Variable {
    name: String,
    #[serde(default)]
    value: String,
}

/// Reads a provider file, and finds the plugins that it names. Runs none.
///
/// # Errors
/// When the file cannot be used, or a plugin is not installed.
pub fn read_providers(path: &Path) -> Result<Plugins, ProvidersError> {
    let place = path.display();
    let unusable = |why| ProvidersError(format!("failed to use the provider file {place}: {why}"));
    let malformed = |why: String| unusable(format!("{why}; {EXAMPLE}"));
    let text = read_text(path, LARGEST_TEXT)
        .map_err(|error| ProvidersError(format!("failed to read the provider file {place}: {error}")))?;
    let file: ProviderFile = user_file::read(&text).map_err(|error| malformed(error.to_string()))?;
    if file.providers.is_empty() {
        return Err(malformed("it lists no providers".to_owned()));
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut providers = file.providers;
    let mut names = BTreeSet::new();
    for provider in &mut providers {
        let name = provider.name.clone();
        let of_provider = |why: &str| format!("provider `{name}`: {why}");
        check(provider).map_err(|why| malformed(of_provider(why)))?;
        if !names.insert(name.clone()) {
            return Err(malformed(of_provider("it is listed twice")));
        }
        let config = &mut provider.exec_config;
        config.command = find_program(&config.command, folder).map_err(|why| {
            let hint = config.install_hint.as_ref();
            let hint = hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
            unusable(of_provider(&format!("{why}{hint}")))
        })?;
    }
    Ok(Plugins {
        providers,
        runner: Arc::new(Processes::default()),
    })
}

/// Checks what a program can be given.
fn check(provider: &Provider) -> Result<(), &'static str> {
    let config = &provider.exec_config;
    let command = config.command.to_string_lossy();
    let mut args = config.args.iter().flatten();
    let mut env = config.env.iter().flatten();
    if provider.name.is_empty() {
        Err("it has no name")
    } else if command.is_empty() {
        Err("its execConfig has no command")
    } else if command.contains('\0') || args.any(|text| text.contains('\0')) {
        Err("its command or an argument has a NUL in it")
    } else if !env.all(|one| is_variable(&one.name, &one.value)) {
        Err("its env has a name or value that no environment can have")
    } else {
        Ok(())
    }
}

/// Finds the program: a bare name on the PATH, a path relative to the file's folder.
pub(crate) fn find_program(command: &Path, folder: &Path) -> Result<PathBuf, NoProgram> {
    if command.components().count() > 1 || command.is_absolute() {
        let place = folder.join(command);
        // A relative path would be resolved against another folder.
        let place = std::path::absolute(&place).unwrap_or(place);
        return if is_program(&place) {
            Ok(place)
        } else {
            Err(NoProgram(format!("{} is not a program", place.display())))
        };
    }
    let places = env::var_os("PATH").unwrap_or_default();
    let mut places = env::split_paths(&places).map(|place| place.join(command));
    places
        .find(|place| is_program(place))
        .ok_or_else(|| NoProgram(format!("`{}` is not on the PATH", command.display())))
}

fn is_program(path: &Path) -> bool {
    let Ok(metadata) = fs::metadata(path) else {
        return false;
    };
    #[cfg(unix)]
    let may_run = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o111 != 0;
    #[cfg(not(unix))]
    let may_run = true;
    metadata.is_file() && may_run
}

/// The credential plugins of a consumer.
#[derive(Clone)]
pub struct Plugins {
    /// The access providers with a plugin. The first one that a profile has is used.
    pub providers: Vec<Provider>,
    /// Runs the plugins.
    pub runner: Arc<dyn Runner>,
}

/// A version of the protocol between client and plugin (`client.authentication.k8s.io`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) enum Protocol {
    /// `v1`
    #[default]
    #[serde(rename = "client.authentication.k8s.io/v1")]
    V1,
    /// `v1beta1`
    #[serde(rename = "client.authentication.k8s.io/v1beta1")]
    V1Beta1,
}

/// The policy for arguments that a profile adds (KEP-5339 › Configuring plugins in the controller).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
enum ArgsPolicy {
    /// They are ignored.
    #[default]
    Ignore,
    /// They follow the file's.
    Append,
}

/// The policy for variables that a profile adds (KEP-5339 › Configuring plugins in the controller).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
enum EnvsPolicy {
    /// They are ignored.
    #[default]
    Ignore,
    /// The file's values win.
    AppendIfNotExists,
    /// The profile's values win.
    Replace,
}

/// One call of a plugin.
pub struct PluginCommand {
    /// The program.
    pub command: PathBuf,
    /// All its arguments.
    pub args: Vec<String>,
    /// All variables in addition to the runner's own environment.
    pub env: BTreeMap<String, String>,
}

/// Runs plugins.
pub trait Runner: Send + Sync {
    /// Runs a plugin to its end. Dropping the future kills the plugin.
    fn run<'a>(&'a self, call: &'a PluginCommand) -> BoxFuture<'a, Ran>;
}

/// The outcome of a run.
pub enum Ran {
    /// The plugin succeeded, with this on its standard output.
    Answered(Zeroizing<Vec<u8>>),
    /// The plugin failed, for this reason; quotes no credential.
    Failed(String),
    /// The plugin could not be run, which says nothing about it.
    NotRun(String),
}

impl Provider {
    /// A provider of that name whose plugin gets the cluster, for runners that start no program.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            exec_config: PluginConfig {
                provide_cluster_info: Some(true),
                ..PluginConfig::default()
            },
            ..Self::default()
        }
    }
}

impl Protocol {
    pub const ALL: [Self; 2] = [Self::V1, Self::V1Beta1];

    /// The value of `apiVersion`.
    pub fn api_version(self) -> &'static str {
        match self {
            Protocol::V1 => "client.authentication.k8s.io/v1",
            Protocol::V1Beta1 => "client.authentication.k8s.io/v1beta1",
        }
    }
}
