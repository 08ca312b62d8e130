//! The part of the driver file on a consumer.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use evidence::{
    ConsumerSpec, Reads, agent_program,
    api::syntax::{is_dns_label, is_dns_subdomain, is_label_value},
    runs::LABEL_RUN,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::file::check;
use crate::{plugins::Protocol, testbed::OutputPlace};

/// A consumer, as its author describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConsumerFile {
    /// Its own user, as the hub names it. Without one, its writes are not judged.
    #[serde(default)]
    user: String,
    /// Its programs, if other programs use that user, too: the part of a user agent before the first `/`.
    #[serde(default)]
    pub agents: Vec<String>,
    /// The namespaces whose profiles it reads. The run publishes its profiles there, so they should be for this alone.
    pub namespaces: BTreeSet<String>,
    /// A namespace whose profiles it does not read. The run publishes some there, too.
    pub unselected: Option<String>,
    /// Labels by which it selects profiles.
    #[serde(default)]
    labels: BTreeMap<String, String>,
    /// What selects the profiles that it acts on: `placements` for those that a PlacementDecision names, and `profiles` as
    /// well if it acts on others, too. Profiles alone by default.
    #[serde(default)]
    reads: BTreeSet<Reads>,
    /// The `decision-key` of the one decision that it reads. The run publishes that. Without it, it reads all decisions of
    /// its namespaces.
    decision: Option<String>,
    /// The access providers that it has a plugin for: `clusterprofile-conformance plugin`.
    providers: BTreeSet<String>,
    /// Where that plugin finds the run: its `--recorder`.
    pub recorder: PathBuf,
    /// The `apiVersion` with which its own file configures that plugin.
    exec_api_version: Option<String>,
    /// The files of its log, if it reports there what it does not do, and why.
    #[serde(default)]
    pub logs: Vec<PathBuf>,
    /// Another way by which it reaches members whose profile has none of these providers.
    fallback: Option<String>,
    /// Whether it passes a profile's additional arguments to the plugin.
    #[serde(default)]
    profile_args: bool,
    /// Whether it passes a profile's additional variables to the plugin.
    #[serde(default)]
    profile_envs: bool,
    /// Whether each piece of its work is a process of its own, which keeps no connection.
    #[serde(default)]
    one_shot: bool,
    /// Whether it only writes outputs, which another program uses: it calls no member and runs no plugin.
    #[serde(default)]
    outputs_only: bool,
    /// Whether it acts on one profile of each member alone, because doing the same to a member twice would conflict.
    #[serde(default)]
    actions_conflict: bool,
    /// Whether it does not act on members that are not healthy.
    #[serde(default)]
    gates_on_health: bool,
    /// Whether it rolls out: it acts on some members of a decision first, and on the others when it is done there.
    #[serde(default)]
    rolls_out: bool,
    /// Where it makes something of profiles.
    #[serde(default)]
    pub outputs: Vec<OutputPlace>,
}

impl ConsumerFile {
    /// What the author says of the consumer.
    pub fn claims(&self) -> ConsumerSpec {
        let consumer = self.clone();
        ConsumerSpec {
            user: consumer.user,
            namespaces: consumer.namespaces,
            labels: consumer.labels,
            reads: consumer.reads,
            decision: consumer.decision,
            providers: consumer.providers,
            exec_api_version: consumer.exec_api_version,
            fallback: consumer.fallback,
            profile_args: consumer.profile_args,
            profile_envs: consumer.profile_envs,
            one_shot: consumer.one_shot,
            outputs_only: consumer.outputs_only,
            actions_conflict: consumer.actions_conflict,
            gates_on_health: consumer.gates_on_health,
            rolls_out: consumer.rolls_out,
            outputs: consumer.outputs.iter().map(OutputPlace::reader).collect(),
        }
    }

    pub(super) fn check(&self) -> Result<(), String> {
        let is_known = |version: &String| Protocol::ALL.iter().any(|one| one.api_version() == version);
        let is_read = |key: &String| self.reads.contains(&Reads::Placements) && is_decision_key(key);
        check(&[
            (
                self.providers.is_empty(),
                "providers is empty: name the access provider for which it runs `clusterprofile-conformance plugin`",
            ),
            (
                self.namespaces.is_empty(),
                "namespaces is empty: name a namespace whose profiles the consumer reads, for the run's own",
            ),
            (
                self.unselected
                    .as_ref()
                    .is_some_and(|name| self.namespaces.contains(name)),
                "unselected is one of consumer.namespaces, too: name one that the consumer does not read",
            ),
            (
                !self.labels.iter().all(|(key, value)| is_label(key, value)),
                "labels: a key or a value is not valid in a label",
            ),
            (
                self.labels.contains_key(LABEL_RUN),
                "labels: the run gives its objects the label conformance.clusterprofile/run: select them by another one",
            ),
            (
                self.outputs_only && self.outputs.is_empty(),
                "outputsOnly needs outputs: name the objects that the consumer writes",
            ),
            (
                !self.exec_api_version.iter().all(is_known),
                "execApiVersion: expected client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1",
            ),
            (
                !self.decision.iter().all(is_read),
                "decision needs `reads: [placements]`, and a key of lowercase letters, digits and `-`",
            ),
        ])?;
        for agent in &self.agents {
            agent_program(agent).map_err(|error| format!("agents: {error}"))?;
        }
        Ok(())
    }
}

/// Whether the API server accepts a label.
fn is_label(key: &str, value: &str) -> bool {
    let (prefix, name) = key.rsplit_once('/').unwrap_or(("", key));
    let has_prefix = key.contains('/');
    !name.is_empty()
        && is_label_value(name)
        && is_label_value(value)
        && (!has_prefix || is_dns_subdomain(prefix))
}

/// Whether slices can be named after a key and their index, and labelled by it. Similar decisions have a suffix.
fn is_decision_key(key: &str) -> bool {
    key.len() <= 59 && is_dns_label(key)
}
