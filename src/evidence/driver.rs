//! What the run had the implementation do, and what it did itself to see the implementation's answer.
//!
//! The driver tells only what was done and when. What came of it stands in the profiles' histories, where rules look
//! for it: within a step's patience, and no longer than the run looked.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ObjectRef;

/// All that was done in one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Driver {
    /// The run's id: all that the run created bears it.
    pub run: String,
    /// The actions that could be done at all. Rules that need another one are skipped, for the reason in `lacking`.
    pub able: BTreeSet<DriverAction>,
    /// Why other actions could not be done: `the driver file has no hook \`upgrade\``, `add --allow-mutations`.
    pub lacking: BTreeMap<DriverAction, String>,
    /// What was done, in the order of its beginning.
    pub steps: Vec<DriverStep>,
    /// Profiles that the run wrote to or put there itself: what is seen of them is not the implementation's work alone,
    /// so that only rules on the driver's steps judge them.
    pub touched: BTreeSet<ProfileKey>,
}

/// Namespace and name of a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ProfileKey {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl From<&ObjectRef> for ProfileKey {
    fn from(object: &ObjectRef) -> Self {
        Self {
            namespace: object.namespace.clone(),
            name: object.name.clone(),
        }
    }
}

/// One thing that was done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DriverStep {
    /// The scenario that it is part of.
    pub scenario: Scenario,
    /// What was done.
    pub action: DriverAction,
    /// The member that it was done to; empty where it concerns the whole implementation.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub member: String,
    /// The profile of that member, as it was when the step began; of a member that joins, the one that was found for
    /// it. None where there is none, or none was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<ObjectRef>,
    /// When it began, by the runner's clock.
    #[schemars(with = "crate::json_schema::Time")]
    pub from: Timestamp,
    /// When it was done: a hook had ended, a write was answered.
    #[schemars(with = "crate::json_schema::Time")]
    pub until: Timestamp,
    /// How it went.
    pub outcome: StepOutcome,
    /// How long the implementation may take to answer, in seconds after `until`.
    pub patience_seconds: i64,
    /// Until when the run looked for the answer. Where nothing was there by then and the patience was not over, the
    /// run was cut short.
    #[schemars(with = "crate::json_schema::Time")]
    pub looked_until: Timestamp,
    /// What was changed, where the step wrote to a profile or asked for another version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
    /// How many consumers' Secrets there were for the profile just before; none where they could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secrets_before: Option<usize>,
    /// The end of what the hook printed, without credentials.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
}

/// What a step changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "StepChange")]
#[serde(rename_all = "camelCase", default)]
pub struct Change {
    /// The field, such as `status.version.kubernetes`.
    pub path: String,
    /// Its value before; none where there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// Its value after; none where it was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// How a step went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "how")]
pub enum StepOutcome {
    /// It was done.
    Done,
    /// It was not: nothing can be said of the implementation's answer.
    Failed {
        /// Why: the hook's exit code, the hub's refusal, a time-out.
        reason: String,
    },
}

/// A sequence of steps with members of its own. Scenarios that do not disturb each other run side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scenario {
    /// A member joins, and leaves.
    JoinAndLeave,
    /// A member's control plane breaks, and heals.
    Outage,
    /// A member is upgraded.
    Upgrade,
    /// The run tampers with a profile of the implementation.
    Tampering,
    /// The run puts a profile of another manager beside.
    Foreigner,
    /// Many members join.
    Scale,
    /// The implementation restarts.
    Restart,
}

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DriverAction {
    /// Has the implementation take a member (hook).
    Join,
    /// Has it let a member go (hook).
    Leave,
    /// Breaks a member's control plane (hook, or the stand-in itself).
    Break,
    /// Heals it (hook, or the stand-in itself).
    Heal,
    /// Upgrades a member (hook, or the stand-in itself).
    Upgrade,
    /// Restarts the implementation (hook).
    Restart,
    /// Deletes a profile (a write on the hub).
    DeleteProfile,
    /// Writes something untrue into a status (a write on the hub).
    TamperStatus,
    /// Removes the manager label (a write on the hub).
    RemoveLabel,
    /// Sets the display name, as a consumer may (a write on the hub).
    SetDisplayName,
    /// Creates a profile of another manager (a write on the hub).
    PutForeigner,
}

impl Driver {
    /// The steps that did this, in their order.
    pub fn steps_of(&self, action: DriverAction) -> impl Iterator<Item = &DriverStep> {
        self.steps.iter().filter(move |step| step.action == action)
    }
}

impl DriverStep {
    /// Until when the implementation has time to answer.
    pub fn deadline(&self) -> Timestamp {
        let patience = jiff::SignedDuration::from_secs(self.patience_seconds);
        self.until.saturating_add(patience).unwrap_or(Timestamp::MAX)
    }
}

impl Scenario {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Scenario::JoinAndLeave => "join-and-leave",
            Scenario::Outage => "outage",
            Scenario::Upgrade => "upgrade",
            Scenario::Tampering => "tampering",
            Scenario::Foreigner => "foreigner",
            Scenario::Scale => "scale",
            Scenario::Restart => "restart",
        }
    }
}

impl DriverAction {
    /// All actions.
    pub const ALL: [DriverAction; 11] = [
        DriverAction::Join,
        DriverAction::Leave,
        DriverAction::Break,
        DriverAction::Heal,
        DriverAction::Upgrade,
        DriverAction::Restart,
        DriverAction::DeleteProfile,
        DriverAction::TamperStatus,
        DriverAction::RemoveLabel,
        DriverAction::SetDisplayName,
        DriverAction::PutForeigner,
    ];

    /// Whether it is a write of the run's own on the hub.
    pub fn is_mutation(self) -> bool {
        match self {
            DriverAction::Join
            | DriverAction::Leave
            | DriverAction::Break
            | DriverAction::Heal
            | DriverAction::Upgrade
            | DriverAction::Restart => false,
            DriverAction::DeleteProfile
            | DriverAction::TamperStatus
            | DriverAction::RemoveLabel
            | DriverAction::SetDisplayName
            | DriverAction::PutForeigner => true,
        }
    }

    /// The name in driver files and reports.
    pub fn name(self) -> &'static str {
        match self {
            DriverAction::Join => "join",
            DriverAction::Leave => "leave",
            DriverAction::Break => "break",
            DriverAction::Heal => "heal",
            DriverAction::Upgrade => "upgrade",
            DriverAction::Restart => "restart",
            DriverAction::DeleteProfile => "delete-profile",
            DriverAction::TamperStatus => "tamper-status",
            DriverAction::RemoveLabel => "remove-label",
            DriverAction::SetDisplayName => "set-display-name",
            DriverAction::PutForeigner => "put-foreigner",
        }
    }
}

impl std::fmt::Display for DriverAction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
