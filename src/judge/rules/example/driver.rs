//! The driver's steps in an example.

use std::collections::BTreeMap;

use evidence::{
    Change, Driver, DriverAction, DriverStep, ObjectRef, PlacementRequest, Scenario, StepOutcome, api::names,
};
use jiff::SignedDuration;
use serde::Deserialize;

use super::{
    conforming::{path_key, profile_reference},
    time::moment,
};

/// The placement that steps ask for: the decision of the conforming slices.
const PLACEMENT: &str = "web";
/// The first of these slices.
const SLICE: &str = "web-0";

/// The executed steps; every action was available.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct DriverText {
    steps: Vec<StepText>,
    /// Names of profiles, or namespaces and names.
    #[serde(default)]
    touched: Vec<String>,
    /// The same of slices.
    #[serde(default)]
    touched_slices: Vec<String>,
    /// Whether the members are fake members of the suite.
    #[serde(default)]
    fake_members: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StepText {
    action: DriverAction,
    /// By default, the scenario that the action belongs to.
    scenario: Option<Scenario>,
    /// By default, the profile's name; none for a step that concerns no member.
    member: Option<String>,
    /// A profile's name, or namespace and name. By default `a`; none for a member without a profile.
    profile: Option<String>,
    /// The profile that the driver recognized afterwards, if it has another name.
    profile_after: Option<String>,
    at: SignedDuration,
    took: Option<SignedDuration>,
    /// By default, two minutes.
    patience: Option<SignedDuration>,
    /// When the run stopped looking for the answer; by default, at the end of the patience.
    looked_until: Option<SignedDuration>,
    failed: Option<String>,
    /// The placement's name; by default that of the conforming slices.
    placement: Option<String>,
    /// How many clusters the placement asks for; by default, one.
    clusters: Option<usize>,
    /// Namespace and key of its decision, where the hook tells.
    decision: Option<String>,
    /// A slice's name, or namespace and name; by default the first conforming one.
    slice: Option<String>,
    change: Option<Change>,
    secrets_before: Option<usize>,
}

impl DriverText {
    pub(super) fn driver(&self) -> Driver {
        Driver {
            run: "example".to_owned(),
            stand_ins: self.fake_members,
            able: DriverAction::ALL.into(),
            lacking: BTreeMap::new(),
            steps: self.steps.iter().map(StepText::step).collect(),
            touched: self.touched.iter().map(|path| path_key(path)).collect(),
            touched_slices: self.touched_slices.iter().map(|path| path_key(path)).collect(),
        }
    }
}

impl StepText {
    fn step(&self) -> DriverStep {
        let done = self.at.saturating_add(self.took.unwrap_or_default());
        let patience = self.patience.unwrap_or(SignedDuration::from_mins(2));
        let has_none = matches!(
            self.action,
            DriverAction::Join | DriverAction::Restart | DriverAction::Disconnect | DriverAction::Reconnect
        ) || self.action.is_on_placements();
        let profile = self
            .profile
            .as_deref()
            .or((!has_none).then_some("a"))
            .map(path_key);
        let name = profile.as_ref().map_or("a", |key| &key.name);
        let is_on_all = is_on_whole_implementation(self.action);
        let member = self
            .member
            .as_deref()
            .unwrap_or(if is_on_all { "" } else { name });
        DriverStep {
            scenario: self.scenario.unwrap_or_else(|| scenario(self.action)),
            action: self.action,
            member: member.to_owned(),
            profile: profile
                .as_ref()
                .map(|key| profile_reference(&key.namespace, &key.name)),
            profile_after: self.profile_after(),
            from: moment(self.at),
            until: moment(done),
            outcome: match self.failed.clone() {
                None => StepOutcome::Done,
                Some(reason) => StepOutcome::Failed { reason },
            },
            patience_seconds: patience.as_secs(),
            looked_until: moment(self.looked_until.unwrap_or(done.saturating_add(patience))),
            reacted: None,
            placement: self.placement(),
            slice: self.slice(),
            change: self.change.clone(),
            secrets_before: self.secrets_before,
            output: String::new(),
        }
    }

    /// The object that the run re-created is the second one of its name.
    fn profile_after(&self) -> Option<ObjectRef> {
        if self.action == DriverAction::RecreateForeignProfile {
            let key = path_key(self.profile.as_deref().unwrap_or("foreign"));
            let mut created = profile_reference(&key.namespace, &key.name);
            created.uid += "-2";
            return Some(created);
        }
        let name = self.profile_after.as_deref()?;
        Some(profile_reference("default", name))
    }

    fn placement(&self) -> Option<PlacementRequest> {
        let is_placed = self.action.is_on_placements() && self.action != DriverAction::PutForeignSlice;
        is_placed.then(|| PlacementRequest {
            name: self.placement.clone().unwrap_or_else(|| PLACEMENT.to_owned()),
            clusters: self.clusters.unwrap_or(1),
            decision: self.decision.as_deref().map(path_key),
        })
    }

    fn slice(&self) -> Option<ObjectRef> {
        let default = match self.action {
            DriverAction::DeleteSlice | DriverAction::EmptySlice => Some(SLICE),
            DriverAction::PutForeignSlice => Some("foreign"),
            _ => None,
        };
        let key = path_key(self.slice.as_deref().or(default)?);
        Some(ObjectRef {
            kind: names::PLACEMENT_KIND.to_owned(),
            uid: format!("uid-{}-{}", key.namespace, key.name),
            namespace: key.namespace,
            name: key.name,
            ..ObjectRef::default()
        })
    }
}

/// Whether an action concerns no member.
fn is_on_whole_implementation(action: DriverAction) -> bool {
    matches!(
        scenario(action),
        Scenario::Restart | Scenario::CutOff | Scenario::ForeignProfile | Scenario::Placement
    )
}

/// The scenario that an action belongs to.
fn scenario(action: DriverAction) -> Scenario {
    match action {
        DriverAction::Join | DriverAction::Leave => Scenario::JoinAndLeave,
        DriverAction::Break | DriverAction::Heal => Scenario::Outage,
        DriverAction::Upgrade => Scenario::Upgrade,
        DriverAction::Restart => Scenario::Restart,
        DriverAction::PutForeignProfile
        | DriverAction::ChangeForeignProfile
        | DriverAction::RecreateForeignProfile
        | DriverAction::PutForeignSlice => Scenario::ForeignProfile,
        DriverAction::Disconnect | DriverAction::Reconnect => Scenario::CutOff,
        DriverAction::DeleteNamespace | DriverAction::CreateNamespace => Scenario::NamespaceGone,
        action if action.is_on_placements() => Scenario::Placement,
        _ => Scenario::Tampering,
    }
}
