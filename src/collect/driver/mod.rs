//! Drives the implementation through scenarios: a member joins, breaks, heals, is upgraded, leaves; a scheduler is asked
//! for clusters, for other clusters, and for none.
//!
//! The implementation acts because of hooks: commands of a driver file, or the reference manager's own functions. The
//! watch shows the effects. The run writes to the hub only if that is allowed, and only to profiles of members that it
//! has joined itself, to slices of placements that it has requested, and to objects that it has created. It undoes all
//! that it does, whichever way it ends.

mod actions;
mod clean;
mod consumer_file;
mod file;
mod hooks;
mod journal;
mod member;
mod placement;
mod pool;
mod recognition;
mod scenario;
mod session;
mod writes;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use evidence::{
    DriverAction, ObjectKey, Reason, ReasonId,
    api::{Role, names},
    runs::{RUN_ID_LENGTH, RUN_ID_LETTERS},
};
use schemars::JsonSchema;
use serde::Deserialize;

pub(crate) use self::writes::Touched;
use self::{
    actions::{ActionSpec, Operation},
    file::profile_key_text,
    hooks::{call_undo, undoes},
    journal::{FieldChange, create_private_file},
    member::{ScenarioMember, is_healthy, is_selectable},
    placement::ScenarioPlacement,
    pool::MemberPool,
    recognition::Traits,
    session::{STOPPED, Session, late_deadline},
    writes::kind_of,
};
pub use self::{
    clean::{CleanError, Cleaned, clean},
    consumer_file::ConsumerFile,
    file::{DriverFile, DriverFileError},
    hooks::{Called, Commands, HookRequest, Hooks, Offer, OfferError, Offered},
    journal::{Journal, JournalHead, replace_private_file},
};
pub(super) use self::{
    journal::UndoEntry,
    scenario::drive,
    writes::{DriverWrites, FIELD_MANAGER, list_labelled},
};
use crate::{
    hub::{NO_MUTATIONS, Permissions, places},
    random_bytes,
};

/// How long the implementation may take to react, unless the driver file says otherwise.
const PATIENCE: Duration = Duration::from_secs(120);
/// How many fake members the scale scenario joins, unless the driver file says otherwise.
const FLEET: usize = 50;
/// The most members that the scale scenario joins: each has an API server and a running hook.
const MOST_MEMBERS: usize = 1_000;

/// What a driver does, and with what.
#[derive(Clone)]
pub struct DriverPlan {
    /// The id of the run: a label of what it creates, and a part of the names of its members.
    pub run: String,
    /// Makes the implementation act.
    pub hooks: Arc<dyn Hooks>,
    /// The driver file; the default if there is none. Its hooks are called through `hooks` alone.
    pub file: DriverFile,
    /// Offers fake members; none if the driver file names members. Without both, the join hook makes them.
    pub offer: Option<Arc<dyn Offer>>,
    /// Whether the run may write to profiles of its own members, and create objects.
    pub mutations: bool,
    /// The log of changes to undo; without a file if the hub ends with the run.
    pub journal: Arc<Journal>,
}

/// A member that hooks act on. The driver file lists those of the implementer's own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HookMember {
    /// Its name.
    pub name: String,
    /// The file of its kubeconfig, relative to the driver file.
    #[serde(default)]
    pub kubeconfig: Option<PathBuf>,
    /// Its profile as NAMESPACE/NAME, if its name does not show it.
    #[serde(default, deserialize_with = "profile_key_text")]
    #[schemars(with = "Option<String>", extend("pattern" = "^[^/]+/[^/]+$"))]
    pub profile: Option<ObjectKey>,
}

impl HookMember {
    /// A member of which only the name is known.
    pub fn named(name: String) -> Self {
        Self {
            name,
            ..Self::default()
        }
    }
}

/// The scale scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Scale {
    /// The number of members. By default, many fake members join, and none of other members.
    pub members: Option<usize>,
    /// How many of them join, or leave, at the same time.
    pub at_once: usize,
}

impl Default for Scale {
    fn default() -> Self {
        Self {
            members: None,
            at_once: 10,
        }
    }
}

impl DriverPlan {
    /// Whether the run does this to its fake members itself, without a hook.
    fn does_itself(&self, action: DriverAction) -> bool {
        use DriverAction::*;
        self.offer.is_some() && matches!(action, Break | Heal | Upgrade)
    }

    /// How many members the scale scenario joins. Without any, it is left out.
    fn fleet_size(&self) -> usize {
        let usual = if self.offer.is_some() { FLEET } else { 0 };
        self.file.scale.members.unwrap_or(usual)
    }
}

/// A new run's id: short, a valid part of a name and of a label's value, and not a word.
pub fn new_run_id() -> String {
    let letter = |byte: u8| char::from(RUN_ID_LETTERS[usize::from(byte) % RUN_ID_LETTERS.len()]);
    random_bytes::<RUN_ID_LENGTH>().into_iter().map(letter).collect()
}

/// The actions that the run can do for these roles, and why it cannot do the other ones.
fn capabilities(
    plan: &DriverPlan,
    permissions: &Permissions,
    scope: &[String],
    roles: &[Role],
) -> (BTreeSet<DriverAction>, BTreeMap<DriverAction, Reason>) {
    let (mut supported, mut missing) = (BTreeSet::new(), BTreeMap::new());
    for action in roles.iter().copied().flat_map(DriverAction::of) {
        let lacking = || needed_hooks(action, plan).find_map(|hook| plan.hooks.lacking(hook));
        match forbidden(action, plan, permissions, scope).or_else(|| lacking().map(Reason::from)) {
            None => _ = supported.insert(action),
            Some(reason) => _ = missing.insert(action, reason),
        }
    }
    (supported, missing)
}

/// The hooks without which an action is impossible: those that make its member or placement, and its own.
fn needed_hooks(action: DriverAction, plan: &DriverPlan) -> impl Iterator<Item = DriverAction> {
    let hook = (!action.is_mutation() && !plan.does_itself(action)).then_some(action);
    ActionSpec::of(action).actors.iter().copied().chain(hook)
}

fn forbidden(
    action: DriverAction,
    plan: &DriverPlan,
    permissions: &Permissions,
    scope: &[String],
) -> Option<Reason> {
    let spec = ActionSpec::of(action);
    if action.is_mutation() && !plan.mutations {
        return Some(NO_MUTATIONS);
    }
    if matches!(
        spec.operation,
        Operation::DeleteNamespace | Operation::CreateNamespace
    ) {
        return no_namespace(plan.file.own_namespace.as_ref(), scope);
    }
    let is_refused = |verb: &str, resource: &str| {
        let allows = |namespace: &str| permissions.allows(verb, names::GROUP, resource, namespace);
        let mut places = places(scope).into_iter();
        places.all(|namespace| allows(namespace) == Some(false))
    };
    let mut writes = spec.writes.iter();
    let (verb, resource) = writes.find(|(verb, resource)| is_refused(verb, resource))?;
    let id = if action.is_on_placements() {
        ReasonId::PlacementDecisionWritesForbidden
    } else {
        ReasonId::ProfileWritesForbidden
    };
    let reason = format!("the runner may not {verb} {resource}: grant {verb} on {resource}");
    Some(Reason::of(id, reason))
}

fn no_namespace(namespace: Option<&String>, scope: &[String]) -> Option<Reason> {
    let reason = match namespace {
        None => "the driver file has no `ownNamespace`",
        Some(namespace) if !scope.is_empty() && !scope.contains(namespace) => {
            "`ownNamespace` of the driver file is not one of the namespaces that the run watches"
        }
        Some(_) => return None,
    };
    Some(Reason::new(ReasonId::Unknown, reason))
}
