//! The plugins, how each is called, and what runs them.

use std::{collections::BTreeMap, fmt, path::PathBuf, sync::Arc};

use futures::future::BoxFuture;
use zeroize::Zeroize as _;

/// The credential plugins of a consumer.
#[derive(Clone)]
pub struct Plugins {
    /// The access providers that have one. Of those that a profile has, the first counts.
    pub providers: Vec<Provider>,
    /// What runs them.
    pub runner: Arc<dyn Runner>,
}

/// The plugin of one access provider.
#[derive(Clone)]
pub struct Provider {
    /// The provider's name, as profiles have it.
    pub name: String,
    /// The program, found.
    pub command: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// What its environment has besides the runner's own; of two alike the last counts.
    pub env: Vec<(String, String)>,
    /// The version of the protocol.
    pub protocol: Protocol,
    /// Whether the plugin is told of the cluster.
    pub cluster_info: bool,
    /// What becomes of the arguments that a profile adds.
    pub additional_args: ArgsPolicy,
    /// What becomes of the environment that a profile adds.
    pub additional_envs: EnvsPolicy,
}

/// A version of the protocol between client and plugin (`client.authentication.k8s.io`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// `v1`
    V1,
    /// `v1beta1`
    V1Beta1,
}

/// What becomes of the arguments that a profile adds (KEP-5339 › Configuring plugins in the controller).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ArgsPolicy {
    /// They are left out.
    #[default]
    Ignore,
    /// They come after those of the file.
    Append,
}

/// What becomes of the environment that a profile adds (KEP-5339 › Configuring plugins in the controller).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EnvsPolicy {
    /// It is left out.
    #[default]
    Ignore,
    /// Names that the file has keep its values.
    AppendIfNotExists,
    /// Names that the file has get the profile's values.
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
    /// All that its environment has besides the runner's own.
    pub env: BTreeMap<String, String>,
}

/// Runs plugins.
pub trait Runner: Send + Sync {
    /// Runs one to its end. When this is dropped, so is the plugin.
    fn run<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Ran>;
}

/// What came of a run.
pub enum Ran {
    /// The plugin ended well, with this on its standard output.
    Answered(Output),
    /// The plugin failed, in this way; quotes no credential.
    Failed(String),
    /// The plugin could not be run: this tells nothing of it.
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
    /// A provider of that name whose plugin is told of the cluster, for runners that start no program.
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
    /// The versions that there are.
    pub const ALL: [Protocol; 2] = [Protocol::V1, Protocol::V1Beta1];

    /// As `apiVersion` has it.
    pub fn api_version(self) -> &'static str {
        match self {
            Protocol::V1 => "client.authentication.k8s.io/v1",
            Protocol::V1Beta1 => "client.authentication.k8s.io/v1beta1",
        }
    }
}

impl fmt::Debug for Plugins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plugins")
            .field("providers", &self.providers)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Provider {
    /// Without what may hold a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
