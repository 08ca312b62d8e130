//! What a run can do, and why it cannot do the rest.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{DriverAction, api::names};

use super::plan::{DriverPlan, Fleet};
use crate::permissions::Permissions;

/// What a run can do.
#[derive(Clone, Debug, Default)]
pub(super) struct Able {
    pub able: BTreeSet<DriverAction>,
    /// Why it cannot do the rest.
    pub lacking: BTreeMap<DriverAction, String>,
}

impl Able {
    /// Whether all of these can be done.
    pub fn all(&self, actions: &[DriverAction]) -> bool {
        actions.iter().all(|action| self.able.contains(action))
    }
}

/// Finds out what can be done by that plan, with those permissions.
pub(super) fn able(plan: &DriverPlan, permissions: &Permissions, scope: &[String]) -> Able {
    let mut able = Able::default();
    for action in DriverAction::ALL {
        match lacking(action, plan, permissions, scope) {
            None => {
                able.able.insert(action);
            }
            Some(reason) => {
                able.lacking.insert(action, reason);
            }
        }
    }
    able
}

fn lacking(
    action: DriverAction,
    plan: &DriverPlan,
    permissions: &Permissions,
    scope: &[String],
) -> Option<String> {
    let hook = |action| plan.hooks.lacking(action);
    let joined = || hook(DriverAction::Join).or_else(|| hook(DriverAction::Leave));
    match action {
        DriverAction::Join | DriverAction::Leave => joined(),
        DriverAction::Restart => hook(action),
        DriverAction::Break | DriverAction::Heal | DriverAction::Upgrade => joined().or_else(|| {
            let stand_ins = matches!(plan.fleet, Fleet::StandIns(_));
            if stand_ins { None } else { hook(action) }
        }),
        _ if !plan.mutations => Some("add `--allow-mutations`".to_owned()),
        DriverAction::PutForeigner => forbidden(action, permissions, scope),
        _ => forbidden(action, permissions, scope).or_else(joined),
    }
}

/// What the runner would have to be allowed for a write on the hub.
fn forbidden(action: DriverAction, permissions: &Permissions, scope: &[String]) -> Option<String> {
    let status = format!("{}/status", names::PLURAL);
    let profiles = names::PLURAL;
    let needed: &[(&str, &str)] = match action {
        DriverAction::DeleteProfile => &[("delete", profiles)],
        DriverAction::TamperStatus => &[("patch", &status)],
        DriverAction::PutForeigner => &[("create", profiles), ("patch", &status), ("delete", profiles)],
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
    refused.map(|(verb, resource)| {
        format!(
            "the runner may not {verb} {resource}: grant it (`clusterprofile-conformance rbac --allow-mutations`)"
        )
    })
}
