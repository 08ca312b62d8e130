//! What a run can do, and why it cannot do the rest.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{
    DriverAction, Reason, ReasonId,
    api::{Role, names},
};

use super::plan::{DriverPlan, Fleet};
use crate::hub::{missing::NO_MUTATIONS, permissions::Permissions};

/// What a run can do.
#[derive(Clone, Debug, Default)]
pub(super) struct Capabilities {
    pub supported: BTreeSet<DriverAction>,
    /// Why it cannot do the rest.
    pub missing: BTreeMap<DriverAction, Reason>,
}

impl Capabilities {
    /// Finds out what can be done by that plan, with those permissions, for the roles that are judged.
    pub fn of(plan: &DriverPlan, permissions: &Permissions, scope: &[String], roles: &[Role]) -> Self {
        let mut capabilities = Self::default();
        for action in roles.iter().copied().flat_map(DriverAction::of) {
            match missing(action, plan, permissions, scope) {
                None => {
                    capabilities.supported.insert(action);
                }
                Some(reason) => {
                    capabilities.missing.insert(action, reason);
                }
            }
        }
        capabilities
    }

    /// Whether the run can do all of these.
    pub fn support(&self, actions: &[DriverAction]) -> bool {
        actions.iter().all(|action| self.supported.contains(action))
    }
}

/// The reason if the driver file names no namespace for the run.
const NO_NAMESPACE: Reason = Reason::known(ReasonId::Unknown, "the driver file has no `ownNamespace`");

/// The reason if the run does not watch that namespace.
const NAMESPACE_NOT_WATCHED: Reason = Reason::known(
    ReasonId::Unknown,
    "`ownNamespace` of the driver file is not one of the namespaces that the run watches",
);

/// Why the run cannot delete a namespace; none if it can.
fn no_namespace(plan: &DriverPlan, scope: &[String]) -> Option<Reason> {
    let Some(namespace) = &plan.own_namespace else {
        return Some(NO_NAMESPACE);
    };
    let is_watched = scope.is_empty() || scope.contains(namespace);
    (!is_watched).then_some(NAMESPACE_NOT_WATCHED)
}

/// Why an action cannot be done; none where it can.
fn missing(
    action: DriverAction,
    plan: &DriverPlan,
    permissions: &Permissions,
    scope: &[String],
) -> Option<Reason> {
    let hook = |action| plan.hooks.lacking(action).map(Reason::from);
    let joined = || hook(DriverAction::Join).or_else(|| hook(DriverAction::Leave));
    let placed = || hook(DriverAction::Place).or_else(|| hook(DriverAction::Unplace));
    match action {
        DriverAction::Join | DriverAction::Leave => joined(),
        DriverAction::Restart => hook(action),
        DriverAction::Place | DriverAction::Unplace => placed(),
        DriverAction::Reschedule => placed().or_else(|| hook(action)),
        DriverAction::Break | DriverAction::Heal | DriverAction::Upgrade => joined().or_else(|| {
            let stand_ins = matches!(plan.fleet, Fleet::StandIns(_));
            if stand_ins { None } else { hook(action) }
        }),
        DriverAction::Disconnect | DriverAction::Reconnect => joined().or_else(|| hook(action)),
        _ if !plan.mutations => Some(NO_MUTATIONS),
        DriverAction::DeleteNamespace | DriverAction::CreateNamespace => {
            no_namespace(plan, scope).or_else(joined)
        }
        DriverAction::PutForeignProfile
        | DriverAction::ChangeForeignProfile
        | DriverAction::RecreateForeignProfile
        | DriverAction::PutForeignSlice => forbidden(action, permissions, scope),
        DriverAction::DeleteSlice | DriverAction::EmptySlice => {
            forbidden(action, permissions, scope).or_else(placed)
        }
        _ => forbidden(action, permissions, scope).or_else(joined),
    }
}

/// What the runner would have to be allowed for a write on the hub.
fn forbidden(action: DriverAction, permissions: &Permissions, scope: &[String]) -> Option<Reason> {
    let status = format!("{}/status", names::PLURAL);
    let (profiles, slices) = (names::PLURAL, names::PLACEMENT_PLURAL);
    let needed: &[(&str, &str)] = match action {
        DriverAction::DeleteProfile => &[("delete", profiles)],
        DriverAction::TamperStatus => &[("patch", &status)],
        DriverAction::PutForeignProfile | DriverAction::RecreateForeignProfile => {
            &[("create", profiles), ("patch", &status), ("delete", profiles)]
        }
        DriverAction::DeleteSlice => &[("delete", slices)],
        DriverAction::EmptySlice => &[("patch", slices)],
        DriverAction::PutForeignSlice => &[("create", slices), ("delete", slices)],
        _ => &[("patch", profiles)],
    };
    let everywhere = [String::new()];
    let namespaces = if scope.is_empty() { &everywhere[..] } else { scope };
    let refused = needed.iter().find(|(verb, resource)| {
        let allows = |namespace: &String| permissions.allows(verb, names::GROUP, resource, namespace);
        namespaces
            .iter()
            .all(|namespace| allows(namespace) == Some(false))
    });
    let id = if action.is_on_placements() {
        ReasonId::PlacementDecisionWritesForbidden
    } else {
        ReasonId::ProfileWritesForbidden
    };
    refused.map(|(verb, resource)| {
        Reason::of(
            id,
            format!("the runner may not {verb} {resource}: grant {verb} on {resource}"),
        )
    })
}
