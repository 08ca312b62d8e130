//! Surveys a hub before a run: whether it can be reached, who the runner is and may do, and what there is to judge.
//!
//! It sends what a run sends first, and one question more: who asks. It watches nothing, reads no Secret and stores
//! nothing.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::Future,
    sync::Arc,
    time::Duration,
};

use evidence::{
    Asked, Evidence, Kind, Scope,
    api::{ClusterProfile, Role, names},
    redact::without_credentials,
    runs::is_of_a_run,
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::{header::header, plan::Plan, scope_check, watches::watched_namespaces};
use crate::{
    clock::Clock,
    connect::{call::ask, connection::Connection, failure::Failure},
    hub::{
        error::CollectError,
        missing::NO_NAMESPACES,
        namespaces,
        permissions::Permissions,
        probe, secrets,
        target::{Target, target},
    },
    watch::list::list,
};

/// Where the hub says who asks.
const WHO: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
/// At most so many managers are told apart.
const MANAGERS: usize = 100;
/// At most so many profiles are kept.
const KEPT: usize = 1000;
/// At most so many Namespaces with profiles are counted.
const NAMESPACES: usize = 10_000;

/// What a run on the hub would begin with.
#[derive(Debug)]
pub struct Survey {
    /// The runner's user name on the hub; none if the hub does not say.
    pub user: Option<String>,
    /// What a run with the plan would ask for, and cannot have: the header and the gaps of its evidence.
    pub evidence: Evidence,
    /// The profiles.
    pub inventory: Result<Inventory, CollectError>,
    /// Some of the profiles that a run would judge, for example to list their field managers.
    pub profiles: Vec<ClusterProfile>,
}

/// The profiles of a hub, counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inventory {
    /// How many a run would judge.
    pub profiles: usize,
    /// How many of their Namespaces were told apart.
    pub namespaces: usize,
    /// The managers in their spec, each with the number of its profiles. Of very many, only some.
    pub managers: BTreeMap<String, usize>,
    /// How many a run leaves out: those of other managers than the plan's, and those of other conformance runs.
    pub left_out: usize,
    /// How many cannot be read.
    pub unreadable: usize,
    /// Whether the list ended before the time was over.
    pub is_whole: bool,
}

/// Surveys the hub for a run with that plan. `writes` says whether its driver may write to the hub. The survey takes at
/// most `limit` in all.
///
/// # Errors
/// When a run could not begin: the hub does not answer, or serves no ClusterProfiles that it could read.
pub async fn survey(
    hub: &Connection,
    plan: &Plan,
    writes: bool,
    clock: Clock,
    limit: Duration,
) -> Result<Survey, CollectError> {
    let deadline = Instant::now().checked_add(limit);
    let late = || CollectError::of(&Failure::silent("no whole answer came", limit), &hub.source, "");
    let target = within(
        deadline,
        target(
            &hub.timed(),
            clock,
            &hub.source,
            &plan.claim,
            plan.placements(),
            plan.api_version.as_deref(),
        ),
    )
    .await;
    let mut target = target.ok_or_else(late)??;
    let namespaces = &plan.scope.namespaces;
    let asked = async {
        let user = who(hub).await;
        let permissions = Permissions::ask(&hub.timed(), namespaces, &plan.written(writes)).await;
        target.describe(&hub.timed(), &permissions).await;
        (user, permissions)
    };
    let (user, permissions) = within(deadline, asked).await.ok_or_else(late)?;
    let mut evidence = Evidence {
        header: header(hub, plan, &target),
        ..Evidence::default()
    };
    ask_for(&mut evidence, plan, &permissions);
    let mut inventory = inventory(hub, plan, &target, deadline).await;
    if inventory.is_ok() && may_not_watch(plan, &permissions) {
        let message = "the runner may list them, but not watch them".to_owned();
        inventory = Err(CollectError::forbidden(message, namespaces));
    }
    let writers = inventory.as_ref().is_ok_and(|listed| listed.writers);
    let profiles = inventory
        .as_mut()
        .map_or_else(|_| Vec::new(), |listed| std::mem::take(&mut listed.profiles));
    if let Ok(Listed {
        inventory: found,
        places,
        ..
    }) = &inventory
        && found.is_whole
    {
        let has_profile = |scope: &Scope| match &scope.namespaces[..] {
            [] => found.profiles > 0,
            namespaces => namespaces.iter().any(|namespace| places.contains(namespace)),
        };
        let holds = |role, scope: &Scope| match role {
            Role::Manager if found.unreadable > 0 => None,
            Role::Manager => Some(has_profile(scope)),
            Role::Scheduler | Role::Consumer => None,
        };
        let client = hub.timed();
        let check = scope_check::check(&client, &target, plan, holds);
        // Without an answer in time, a run may begin.
        if let Some(Err(error)) = within(deadline, check).await {
            inventory = Err(error);
        }
    }
    if !writers {
        let none = Asked::No("the hub showed no managedFields".into());
        evidence.header.asked.insert(Kind::Writers, none);
    }
    evidence.header.permissions = permissions.into_inner();
    Ok(Survey {
        user,
        evidence,
        inventory: inventory.map(|listed| listed.inventory),
        profiles,
    })
}

/// Asks who the runner is. Hubs before Kubernetes 1.28 do not say.
async fn who(hub: &Connection) -> Option<String> {
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let review: Value = ask(&hub.timed(), WHO, &review).await.ok()?;
    let name = review["status"]["userInfo"]["username"].as_str()?;
    Some(without_credentials(name).into_owned())
}

/// Notes which kinds of evidence a run would ask for, as far as that depends on permissions.
fn ask_for(evidence: &mut Evidence, plan: &Plan, permissions: &Permissions) {
    let scope = &plan.scope.namespaces;
    let (secrets, _, no_secrets) = secrets::asked(&plan.secrets, permissions, scope);
    let (probe, no_probe) = probe::asked(&plan.probe, permissions, scope);
    let namespaces = if namespaces::allowed(permissions, scope) {
        Asked::Yes
    } else {
        Asked::No(NO_NAMESPACES)
    };
    evidence.header.asked.extend([
        (Kind::Namespaces, namespaces),
        (Kind::Secrets, secrets),
        (Kind::UnlabelledSecrets, secrets::unlabelled_asked(&plan.secrets)),
        (Kind::Probe, probe),
        (Kind::Writers, Asked::Yes),
    ]);
    evidence.gaps.extend(no_secrets.into_iter().chain(no_probe));
}

/// Whether the hub forbids what a run reads the profiles by: it says so before it refuses.
fn may_not_watch(plan: &Plan, permissions: &Permissions) -> bool {
    let watch = |namespace: &str| permissions.allows("watch", names::GROUP, names::PLURAL, namespace);
    let everywhere = [String::new()];
    let places = match plan.scope.namespaces.as_slice() {
        [] => &everywhere[..],
        namespaces => namespaces,
    };
    !plan.observe.is_zero() && places.iter().any(|place| watch(place) == Some(false))
}

/// What a list of the profiles shows.
struct Listed {
    inventory: Inventory,
    /// The namespaces with profiles.
    places: BTreeSet<String>,
    /// Whether any of them shows managedFields, or there is none.
    writers: bool,
    profiles: Vec<ClusterProfile>,
}

/// Lists the profiles.
async fn inventory(
    hub: &Connection,
    plan: &Plan,
    target: &Target,
    deadline: Option<Instant>,
) -> Result<Listed, CollectError> {
    let counting = Arc::new(Mutex::new(Counting::default()));
    let mut is_whole = true;
    for namespace in watched_namespaces(&plan.scope) {
        let path = target.profiles(namespace);
        let (into, scope) = (Arc::clone(&counting), plan.scope.clone());
        let each = move |json: &[u8]| match serde_json::from_slice::<ClusterProfile>(json) {
            Ok(profile) if !scope.holds(&profile) => into.lock().inventory.left_out += 1,
            Ok(profile) => into.lock().count(profile),
            Err(_) => into.lock().inventory.unreadable += 1,
        };
        match within(deadline, list(&hub.timed(), &path, each)).await {
            Some(listed) => {
                listed.map_err(|failure| {
                    CollectError::of_list(&failure, &hub.source, &plan.scope.namespaces)
                })?;
            }
            None => is_whole = false,
        }
    }
    let Counting {
        mut inventory,
        places,
        writers,
        profiles,
    } = std::mem::take(&mut *counting.lock());
    inventory.namespaces = places.len();
    inventory.is_whole = is_whole;
    Ok(Listed {
        writers: writers || inventory.profiles == 0,
        inventory,
        places,
        profiles,
    })
}

/// The inventory while it is counted.
#[derive(Default)]
struct Counting {
    inventory: Inventory,
    places: BTreeSet<String>,
    writers: bool,
    profiles: Vec<ClusterProfile>,
}

impl Counting {
    fn count(&mut self, profile: ClusterProfile) {
        self.writers |= profile.metadata.writers.is_some();
        let manager = without_credentials(profile.manager()).into_owned();
        let namespace = profile.metadata.namespace.to_string();
        if is_of_a_run(&profile) {
            self.inventory.left_out += 1;
            return;
        }
        self.inventory.profiles += 1;
        if self.places.len() < NAMESPACES {
            self.places.insert(namespace);
        }
        let managers = &mut self.inventory.managers;
        if managers.len() < MANAGERS || managers.contains_key(&manager) {
            *managers.entry(manager).or_default() += 1;
        }
        if self.profiles.len() < KEPT {
            self.profiles.push(profile);
        }
    }
}

/// What comes of it before the deadline; none if it takes longer.
async fn within<T>(deadline: Option<Instant>, work: impl Future<Output = T>) -> Option<T> {
    match deadline {
        Some(deadline) => timeout_at(deadline, work).await.ok(),
        None => Some(work.await),
    }
}
