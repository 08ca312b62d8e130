//! The scenarios of the testbed, which `scenarios.yaml` lists, and their types.

use std::collections::BTreeMap;

use evidence::{DriverAction, Expect, user_file::read_compiled_in};
use serde::Deserialize;
use serde_json::{Map, Value};

pub(super) fn scenarios() -> Vec<TestbedScenario> {
    // The file is compiled in, and a test parses it.
    read_compiled_in(include_str!("scenarios.yaml")).expect("scenarios.yaml is valid")
}

/// What the run publishes in one part of the testbed, and what an honest consumer does with it. A control follows: a
/// profile without any difficulty.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct TestbedScenario {
    /// The name of the scenario. The control is named after it.
    pub name: String,
    pub needs: Vec<Need>,
    /// The scenario lasts this many settle times, at least; 1 by default.
    pub settle_times: Option<u32>,
    /// Whether the scenario may delay a consumer that works sequentially. Then its control does not measure the settle time.
    pub may_delay: bool,
    /// Whether no control is published.
    pub without_control: bool,
    pub steps: Vec<TestbedStep>,
    pub expectations: Vec<ExpectationRow>,
    pub after: Vec<TestbedStep>,
}

/// What a scenario, a step, or a row requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Need {
    /// The consumer reads a second namespace.
    SecondNamespace,
    /// The driver file names a namespace that the consumer does not read.
    Unselected,
    /// The consumer selects profiles by labels.
    Labels,
    /// The consumer acts on one profile of each member.
    ActionsConflict,
    /// The consumer does not act on unhealthy members.
    GatesOnHealth,
    /// The consumer passes the arguments of a profile to the plugin.
    ProfileArgs,
    /// The consumer passes the variables of a profile to the plugin.
    ProfileEnvs,
    /// The consumer reaches members only through an access provider.
    NoFallback,
    /// The consumer reads PlacementDecisions.
    ReadsPlacements,
    /// The consumer acts only on profiles that a PlacementDecision names.
    PlacementsAlone,
    /// The consumer reads a single decision.
    OneDecision,
    /// The driver file has this hook.
    Hook(DriverAction),
}

/// One action of the run. Profiles are named by their key.
#[derive(Clone, Debug, Deserialize)]
#[serde(
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub(super) enum TestbedStep {
    /// Creates a profile, writes its status, names it in the decision, and gives the consumer work.
    Publish(ProfileTemplate),
    /// Creates a profile without a status.
    Create(ProfileTemplate),
    /// Writes the status of a created profile.
    Complete(String),
    /// Replaces the access providers of a profile, or its health.
    Change {
        profile: String,
        entries: Option<Vec<AccessTemplate>>,
        health: Option<String>,
    },
    /// Moves a member to a new address with a new authority.
    Move(String),
    /// Writes a status several times without a change of access. With `newConfig`, the plugin configuration is another one each
    /// time, so that no credential comes from a cache.
    Rewrite {
        profile: String,
        times: usize,
        #[serde(default)]
        new_config: bool,
    },
    /// Deletes a profile, and waits until it is gone.
    Delete(String),
    /// Gives the consumer work on these profiles.
    Work(Vec<String>),
    /// Sets what the plugin does for a member.
    Plugin {
        profile: String,
        behavior: PluginBehavior,
    },
    /// The plugin issues credentials for all members again.
    PluginsRecover,
    /// Writes a slice of a decision.
    Decide {
        #[serde(default)]
        of: RunDecision,
        #[serde(default)]
        slice: usize,
        #[serde(default)]
        profiles: Vec<String>,
    },
    /// Deletes all slices of the consumer's decision.
    Undecide,
    /// Creates the first slice again.
    DecideAgain,
    /// Ends all connections to these members.
    EndConnections(Vec<String>),
    /// Stops the consumer, takes these steps, and starts it again.
    WhileStopped(Vec<TestbedStep>),
    /// Uninstalls the consumer.
    Uninstall,
    Wait(Wait),
    /// Takes these steps if the requirement is met.
    If {
        need: Need,
        steps: Vec<TestbedStep>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum PluginBehavior {
    /// It issues credentials that expire after this number of seconds.
    Expires(u32),
    Fails,
    /// It prints invalid output.
    PrintsGarbage,
    /// It hangs, and then fails.
    Hangs,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Wait {
    /// The consumer calls the member of this profile.
    Called(String),
    /// The consumer calls the member of this profile after its start, when it begins with all other profiles.
    CalledAfterStart(String),
    Settled,
    PluginHangs,
    Seconds(u64),
    /// The beginning of a second: creation timestamps have whole seconds.
    NextSecond,
}

/// A decision of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum RunDecision {
    /// The decision that the consumer reads.
    #[default]
    Own,
    /// A decision whose key begins alike.
    OtherDecision,
    /// A decision with the same key in a namespace that the consumer does not read.
    OtherNamespace,
}

/// A profile to publish. By default, it is a profile without any difficulty.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct ProfileTemplate {
    /// The key of the profile in the scenarios, and the name of its member.
    pub key: String,
    /// The name of the profile, if it is not the key.
    pub name: Option<String>,
    pub location: ProfileLocation,
    /// Its identity (`inventory-member-id`).
    pub identity: Option<String>,
    /// Its access providers; by default one that the consumer has a plugin for.
    pub entries: Vec<AccessTemplate>,
    /// The status of its condition `ControlPlaneHealthy`; `True` by default.
    pub health: String,
    /// Whether it has a condition and properties that are not defined, and no version.
    pub unknown_values: bool,
    /// Whether the first slice of the decision leaves it out.
    pub undecided: bool,
}

impl Default for ProfileTemplate {
    fn default() -> Self {
        Self {
            key: String::new(),
            name: None,
            location: ProfileLocation::default(),
            identity: None,
            entries: vec![AccessTemplate::default()],
            health: "True".to_owned(),
            unknown_values: false,
            undecided: false,
        }
    }
}

/// Where a profile is published.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum ProfileLocation {
    /// In the first namespace of the consumer, with its labels.
    #[default]
    Selected,
    /// In the second namespace of the consumer, with its labels.
    SecondNamespace,
    /// In the namespace that the consumer does not read.
    Unselected,
    /// In the second namespace, or in the one that the consumer does not read.
    Elsewhere,
    /// In the first namespace, without the labels.
    Unlabelled,
}

/// An access provider of a profile.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct AccessTemplate {
    /// Whether no consumer has a plugin for the provider.
    pub unknown: bool,
    /// The letter of the address of the member.
    pub address: Letter,
    /// Whether the entry is in the deprecated list `credentialProviders`.
    pub deprecated: bool,
    /// The server name to which alone the member answers.
    pub server_name: Option<String>,
    /// The profile whose address the member shares.
    pub shares: Option<String>,
    /// Whether the entry names a proxy.
    pub proxy: bool,
    /// Whether the entry has the certificate of another authority.
    pub other_authority: bool,
    /// Fields of the cluster that are replaced.
    pub cluster: Map<String, Value>,
    /// Extensions that are added or replaced. `$MEMBER` is the member.
    pub extensions: BTreeMap<String, Value>,
}

/// The letter of an address of a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Letter {
    #[default]
    A,
    B,
}

/// What an honest consumer does with a published profile.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ExpectationRow {
    pub rule: String,
    pub profile: String,
    /// The letter of its address.
    #[serde(default)]
    pub address: Letter,
    /// What the consumer does. The run fills in URLs and times, and replaces the key of another profile by its name.
    pub expect: Expect,
    #[serde(default)]
    pub needs: Vec<Need>,
    #[serde(default)]
    pub since: Since,
    /// Whether another behavior is at most a warning.
    #[serde(default)]
    pub warn: bool,
    /// The profile that must have the same creation timestamp.
    pub created_with: Option<String>,
}

/// What begins the period of an expectation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Since {
    /// The last write that changes what the consumer should do with the profile.
    #[default]
    OwnWrite,
    /// The deletion of another profile.
    DeletionOf(String),
    /// The start of the consumer.
    Start,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_file_has_scenarios_and_expectations_of_existing_rules() {
        let scenarios = scenarios();
        assert!(scenarios.len() > 15);
        let rows = scenarios.iter().flat_map(|scenario| &scenario.expectations);
        let rules: BTreeSet<&str> = rows.map(|row| &*row.rule).collect();
        assert!(rules.len() > 25, "{rules:?}");
        for rule in rules {
            assert!(judge::rules::find(rule).is_some(), "there is no rule {rule}");
        }
    }
}
