//! Refuses a scope in which there is nothing, and says what there is elsewhere: most often a name is misspelt.

use std::{collections::BTreeMap, sync::Arc};

use evidence::{
    Scope,
    api::{Api, ClusterProfile, PlacementDecision, names},
    redact::without_credentials,
};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;

use super::{
    CollectError, Plan,
    call::{Failure, TimedClient},
    list::list,
    target::Target,
};

/// At most so many names are told apart.
const TOLD_APART: usize = 100;
/// At most so many of these are named.
const NAMED: usize = 8;

/// An object of an API that is judged.
trait Judged: DeserializeOwned {
    /// Who publishes it.
    fn publisher(&self) -> &str;
    fn namespace(&self) -> &str;
    fn is_in(&self, scope: &Scope) -> bool;
}

impl Judged for ClusterProfile {
    fn publisher(&self) -> &str {
        match self.manager() {
            "" => self.label(names::LABEL_MANAGER).unwrap_or_default(),
            manager => manager,
        }
    }

    fn namespace(&self) -> &str {
        &self.metadata.namespace
    }

    fn is_in(&self, scope: &Scope) -> bool {
        scope.holds(self)
    }
}

impl Judged for PlacementDecision {
    fn publisher(&self) -> &str {
        self.scheduler()
    }

    fn namespace(&self) -> &str {
        &self.metadata.namespace
    }

    fn is_in(&self, scope: &Scope) -> bool {
        scope.holds_slice(self)
    }
}

/// The objects of an API, counted.
#[derive(Default)]
struct Found {
    all: usize,
    in_scope: usize,
    namespaces: BTreeMap<String, usize>,
    publishers: BTreeMap<String, usize>,
}

impl Found {
    fn count<T: Judged>(&mut self, object: &T, scope: &Scope) {
        self.all += 1;
        self.in_scope += usize::from(object.is_in(scope));
        for (names, name) in [
            (&mut self.namespaces, object.namespace()),
            (&mut self.publishers, object.publisher()),
        ] {
            if names.len() < TOLD_APART && !name.is_empty() {
                *names.entry(without_credentials(name).into_owned()).or_default() += 1;
            }
        }
    }
}

async fn count<T: Judged>(client: &TimedClient, path: &str, scope: &Scope) -> Result<Found, Failure> {
    let found = Arc::new(Mutex::new(Found::default()));
    let (into, scope) = (Arc::clone(&found), scope.clone());
    let each = move |json: &[u8]| match serde_json::from_slice::<T>(json) {
        Ok(object) => into.lock().count(&object, &scope),
        // It is not known whose it is.
        Err(_) => into.lock().in_scope += 1,
    };
    list(client, path, each).await?;
    let found = std::mem::take(&mut *found.lock());
    Ok(found)
}

/// Counts the objects of an API in the whole hub.
async fn everywhere(
    client: &TimedClient,
    target: &Target,
    api: Api,
    scope: &Scope,
) -> Result<Found, Failure> {
    match (api, &target.placements) {
        (Api::Placement, Some(placements)) => {
            count::<PlacementDecision>(client, &placements.slices(None), scope).await
        }
        _ => count::<ClusterProfile>(client, &target.profiles(None), scope).await,
    }
}

/// Refuses a plan whose scope names what has no object. `holds` says whether the scope holds an object of an API; where it
/// does not know, the hub is asked.
///
/// # Errors
/// [`CollectError::NothingInScope`], with what the hub has.
pub(super) async fn check(
    client: &TimedClient,
    target: &Target,
    plan: &Plan,
    holds: impl Fn(Api) -> Option<bool>,
) -> Result<(), CollectError> {
    let scope = &plan.scope;
    // A share may well be empty.
    if plan.wait || scope.shard.is_some() {
        return Ok(());
    }
    let publisher = |api| match api {
        Api::ClusterProfile => scope.cluster_manager.as_deref(),
        Api::Placement => scope.scheduler.as_deref(),
    };
    let is_judged = |api: &Api| {
        plan.claim.edition_of(*api).is_some() && (*api != Api::Placement || target.placements.is_some())
    };
    let is_named = |api: &Api| publisher(*api).is_some() || !scope.namespaces.is_empty();
    let mut absent = Vec::new();
    for api in Api::ALL.into_iter().filter(|api| is_judged(api) && is_named(api)) {
        if holds(api) != Some(true) {
            let found = everywhere(client, target, api, scope).await;
            // One may have come meanwhile.
            let is_there = found
                .as_ref()
                .map_or(holds(api).is_none(), |found| found.in_scope > 0);
            if !is_there {
                absent.push((api, found));
                continue;
            }
        }
        // In a namespace, objects of one API are enough.
        if publisher(api).is_none() {
            return Ok(());
        }
    }
    // A publisher who is named has to be there; a namespace may hold objects of another API.
    let named = absent.iter().position(|(api, _)| publisher(*api).is_some());
    let judged = Api::ALL.into_iter().filter(is_judged).count();
    let index = named.or_else(|| (absent.len() == judged).then_some(0));
    let Some((api, found)) = index.map(|index| absent.swap_remove(index)) else {
        return Ok(());
    };
    Err(CollectError::NothingInScope {
        wanted: wanted(api, scope),
        there: found.map_or_else(
            |failure| format!("those of the whole hub could not be listed: {failure}"),
            |found| there(&found, api),
        ),
    })
}

fn kind(api: Api) -> (&'static str, &'static str) {
    match api {
        Api::ClusterProfile => ("ClusterProfile", "manager"),
        Api::Placement => ("PlacementDecision", "scheduler"),
    }
}

/// What the scope asks for.
fn wanted(api: Api, scope: &Scope) -> String {
    let (mut text, publisher) = (kind(api).0.to_owned(), kind(api).1);
    let named = match api {
        Api::ClusterProfile => &scope.cluster_manager,
        Api::Placement => &scope.scheduler,
    };
    if let Some(name) = named {
        text += &format!(" of {publisher} {name}");
    }
    match scope.namespaces.as_slice() {
        [] => {}
        [one] => text += &format!(" in namespace {one}"),
        several => text += &format!(" in namespaces {}", several.join(", ")),
    }
    text
}

/// What the hub has.
fn there(found: &Found, api: Api) -> String {
    let (kind, publisher) = kind(api);
    if found.all == 0 {
        return format!("it has no {kind} at all");
    }
    let mut text = format!("its {kind}s are in {}", list_of("namespace", &found.namespaces));
    if !found.publishers.is_empty() {
        text += &format!(", of {}", list_of(publisher, &found.publishers));
    }
    text
}

/// Names with their numbers of objects, those with most first.
fn list_of(what: &str, names: &BTreeMap<String, usize>) -> String {
    let mut by_number: Vec<_> = names.iter().collect();
    by_number.sort_by_key(|(_, number)| std::cmp::Reverse(**number));
    let named: Vec<String> = by_number
        .iter()
        .take(NAMED)
        .map(|(name, number)| format!("{name} ({number})"))
        .collect();
    let more = match names.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let plural = if names.len() == 1 { "" } else { "s" };
    format!("{what}{plural} {}{more}", named.join(", "))
}
