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

/// The extension that a plugin gets as its configuration.
const CONFIG: &str = "client.authentication.k8s.io/exec";
/// The extension with further arguments (KEP-5339 › Passing plugin configuration via extensions).
const ARGS: &str = "clusterprofiles.multicluster.x-k8s.io/exec/additional-args";
/// The extension with further variables (the same section).
const ENVS: &str = "clusterprofiles.multicluster.x-k8s.io/exec/additional-envs";
/// The variable with the ExecCredential that the plugin reads.
const EXEC_INFO: &str = "KUBERNETES_EXEC_INFO";
/// The fields of a cluster that a plugin gets. Paths are left out: a profile has no files.
const TOLD: [&str; 6] = [
    "server",
    "tls-server-name",
    "insecure-skip-tls-verify",
    "certificate-authority-data",
    "proxy-url",
    "disable-compression",
];

/// A request for a credential for one profile's member.
pub(crate) struct Request {
    /// The access provider's name.
    pub provider: String,
    /// The entry's cluster, in the format of a kubeconfig.
    pub cluster: Value,
    protocol: Protocol,
    /// The call, or why a consumer cannot make it of what the profile says.
    call: Result<Call, ExtensionFlaw>,
    runner: Arc<dyn Runner>,
}

/// The outcome of a request.
pub(crate) enum Yield {
    /// A credential.
    Credential(Issued),
    /// No credential, for this reason; quotes nothing that may be one.
    None(String),
    /// The plugin was not run, which says nothing about it.
    NotRun(String),
}

impl Plugins {
    /// Prepares the request for the profile's member, by the first provider that the profile has; none if it has none
    /// of them.
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
    /// Prepares the call of the provider's plugin for that cluster.
    ///
    /// # Errors
    /// When a consumer could not use what the profile adds.
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

/// Whether an environment can hold that variable.
pub(super) fn is_variable(name: &str, value: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0')
}

/// Reads an extension; the default if it is absent.
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

/// The ExecCredential that the plugin reads.
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

/// The cluster's fields that a plugin may get, in the format of a kubeconfig.
fn cluster_info(cluster: &Cluster) -> Value {
    let mut all = serde_json::to_value(cluster).unwrap_or_default();
    let kept = TOLD.iter().filter_map(|field| match all[field].take() {
        Value::Null => None,
        value => Some(((*field).to_owned(), value)),
    });
    Value::Object(kept.collect())
}
