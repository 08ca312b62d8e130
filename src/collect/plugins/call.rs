//! Calls the plugin of one profile.

use std::{collections::BTreeMap, sync::Arc};

use evidence::{
    LoginOutcome,
    api::{Cluster, ClusterProfile},
};
use jiff::{SignedDuration, Timestamp};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::file::{ArgsPolicy, Call, EnvsPolicy, Output, Plugins, Protocol, Provider, Ran, Runner};
use crate::{clock::Clock, connect::exec::ExecCredential};

/// The extension that a plugin gets as its configuration.
const CONFIG: &str = "client.authentication.k8s.io/exec";
/// The extension with further arguments (KEP-5339 › Passing plugin configuration via extensions).
const ARGS: &str = "clusterprofiles.multicluster.x-k8s.io/exec/additional-args";
/// The extension with further variables (the same section).
const ENVS: &str = "clusterprofiles.multicluster.x-k8s.io/exec/additional-envs";
/// The variable with the ExecCredential that the plugin reads.
const EXEC_INFO: &str = "KUBERNETES_EXEC_INFO";
/// The clock skew up to which a credential does not count as expired.
const SKEW: SignedDuration = SignedDuration::from_mins(5);
/// The fields of a cluster that a plugin gets. Paths are left out: a profile has no files.
const CLUSTER_FIELDS: [&str; 6] = [
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
    /// The call, or why a consumer cannot make it with what the profile adds.
    call: Result<Call, String>,
    runner: Arc<dyn Runner>,
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
    ///
    /// # Errors
    /// Why there is no credential; quotes nothing that may be one.
    pub async fn run(&self, clock: Clock) -> Result<ExecCredential, LoginOutcome> {
        let no_credential = |reason: String| LoginOutcome::NoCredential { reason };
        let call = self.call.as_ref().map_err(|flaw| no_credential(flaw.clone()))?;
        match self.runner.run(call).await {
            Ran::Answered(output) => read(&output, self.protocol, clock.now())
                .map_err(|flaw| no_credential(format!("the plugin's answer {flaw}"))),
            Ran::Failed(reason) => Err(no_credential(format!("the plugin {reason}"))),
            Ran::NotRun(reason) => Err(LoginOutcome::Unanswered {
                reason: format!("the plugin was not run: {reason}").into(),
            }),
        }
    }
}

/// Reads an answer in that version of the protocol, which must not have expired.
///
/// # Errors
/// What is wrong with it; goes on after "the plugin's answer".
fn read(output: &Output, protocol: Protocol, now: Timestamp) -> Result<ExecCredential, String> {
    let credential = ExecCredential::read(&output.0, Some(protocol.api_version()))?;
    let age = credential.expires.map(|expires| now.duration_since(expires));
    if let Some(age) = age.filter(|age| *age > SKEW) {
        let age = SignedDuration::from_secs(age.as_secs());
        return Err(format!("expired {age:#} ago"));
    }
    Ok(credential)
}

impl Call {
    /// Prepares the call of the provider's plugin for that cluster.
    ///
    /// # Errors
    /// When a consumer could not use what the profile adds.
    fn of(provider: &Provider, cluster: &Cluster) -> Result<Self, String> {
        let mut args = provider.args.clone();
        if provider.additional_args == ArgsPolicy::Append {
            let added: Vec<String> = extension(cluster, ARGS, "list of strings")?;
            if added.iter().any(|argument| argument.contains('\0')) {
                return Err(format!("its extension {ARGS} has an argument with a NUL in it"));
            }
            args.extend(added);
        }
        let mut env: BTreeMap<String, String> = provider.env.iter().cloned().collect();
        if provider.additional_envs != EnvsPolicy::Ignore {
            let added: BTreeMap<String, String> = extension(cluster, ENVS, "map of strings")?;
            if !added.iter().all(|(name, value)| is_variable(name, value)) {
                return Err(format!(
                    "its extension {ENVS} has a name or value that no environment can have"
                ));
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
fn extension<T: DeserializeOwned + Default>(cluster: &Cluster, name: &str, form: &str) -> Result<T, String> {
    let Some(found) = cluster.extensions.iter().find(|one| *one.name == *name) else {
        return Ok(T::default());
    };
    let read: Result<Option<T>, _> = serde_json::from_value(found.extension.value());
    // The parser's message may quote what it could not read.
    read.map(Option::unwrap_or_default)
        .map_err(|_| format!("its extension {name} is not a {form}"))
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
    let kept = CLUSTER_FIELDS.iter().filter_map(|field| match all[field].take() {
        Value::Null => None,
        value => Some(((*field).to_owned(), value)),
    });
    Value::Object(kept.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_may_expire_a_moment_before_it_is_read() {
        let outcome = |expires: &str| {
            let status = json!({"token": "CANARY", "expirationTimestamp": expires});
            let version = Protocol::V1.api_version();
            let answer = json!({"apiVersion": version, "kind": "ExecCredential", "status": status});
            let now = "2026-01-01T00:00:00Z".parse().expect("a time");
            let output = Output(answer.to_string().into_bytes());
            read(&output, Protocol::V1, now).map(|credential| credential.expires)
        };
        assert_eq!(
            outcome("2025-12-31T23:56:00Z"),
            Ok("2025-12-31T23:56:00Z".parse().ok())
        );
        assert_eq!(outcome("2025-12-31T22:00:00Z"), Err("expired 2h ago".to_owned()));
    }
}
