//! Calls the plugin of one profile.

use std::{collections::BTreeMap, sync::Arc};

use evidence::api::{Cluster, ClusterProfile};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{
    answer::{Issued, read},
    error::ExtensionFlaw,
    plan::{ArgsPolicy, Call, EnvsPolicy, Plugins, Protocol, Provider, Ran, Runner},
};
use crate::clock::Clock;

/// The extension whose content a plugin gets as its configuration.
const CONFIG: &str = "client.authentication.k8s.io/exec";
/// The extension with further arguments (KEP-5339 › Passing plugin configuration via extensions).
const ARGS: &str = "clusterprofiles.multicluster.x-k8s.io/exec/additional-args";
/// The extension with further environment (the same).
const ENVS: &str = "clusterprofiles.multicluster.x-k8s.io/exec/additional-envs";
/// The variable by which a plugin is told what is wanted.
const EXEC_INFO: &str = "KUBERNETES_EXEC_INFO";
/// What of a cluster a plugin is told. A file's path is not: a profile has no files.
const TOLD: [&str; 6] = [
    "server",
    "tls-server-name",
    "insecure-skip-tls-verify",
    "certificate-authority-data",
    "proxy-url",
    "disable-compression",
];

/// How to get a credential for one profile's member.
pub(crate) struct Request {
    /// The access provider's name.
    pub provider: String,
    /// The entry's cluster, in the form of a kubeconfig's.
    pub cluster: Value,
    protocol: Protocol,
    /// Or why a consumer cannot call the plugin with what the profile says.
    call: Result<Call, ExtensionFlaw>,
    runner: Arc<dyn Runner>,
}

/// What a plugin has yielded.
pub(crate) enum Yield {
    /// A credential.
    Credential(Issued),
    /// None, for this reason, which quotes nothing of what may be one.
    None(String),
    /// The plugin was not run: this tells nothing of it.
    NotRun(String),
}

impl Plugins {
    /// How to get a credential for the profile's member: by the first provider that the profile has too. None where it
    /// has none of them.
    pub(crate) fn request(&self, profile: &ClusterProfile) -> Option<Request> {
        let (provider, cluster) = self.providers.iter().find_map(|provider| {
            let entry = profile.access().find(|entry| *entry.name == *provider.name)?;
            Some((provider, &entry.cluster))
        })?;
        Some(Request {
            cluster: cluster_info(cluster),
            protocol: provider.protocol,
            call: Call::of(provider, cluster),
            provider: provider.name.clone(),
            runner: Arc::clone(&self.runner),
        })
    }
}

impl Request {
    /// Runs the plugin.
    pub async fn run(&self, clock: Clock) -> Yield {
        let call = match &self.call {
            Ok(call) => call,
            Err(flaw) => return Yield::None(flaw.to_string()),
        };
        match self.runner.run(call).await {
            Ran::Answered(output) => match read(&output, self.protocol, clock.now()) {
                Ok(issued) => Yield::Credential(issued),
                Err(flaw) => Yield::None(format!("the plugin's answer {flaw}")),
            },
            Ran::Failed(reason) => Yield::None(format!("the plugin {reason}")),
            Ran::NotRun(reason) => Yield::NotRun(format!("the plugin was not run: {reason}")),
        }
    }
}

impl Call {
    /// The provider's plugin for that cluster.
    ///
    /// # Errors
    /// What of the profile a consumer could not use.
    fn of(provider: &Provider, cluster: &Cluster) -> Result<Self, ExtensionFlaw> {
        let mut args = provider.args.clone();
        if provider.additional_args == ArgsPolicy::Append {
            let added: Vec<String> = extension(cluster, ARGS, "list of strings")?;
            if added.iter().any(|argument| argument.contains('\0')) {
                return Err(ExtensionFlaw::Argument(ARGS));
            }
            args.extend(added);
        }
        let mut env: BTreeMap<String, String> = provider.env.iter().cloned().collect();
        if provider.additional_envs != EnvsPolicy::Ignore {
            let added: BTreeMap<String, String> = extension(cluster, ENVS, "map of strings")?;
            if !added.iter().all(|(name, value)| is_variable(name, value)) {
                return Err(ExtensionFlaw::Variable(ENVS));
            }
            for (name, value) in added {
                match provider.additional_envs {
                    EnvsPolicy::Replace => drop(env.insert(name, value)),
                    EnvsPolicy::AppendIfNotExists => drop(env.entry(name).or_insert(value)),
                    EnvsPolicy::Ignore => {}
                }
            }
        }
        env.insert(EXEC_INFO.to_owned(), exec_info(provider, cluster));
        Ok(Self {
            provider: provider.name.clone(),
            command: provider.command.clone(),
            args,
            env,
        })
    }
}

/// Whether an environment can have that variable.
pub(super) fn is_variable(name: &str, value: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0')
}

/// What an extension holds; nothing where there is none.
fn extension<T: DeserializeOwned + Default>(
    cluster: &Cluster,
    name: &'static str,
    form: &'static str,
) -> Result<T, ExtensionFlaw> {
    let Some(found) = cluster.extensions.iter().find(|one| *one.name == *name) else {
        return Ok(T::default());
    };
    let read: Result<Option<T>, _> = serde_json::from_value(found.extension.value());
    // The reader's own message may quote what it could not read.
    read.map(Option::unwrap_or_default)
        .map_err(|_| ExtensionFlaw::Form { name, form })
}

/// What the plugin is told of what is wanted.
fn exec_info(provider: &Provider, cluster: &Cluster) -> String {
    let mut spec = json!({"interactive": false});
    if provider.cluster_info {
        let mut about = cluster_info(cluster);
        if let Some(config) = cluster.extensions.iter().find(|one| *one.name == *CONFIG) {
            about["config"] = config.extension.value();
        }
        spec["cluster"] = about;
    }
    let api_version = provider.protocol.api_version();
    json!({"apiVersion": api_version, "kind": "ExecCredential", "spec": spec}).to_string()
}

/// The part of a cluster that others may be told, as a kubeconfig has it.
fn cluster_info(cluster: &Cluster) -> Value {
    let mut all = serde_json::to_value(cluster).unwrap_or_default();
    let kept = TOLD.iter().filter_map(|field| match all[field].take() {
        Value::Null => None,
        value => Some(((*field).to_owned(), value)),
    });
    Value::Object(kept.collect())
}
