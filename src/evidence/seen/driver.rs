//! The driver's steps: actions and their times. Rules look for the outcome in the objects' histories.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ObjectRef, Reason, Scope, SliceHistory, Tracked,
    api::{ClusterProfileReference, DecisionId, PlacementDecision, Role, names},
    named::named_enum,
    runs::{names_any_placement, names_placement},
};

/// After how many times its patience a run gives up on a scheduler.
const GIVES_UP: i64 = 3;

/// The steps of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Driver {
    /// The run's id. Everything that the run created carries it.
    pub run: String,
    /// True if the members that it joined were fake members of the suite. Older suites did not say.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fake_members: bool,
    /// The actions that the driver supports. A rule that needs another is skipped, with the reason in `unavailableActions`.
    pub available_actions: BTreeSet<DriverAction>,
    /// Why other actions are unavailable, for example `the driver file has no hook \`upgrade\``.
    pub unavailable_actions: BTreeMap<DriverAction, Reason>,
    /// The steps, in the order of their start.
    pub steps: Vec<DriverStep>,
    /// Profiles that the run created or wrote to. Only rules on the driver's steps judge them.
    pub written_profiles: BTreeSet<ObjectKey>,
    /// Slices of decisions that the run created or wrote to. If it tampered with one slice, all of its decision.
    #[serde(
        rename = "writtenPlacementDecisions",
        skip_serializing_if = "BTreeSet::is_empty"
    )]
    pub written_slices: BTreeSet<ObjectKey>,
}

/// Namespace and name of a profile or a slice.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ObjectKey {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl ObjectKey {
    /// The key of the object with this namespace and name.
    pub fn new(namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    /// The key of an object.
    pub fn of(object: &impl Tracked) -> Self {
        let metadata = object.metadata();
        Self::new(&metadata.namespace, &metadata.name)
    }
}

impl From<&ObjectRef> for ObjectKey {
    fn from(object: &ObjectRef) -> Self {
        Self::new(&object.namespace, &object.name)
    }
}

/// One step of the driver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DriverStep {
    /// Its scenario.
    pub scenario: Scenario,
    /// Its action.
    pub action: DriverAction,
    /// The member; empty for a step on the whole implementation.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub member: String,
    /// The member's profile when the step began; for a joining member, the profile found for it. None if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<ObjectRef>,
    /// The member's profile when the step ended; none if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile_after: Option<ObjectRef>,
    /// Start, by the runner's clock.
    pub from: Timestamp,
    /// End: the hook exited, or the hub answered.
    pub until: Timestamp,
    /// Its result.
    pub outcome: StepOutcome,
    /// Seconds after `until` that the implementation has to react.
    pub patience_seconds: i64,
    /// End of the observation. If it is before the deadline and nothing happened, the run was cut short.
    pub observed_until: Timestamp,
    /// When the run saw the reaction that it waited for; none if it saw none, or waited to see that nothing changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reacted_at: Option<Timestamp>,
    /// What the scheduler was asked for, in a step that concerns a placement of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<PlacementRequest>,
    /// The slice that the step wrote to or created.
    #[serde(
        rename = "placementDecision",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub slice: Option<ObjectRef>,
    /// The change, if the step wrote to a profile or requested another version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<StepChange>,
    /// Number of consumers' Secrets for the profile just before the step; none if they could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secrets_before: Option<usize>,
    /// The end of the hook's output, without credentials.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
}

/// What a step changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct StepChange {
    /// The field, for example `status.version.kubernetes`.
    pub path: String,
    /// Its value before; none if it was absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// Its value after; none if it was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// The result of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "result")]
pub enum StepOutcome {
    /// The step succeeded.
    Done,
    /// The step failed, so the implementation's reaction is unknown.
    Failed {
        /// The reason: the hook's exit code, the hub's refusal, a timeout.
        reason: String,
    },
}

named_enum! {
    /// A sequence of steps with its own members. Independent scenarios run side by side.
    pub enum Scenario {
        /// A member joins and leaves.
        JoinAndLeave = "join-and-leave",
        /// A member's control plane fails and recovers.
        Outage = "outage",
        /// A member is upgraded.
        Upgrade = "upgrade",
        /// The run tampers with a profile of the implementation.
        Tampering = "tampering",
        /// The run creates a profile of another manager, changes and re-creates it, or a slice of another scheduler.
        ForeignProfile = "foreign-profile",
        /// Two members join of which one has the other's name and a suffix.
        SimilarNames = "similar-names",
        /// Many members join.
        Scale = "scale",
        /// The implementation is cut off from where its members come from.
        CutOff = "cut-off",
        /// The implementation restarts.
        Restart = "restart",
        /// A namespace with a member's profile is deleted and created again.
        NamespaceGone = "namespace-gone",
        /// A scheduler is asked for a few clusters, then for none; the run tampers with the slices in between.
        Placement = "placement",
        /// A decision grows past the largest slice, and shrinks again.
        SliceLimit = "slice-limit",
    }
}

named_enum! {
    /// An action of a step.
    pub enum DriverAction {
        /// Joins a member (hook).
        Join = "join",
        /// Removes a member (hook).
        Leave = "leave",
        /// Breaks a member's control plane (hook, or the fake member itself).
        Break = "break",
        /// Repairs it (hook, or the fake member itself).
        Heal = "heal",
        /// Upgrades a member (hook, or the fake member itself).
        Upgrade = "upgrade",
        /// Restarts the implementation (hook).
        Restart = "restart",
        /// Deletes a profile (a write on the hub).
        DeleteProfile = "delete-profile",
        /// Writes a false value into a status (a write on the hub).
        TamperStatus = "tamper-status",
        /// Removes the manager label (a write on the hub).
        RemoveLabel = "remove-label",
        /// Sets the display name, as a consumer would (a write on the hub).
        SetDisplayName = "set-display-name",
        /// Creates a profile of another manager (a write on the hub).
        PutForeignProfile = "put-foreign-profile",
        /// Changes the spec of that profile (a write on the hub).
        ChangeForeignProfile = "change-foreign-profile",
        /// Deletes that profile and creates it again under its name (writes on the hub).
        RecreateForeignProfile = "recreate-foreign-profile",
        /// Cuts the implementation off from where its members come from (hook).
        Disconnect = "disconnect",
        /// Connects it again (hook).
        Reconnect = "reconnect",
        /// Deletes the run's own namespace, with a member's profile in it (a write on the hub).
        DeleteNamespace = "delete-namespace",
        /// Creates that namespace again (a write on the hub).
        CreateNamespace = "create-namespace",
        /// Asks a scheduler for clusters (hook).
        Place = "place",
        /// Asks it for another number of clusters (hook).
        Reschedule = "reschedule",
        /// Takes the request back (hook).
        Unplace = "unplace",
        /// Deletes a slice of the run's placement (a write on the hub).
        DeleteSlice = "delete-slice",
        /// Takes the clusters out of such a slice (a write on the hub).
        EmptySlice = "empty-slice",
        /// Creates a slice of another scheduler (a write on the hub).
        PutForeignSlice = "put-foreign-slice",
        /// Has a consumer work on a member (hook).
        Work = "work",
        /// Stops a consumer (hook).
        Stop = "stop",
        /// Starts it again (hook).
        Start = "start",
        /// Uninstalls it (hook).
        Uninstall = "uninstall",
    }
}

impl Driver {
    /// The steps of that action, in order.
    pub fn steps_of(&self, action: DriverAction) -> impl Iterator<Item = &DriverStep> {
        self.steps.iter().filter(move |step| step.action == action)
    }
}

impl DriverStep {
    /// A step that takes no time, and succeeds.
    pub fn new(scenario: Scenario, action: DriverAction, at: Timestamp) -> Self {
        Self {
            scenario,
            action,
            member: String::new(),
            profile: None,
            profile_after: None,
            from: at,
            until: at,
            outcome: StepOutcome::Done,
            patience_seconds: 0,
            observed_until: at,
            reacted_at: None,
            placement: None,
            slice: None,
            change: None,
            secrets_before: None,
            output: String::new(),
        }
    }

    /// The end of the implementation's time to react.
    pub fn deadline(&self) -> Timestamp {
        self.after(self.patience_seconds)
    }

    /// When a run gives up on a scheduler. KEP-5313 names no time: what comes before is late, and not missing.
    pub fn last_deadline(&self) -> Timestamp {
        self.after(self.patience_seconds.saturating_mul(GIVES_UP))
    }

    fn after(&self, seconds: i64) -> Timestamp {
        let seconds = jiff::SignedDuration::from_secs(seconds);
        self.until.saturating_add(seconds).unwrap_or(Timestamp::MAX)
    }
}

impl DriverAction {
    /// The actions of a run that judges this role.
    pub fn of(role: Role) -> impl Iterator<Item = DriverAction> {
        Self::ALL.into_iter().filter(move |action| match action {
            // Fake members fill up an inventory that a scheduler selects from.
            DriverAction::Join | DriverAction::Leave | DriverAction::Restart => role != Role::Consumer,
            DriverAction::Work | DriverAction::Stop | DriverAction::Start | DriverAction::Uninstall => {
                role == Role::Consumer
            }
            action => match role {
                Role::Manager => !action.is_on_placements(),
                Role::Scheduler => action.is_on_placements(),
                Role::Consumer => false,
            },
        })
    }

    /// Returns `true` if it concerns decisions, whose slices show its effect.
    pub fn is_on_placements(self) -> bool {
        use DriverAction::*;
        matches!(
            self,
            Place | Reschedule | Unplace | DeleteSlice | EmptySlice | PutForeignSlice
        )
    }

    /// Returns `true` if the run itself writes to the hub; `false` if it calls a hook.
    pub fn is_mutation(self) -> bool {
        use DriverAction::*;
        matches!(
            self,
            DeleteProfile
                | TamperStatus
                | RemoveLabel
                | SetDisplayName
                | PutForeignProfile
                | ChangeForeignProfile
                | RecreateForeignProfile
                | DeleteNamespace
                | CreateNamespace
                | DeleteSlice
                | EmptySlice
                | PutForeignSlice
        )
    }
}

/// A placement that a run asks a scheduler for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PlacementRequest {
    /// Its name: unique to the run.
    pub name: String,
    /// How many clusters the run asks for.
    pub clusters: usize,
    /// The namespace and the decision key (as its name), if the hook reports them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<ObjectKey>,
}

/// The slices of a placement.
#[derive(Clone, Debug)]
pub struct PlacementSlices<'h> {
    /// The histories of those that were its own at any time.
    pub histories: Vec<&'h SliceHistory>,
    request: &'h PlacementRequest,
    keys: BTreeSet<DecisionId<'h>>,
}

impl PlacementRequest {
    /// Its slices in scope: those that name it or have the key that the hook reported, and others of the same key.
    pub fn slices<'h>(&'h self, all: &'h [SliceHistory], scope: &Scope) -> PlacementSlices<'h> {
        let is_named = |history: &&SliceHistory| {
            let mut versions = history.versions.iter();
            versions.any(|version| self.names(&version.object))
        };
        let keys = self.keys(all);
        let has_key = |history: &SliceHistory| {
            let shares = DecisionId::of_keyed(history.last()).is_some_and(|key| keys.contains(&key));
            shares && !names_any_placement(history.last())
        };
        let is_judged = |history: &SliceHistory| {
            let mut versions = history.versions.iter();
            versions.any(|version| scope.holds_slice(&version.object))
        };
        let histories = all.iter();
        let histories =
            histories.filter(|history| (is_named(history) || has_key(history)) && is_judged(history));
        PlacementSlices {
            histories: histories.collect(),
            request: self,
            keys,
        }
    }

    /// The keys of its decision: those of the versions that name it.
    fn keys<'h>(&self, all: &'h [SliceHistory]) -> BTreeSet<DecisionId<'h>> {
        let versions = all.iter().flat_map(|history| &history.versions);
        let hits = versions.filter(|version| self.names(&version.object));
        hits.filter_map(|version| DecisionId::of_keyed(&version.object))
            .collect()
    }

    fn names(&self, slice: &PlacementDecision) -> bool {
        names_placement(slice, &self.name) || self.has_reported_key(slice)
    }

    /// Whether these slices hold as many clusters as asked for, and no slice is needless.
    pub fn is_met_by(&self, slices: &[&PlacementDecision]) -> bool {
        let count = clusters_of(slices).len();
        // A decision of another key may hold no cluster, and a copy is in another namespace.
        let is_beside = |one: &PlacementDecision, other: &PlacementDecision| {
            !std::ptr::eq(one, other)
                && one.metadata.namespace == other.metadata.namespace
                && one.label(names::LABEL_DECISION_KEY) == other.label(names::LABEL_DECISION_KEY)
        };
        let is_needless = |slice: &&PlacementDecision| {
            slice.clusters().is_empty() && slices.iter().any(|other| is_beside(slice, other))
        };
        // Without a cluster, a slice says so, or there is none.
        count == self.clusters && (count == 0 || !slices.iter().any(is_needless))
    }

    fn has_reported_key(&self, slice: &PlacementDecision) -> bool {
        self.decision.as_ref().is_some_and(|decision| {
            *decision.namespace == *slice.metadata.namespace
                && slice.label(names::LABEL_DECISION_KEY) == Some(&decision.name)
        })
    }
}

impl PlacementSlices<'_> {
    /// Whether a version of a slice is of the placement's decision: a slice may be given to another one later.
    pub fn hold(&self, slice: &PlacementDecision) -> bool {
        self.request.names(slice) || DecisionId::of_keyed(slice).is_some_and(|key| self.keys.contains(&key))
    }
}

/// The clusters that slices select together.
pub fn clusters_of(slices: &[&PlacementDecision]) -> BTreeSet<ClusterProfileReference> {
    slices.iter().flat_map(|slice| slice.references()).collect()
}
