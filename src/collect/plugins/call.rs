//! Calls the plugin of one profile: as a program, without a shell, with limits of time and size.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
    time::Duration,
};

use evidence::{
    LoginOutcome,
    api::{
        Cluster, ClusterProfile,
        names::{EXTENSION_ARGS, EXTENSION_ENVS, EXTENSION_EXEC},
    },
    redact::without_credentials,
};
use futures::{FutureExt as _, future::BoxFuture};
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::{process::Command, sync::Semaphore, time::timeout};

use super::{ArgsPolicy, EnvsPolicy, PluginCommand, Plugins, Protocol, Provider, Ran, Runner};
use crate::{
    clock::Clock,
    connect::{EXEC_INFO, ExecCredential, cut, exec_info, run_plugin},
    subprocess::{Sink, Subprocesses, Tail, with_last_words},
};

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
const PATIENCE: Duration = Duration::from_secs(30);
const AT_ONCE: usize = 16;
/// How long a plugin waits for its turn. If most of them hang, the run still ends.
const QUEUE: Duration = Duration::from_secs(300);
/// Shorter values of the environment are not redacted: they would hide too much other text.
const SHORTEST_VALUE: usize = 8;

/// How many lines and characters of its standard error a failure quotes.
const LINES: usize = 3;
const LONGEST: usize = 300;
/// From this length on, a word counts as a credential.
const LIKE_A_TOKEN: usize = 20;
const TAKEN: &str = "…";

pub(crate) struct PluginRequest {
    /// The access provider's name.
    pub provider: String,
    /// The entry's cluster, in the format of a kubeconfig.
    pub cluster: Value,
    protocol: Protocol,
    /// The call, or why a consumer cannot make it with what the profile adds.
    call: Result<PluginCommand, String>,
    runner: Arc<dyn Runner>,
}

impl Plugins {
    /// Prepares the request for the profile's member, by the first provider that the profile has; none if it has none
    /// of them.
    pub(crate) fn request(&self, profile: &ClusterProfile) -> Option<PluginRequest> {
        let (provider, cluster) = self.providers.iter().find_map(|provider| {
            let entry = profile.access().find(|entry| *entry.name == *provider.name)?;
            Some((provider, &entry.cluster))
        })?;
        Some(PluginRequest {
            cluster: cluster_info(cluster),
            protocol: provider.exec_config.api_version,
            call: PluginCommand::of(provider, cluster),
            provider: provider.name.clone(),
            runner: Arc::clone(&self.runner),
        })
    }
}

impl PluginRequest {
    /// Runs the plugin.
    /// The error quotes nothing that may be a credential.
    pub async fn run(&self, clock: Clock) -> Result<ExecCredential, LoginOutcome> {
        let no_credential = |reason: String| LoginOutcome::NoCredential { reason };
        let call = self.call.as_ref().map_err(|why| no_credential(why.clone()))?;
        match self.runner.run(call).await {
            Ran::Answered(output) => read(&output, self.protocol, clock.now())
                .map_err(|why| no_credential(format!("the plugin's answer {why}"))),
            Ran::Failed(reason) => Err(no_credential(format!("the plugin {reason}"))),
            Ran::NotRun(reason) => Err(LoginOutcome::Unanswered {
                reason: format!("the plugin was not run: {reason}").into(),
            }),
        }
    }
}

/// Reads an answer in that version of the protocol, which must not have expired.
/// The error goes on after "the plugin's answer".
fn read(output: &[u8], protocol: Protocol, now: Timestamp) -> Result<ExecCredential, String> {
    let credential = ExecCredential::read(output, Some(protocol.api_version()))?;
    let age = credential.expires.map(|expires| now.duration_since(expires));
    if let Some(age) = age.filter(|age| *age > SKEW) {
        let age = SignedDuration::from_secs(age.as_secs());
        return Err(format!("expired {age:#} ago"));
    }
    Ok(credential)
}

impl PluginCommand {
    /// Prepares the call of the provider's plugin for that cluster.
    fn of(provider: &Provider, cluster: &Cluster) -> Result<Self, String> {
        let config = &provider.exec_config;
        let mut args = config.args.clone().unwrap_or_default();
        if provider.args_policy == Some(ArgsPolicy::Append) {
            let added: Vec<String> = extension(cluster, EXTENSION_ARGS, "list of strings")?;
            if added.iter().any(|argument| argument.contains('\0')) {
                return Err(format!(
                    "its extension {EXTENSION_ARGS} has an argument with a NUL in it"
                ));
            }
            args.extend(added);
        }
        let mut env = BTreeMap::new();
        for variable in config.env.iter().flatten() {
            env.insert(variable.name.clone(), variable.value.clone());
        }
        let policy = provider.envs_policy.unwrap_or_default();
        if policy != EnvsPolicy::Ignore {
            let added: BTreeMap<String, String> = extension(cluster, EXTENSION_ENVS, "map of strings")?;
            if !added.iter().all(|(name, value)| is_variable(name, value)) {
                return Err(format!(
                    "its extension {EXTENSION_ENVS} has a name or value that no environment can have"
                ));
            }
            for (name, value) in added {
                if policy == EnvsPolicy::Replace || !env.contains_key(&name) {
                    env.insert(name, value);
                }
            }
        }
        let cluster = (config.provide_cluster_info == Some(true)).then(|| plugin_cluster(cluster));
        let info = exec_info(Some(config.api_version.api_version()), false, cluster);
        env.insert(EXEC_INFO.to_owned(), info);
        Ok(Self {
            command: config.command.clone(),
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
    let Some(entry) = cluster.extensions.iter().find(|one| *one.name == *name) else {
        return Ok(T::default());
    };
    let read: Result<Option<T>, _> = serde_json::from_value(entry.extension.value());
    // The parser's message may quote what it could not read.
    read.map(Option::unwrap_or_default)
        .map_err(|_| format!("its extension {name} is not a {form}"))
}

/// What a plugin gets of a cluster: its fields, and its configuration.
fn plugin_cluster(cluster: &Cluster) -> Value {
    let mut info = cluster_info(cluster);
    if let Some(config) = cluster.extensions.iter().find(|one| *one.name == *EXTENSION_EXEC) {
        info["config"] = config.extension.value();
    }
    info
}

/// The cluster's fields that a plugin may get, in the format of a kubeconfig.
fn cluster_info(cluster: &Cluster) -> Value {
    let mut all = serde_json::to_value(cluster).unwrap_or_default();
    let fields = CLUSTER_FIELDS.iter().filter_map(|field| match all[field].take() {
        Value::Null => None,
        value => Some(((*field).to_owned(), value)),
    });
    Value::Object(fields.collect())
}

/// Runs plugins as programs.
pub struct Processes {
    turns: Semaphore,
    patience: Duration,
    subprocesses: OnceLock<Subprocesses>,
}

impl Default for Processes {
    fn default() -> Self {
        Self::within(PATIENCE)
    }
}

impl Processes {
    /// Gives each plugin that much time.
    pub fn within(patience: Duration) -> Self {
        Self {
            turns: Semaphore::new(AT_ONCE),
            patience,
            subprocesses: OnceLock::new(),
        }
    }

    async fn call(&self, call: &PluginCommand) -> Ran {
        let Ok(Ok(_turn)) = timeout(QUEUE, self.turns.acquire()).await else {
            let waited = QUEUE.as_secs() / 60;
            return Ran::NotRun(format!(
                "its turn did not come for {waited} min, as other calls took so long"
            ));
        };
        // It finds the runner's environment, as with any client.
        let mut command = Command::new(&call.command);
        command.args(&call.args).envs(&call.env);
        let tail = Mutex::new(Tail::without(secrets(call)));
        let subprocesses = self.subprocesses.get_or_init(Subprocesses::new);
        let ended = run_plugin(subprocesses, command, false, Sink::Tail(&tail), self.patience).await;
        let (end, printed) = match ended {
            Err(error) => {
                let program = call.command.display();
                return Ran::NotRun(format!("{program} could not be started: {error}"));
            }
            Ok(ended) => ended,
        };
        if end.is_success() {
            return Ran::Answered(printed);
        }
        // What it printed on its standard output may be a credential, which its standard error may repeat.
        let last = if printed.is_empty() {
            last_words(&tail.into_inner().finish())
        } else {
            String::new()
        };
        Ran::Failed(with_last_words(end.to_string(), &last))
    }
}

impl Runner for Processes {
    fn run<'a>(&'a self, call: &'a PluginCommand) -> BoxFuture<'a, Ran> {
        self.call(call).boxed()
    }
}

/// Values to redact: any value of the plugin's environment may be secret.
fn secrets(call: &PluginCommand) -> Vec<String> {
    let values = call.env.values().filter(|value| value.len() >= SHORTEST_VALUE);
    values.cloned().collect()
}

/// Returns the end of a plugin's standard error in one line; empty if it printed nothing there. Redacts all long words: any
/// of them may be a token.
fn last_words(stderr: &str) -> String {
    let lines = stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut last: Vec<&str> = lines.rev().take(LINES).collect();
    last.reverse();
    let text = last.join(" | ");
    let mut clean = String::new();
    for piece in without_credentials(&text).split_inclusive(is_end_of_word) {
        let word = piece.trim_end_matches(is_end_of_word);
        let word_or_mask = if word.len() >= LIKE_A_TOKEN { TAKEN } else { word };
        clean.extend([word_or_mask, &piece[word.len()..]]);
    }
    cut(clean, LONGEST)
}

fn is_end_of_word(c: char) -> bool {
    c.is_whitespace() || "\"'`=,:;{}[]()<>\\/|".contains(c)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_credential_may_expire_a_moment_before_it_is_read() {
        let outcome = |expires: &str| {
            let status = json!({"token": "CANARY", "expirationTimestamp": expires});
            let version = Protocol::V1.api_version();
            let answer = json!({"apiVersion": version, "kind": "ExecCredential", "status": status});
            let now = "2026-01-01T00:00:00Z".parse().expect("a time");
            read(answer.to_string().as_bytes(), Protocol::V1, now).map(|credential| credential.expires)
        };
        assert_eq!(
            outcome("2025-12-31T23:56:00Z"),
            Ok("2025-12-31T23:56:00Z".parse().ok())
        );
        assert_eq!(outcome("2025-12-31T22:00:00Z"), Err("expired 2h ago".to_owned()));
    }

    #[test]
    fn credentials_are_taken_out_of_the_last_words() {
        for (said, expected) in [
            ("", ""),
            ("one\n\ntwo\nthree\nfour\n", "two | three | four"),
            (
                "no cluster /fleet/lisbon-1: try again",
                "no cluster /fleet/lisbon-1: try again",
            ),
            ("got aGVsbG8gd29ybGQ0NzEx012", "got …"),
            ("got kKXngtEPOmHx_CtoRuDiOvLJCfSmSprA", "got …"),
            ("got Bearer abcdefghijklmnopqrstuvwxyz", "got …"),
            (&"é ".repeat(200), &format!("{}…", "é ".repeat(150))),
        ] {
            assert_eq!(last_words(said), expected);
        }
    }
}
