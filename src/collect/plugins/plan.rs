//! The plugins of a provider file, their calls, and the runner.

use std::{collections::BTreeMap, fmt, path::PathBuf, sync::Arc};

use futures::future::BoxFuture;
use serde::Deserialize;
use zeroize::Zeroize as _;

/// The credential plugins of a consumer.
#[derive(Clone)]
pub struct Plugins {
    /// The access providers with a plugin. The first one that a profile has is used.
    pub providers: Vec<Provider>,
    /// Runs the plugins.
    pub runner: Arc<dyn Runner>,
}

/// The plugin of one access provider.
#[derive(Clone)]
pub struct Provider {
    /// The provider's name in profiles.
    pub name: String,
    /// The path of the program.
    pub command: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables in addition to the runner's own environment; of two with one name, the last counts.
    pub env: Vec<(String, String)>,
    /// The version of the protocol.
    pub protocol: Protocol,
    /// Whether the plugin gets the cluster (`provideClusterInfo`).
    pub cluster_info: bool,
    /// The policy for arguments that a profile adds.
    pub additional_args: ArgsPolicy,
    /// The policy for variables that a profile adds.
    pub additional_envs: EnvsPolicy,
}

/// A version of the protocol between client and plugin (`client.authentication.k8s.io`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Protocol {
    /// `v1`
    #[serde(rename = "client.authentication.k8s.io/v1")]
    V1,
    /// `v1beta1`
    #[serde(rename = "client.authentication.k8s.io/v1beta1")]
    V1Beta1,
}

/// The policy for arguments that a profile adds (KEP-5339 › Configuring plugins in the controller).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum ArgsPolicy {
    /// They are ignored.
    #[default]
    Ignore,
    /// They follow the file's.
    Append,
}

/// The policy for variables that a profile adds (KEP-5339 › Configuring plugins in the controller).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum EnvsPolicy {
    /// They are ignored.
    #[default]
    Ignore,
    /// The file's values win.
    AppendIfNotExists,
    /// The profile's values win.
    Replace,
}

/// One call of a plugin.
pub struct Call {
    /// The provider's name.
    pub provider: String,
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
    fn run<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Ran>;
}

/// The outcome of a run.
pub enum Ran {
    /// The plugin succeeded, with this on its standard output.
    Answered(Output),
    /// The plugin failed, for this reason; quotes no credential.
    Failed(String),
    /// The plugin could not be run, which says nothing about it.
    NotRun(String),
}

/// The output of a plugin. It cannot be printed or written, and is wiped when dropped.
#[derive(Default)]
pub struct Output(pub Vec<u8>);

impl Drop for Output {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl Provider {
    /// A provider of that name whose plugin gets the cluster, for runners that start no program.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            command: PathBuf::from(name),
            args: Vec::new(),
            env: Vec::new(),
            protocol: Protocol::V1,
            cluster_info: true,
            additional_args: ArgsPolicy::Ignore,
            additional_envs: EnvsPolicy::Ignore,
        }
    }
}

impl Protocol {
    /// The value of `apiVersion`.
    pub(super) fn api_version(self) -> &'static str {
        match self {
            Protocol::V1 => "client.authentication.k8s.io/v1",
            Protocol::V1Beta1 => "client.authentication.k8s.io/v1beta1",
        }
    }
}

impl fmt::Debug for Plugins {
    /// Without the arguments and variables, which may hold a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.providers.iter().map(|provider| &provider.name);
        f.debug_list().entries(names).finish()
    }
}
