//! The types of the scenario table.

use std::time::Duration;

use evidence::DriverAction;

/// What the run publishes in one part of the testbed, and what an honest consumer does with it. A control follows: a
/// profile without any difficulty.
#[derive(Clone, Copy)]
pub(super) struct TestbedScenario {
    /// The name of the scenario. The control is named after it.
    pub name: &'static str,
    /// What the scenario requires.
    pub needs: &'static [Need],
    /// The scenario lasts this many settle times, at least.
    pub settle_times: u32,
    /// Whether the scenario may delay a consumer that works sequentially. Then its control does not measure the settle time.
    pub may_delay: bool,
    /// Whether a control is published. A consumer that was uninstalled calls none.
    pub control: bool,
    /// What the run does first.
    pub steps: &'static [TestbedStep],
    /// What an honest consumer does.
    pub expectations: &'static [ExpectationRow],
    /// What the run does at the end.
    pub after: &'static [TestbedStep],
}

/// What a scenario, a step, or a row requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// One action of the run.
#[derive(Clone, Copy)]
pub(super) enum TestbedStep {
    /// Creates a profile, writes its status, names it in the decision, and gives the consumer work.
    Publish(ProfileTemplate),
    /// Creates profiles without a status.
    Create(&'static [ProfileTemplate]),
    /// Writes the status of created profiles.
    Complete(&'static [&'static str]),
    /// Replaces the access providers of a profile.
    Change(&'static str, &'static [AccessTemplate]),
    /// Moves a member to a new address with a new authority.
    Move(&'static str),
    /// Deletes a profile and creates it again for a member that has moved.
    Recreate(&'static str),
    /// Changes the health of a member.
    Health(&'static str, &'static str),
    /// Writes a profile this many times without changing its access.
    Heartbeats(&'static str, usize),
    /// Changes the plugin configuration of a profile this many times.
    Rewrite(&'static str, usize),
    /// Deletes a profile.
    Delete(&'static str),
    /// Gives the consumer work on profiles.
    Work(&'static [&'static str]),
    /// Sets what the plugin does for a member.
    Plugin(&'static str, PluginBehavior),
    /// The plugin issues credentials for all members again.
    PluginsRecover,
    /// Writes a slice.
    Decide(SliceId, &'static [&'static str]),
    /// Deletes all slices of the consumer's decision.
    Undecide,
    /// Creates the first slice again.
    DecideAgain,
    /// Ends all connections to these members.
    EndConnections(&'static [&'static str]),
    /// Stops the consumer, takes these steps, and starts it again.
    WhileStopped(&'static [TestbedStep]),
    /// Uninstalls the consumer.
    Uninstall,
    /// Waits.
    Wait(Wait),
    /// Takes these steps if the requirement is met.
    If(Need, &'static [TestbedStep]),
}

/// What the plugin does for a member.
#[derive(Clone, Copy)]
pub(super) enum PluginBehavior {
    /// It issues credentials that expire after this time.
    Expires(Duration),
    /// It fails.
    Fails,
    /// It prints invalid output.
    Garbage,
    /// It hangs.
    Hangs,
}

/// What the run waits for.
#[derive(Clone, Copy)]
pub(super) enum Wait {
    /// The consumer calls the member of this profile.
    Called(&'static str),
    /// The same after a start of the consumer, which begins with all other profiles.
    CalledAfterStart(&'static str),
    /// The settle time.
    Settled,
    /// The time that a plugin hangs.
    PluginHangs,
    /// A fixed time.
    Seconds(u64),
    /// The beginning of a second: creation timestamps have whole seconds.
    NextSecond,
}

/// A slice of a decision.
#[derive(Clone, Copy)]
pub(super) enum SliceId {
    /// A slice of the decision that the consumer reads.
    Own(usize),
    /// A slice of a decision whose key begins alike.
    OtherDecision,
    /// A slice with the same key in a namespace that the consumer does not read.
    OtherNamespace,
}

/// A profile to publish.
#[derive(Clone, Copy)]
pub(super) struct ProfileTemplate {
    /// The key of the profile in the table, and the name of its member.
    pub key: &'static str,
    /// The name of the profile, if it is not the key.
    pub name: Option<&'static str>,
    /// Where it is published.
    pub location: ProfileLocation,
    /// Its identity (`inventory-member-id`).
    pub identity: Option<&'static str>,
    /// Its access providers.
    pub entries: &'static [AccessTemplate],
    /// The status of its condition `ControlPlaneHealthy`.
    pub health: &'static str,
    /// Whether it has a condition and properties that are not defined, and no version.
    pub unknown_values: bool,
    /// Whether the first slice of the decision leaves it out.
    pub undecided: bool,
}

/// Where a profile is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProfileLocation {
    /// In the first namespace of the consumer, with its labels.
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
#[derive(Clone, Copy)]
pub(super) struct AccessTemplate {
    /// Whether the consumer has a plugin for the provider.
    pub known: bool,
    /// The letter of the address of the member.
    pub address: char,
    /// Whether the entry is in the deprecated list `credentialProviders`.
    pub deprecated: bool,
    /// The server name to which alone the member answers.
    pub server_name: Option<&'static str>,
    /// The profile whose address the member shares.
    pub shares: Option<&'static str>,
    /// Whether the entry names a proxy.
    pub proxy: bool,
    /// Whether the entry has the certificate of another authority.
    pub other_authority: bool,
    /// Fields of the cluster that are replaced, as a JSON object.
    pub cluster: &'static str,
    /// Extensions that are added or replaced: name and JSON. `$MEMBER` is the member.
    pub extensions: &'static [(&'static str, &'static str)],
}

/// What an honest consumer does with a published profile.
#[derive(Clone, Copy)]
pub(super) struct ExpectationRow {
    /// The rule.
    pub rule: &'static str,
    /// The profile, and the letter of its address if it is not `a`: `two-providers/b`.
    pub profile: &'static str,
    /// What the consumer does.
    pub behavior: Behavior,
    /// What the row requires.
    pub needs: &'static [Need],
    /// What begins the period.
    pub since: Since,
    /// Whether another behavior is at most a warning.
    pub warn: bool,
    /// The profile that must have the same creation timestamp.
    pub same_second: Option<&'static str>,
}

/// What begins the period of an expectation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Since {
    /// The last write that changes what the consumer should do with the profile.
    OwnWrite,
    /// The deletion of another profile.
    DeletionOf(&'static str),
    /// The start of the consumer.
    Start,
}

/// What a consumer does with a published profile.
#[derive(Clone, Copy)]
pub(super) enum Behavior {
    Called,
    CalledAs(&'static str),
    NotCalled,
    StopsCalling,
    Moves,
    RefusesCertificate,
    UsesProxy,
    RenewsCredential,
    KeepsConnections,
    NoPluginRun,
    LetsGo,
    Reports(&'static str),
}

/// A scenario without steps.
pub(super) const CONTROL_ONLY: TestbedScenario = TestbedScenario {
    name: "",
    needs: &[],
    settle_times: 1,
    may_delay: false,
    control: true,
    steps: &[],
    expectations: &[],
    after: &[],
};

/// A profile that is right and has no difficulty.
pub(super) const PLAIN: ProfileTemplate = ProfileTemplate {
    key: "",
    name: None,
    location: ProfileLocation::Selected,
    identity: None,
    entries: &[KNOWN],
    health: "True",
    unknown_values: false,
    undecided: false,
};

/// An access provider that the consumer has a plugin for.
pub(super) const KNOWN: AccessTemplate = AccessTemplate {
    known: true,
    address: 'a',
    deprecated: false,
    server_name: None,
    shares: None,
    proxy: false,
    other_authority: false,
    cluster: "{}",
    extensions: &[],
};

/// An access provider that no consumer has a plugin for.
pub(super) const UNKNOWN: AccessTemplate = AccessTemplate {
    known: false,
    ..KNOWN
};

/// A plain profile of that name.
pub(super) const fn plain(key: &'static str) -> ProfileTemplate {
    ProfileTemplate { key, ..PLAIN }
}

/// A profile with one access provider.
pub(super) const fn with_entries(key: &'static str, entries: &'static [AccessTemplate]) -> ProfileTemplate {
    ProfileTemplate {
        key,
        entries,
        ..PLAIN
    }
}

/// A plain profile that the first slice of the decision leaves out.
pub(super) const fn undecided(key: &'static str) -> ProfileTemplate {
    ProfileTemplate {
        key,
        undecided: true,
        ..PLAIN
    }
}

/// A plain profile with an identity.
pub(super) const fn identified(key: &'static str, identity: &'static str) -> ProfileTemplate {
    ProfileTemplate {
        key,
        identity: Some(identity),
        ..PLAIN
    }
}

/// A row of the table.
pub(super) const fn expect(rule: &'static str, profile: &'static str, behavior: Behavior) -> ExpectationRow {
    ExpectationRow {
        rule,
        profile,
        behavior,
        needs: &[],
        since: Since::OwnWrite,
        warn: false,
        same_second: None,
    }
}

impl ExpectationRow {
    /// Requires this.
    pub(super) const fn needs(self, needs: &'static [Need]) -> Self {
        Self { needs, ..self }
    }

    /// Begins the period there.
    pub(super) const fn since(self, since: Since) -> Self {
        Self { since, ..self }
    }

    /// Another behavior is at most a warning.
    pub(super) const fn warn(self) -> Self {
        Self { warn: true, ..self }
    }

    /// Requires that this profile has the same creation timestamp.
    pub(super) const fn created_with(self, profile: &'static str) -> Self {
        Self {
            same_second: Some(profile),
            ..self
        }
    }

    /// The key of the profile, and the letter of its address.
    pub(super) fn address(&self) -> (&'static str, char) {
        match self.profile.split_once('/') {
            Some((key, letter)) => (key, letter.chars().next().unwrap_or('a')),
            None => (self.profile, 'a'),
        }
    }
}
