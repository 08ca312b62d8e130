//! Refuses a scope in which there is nothing, and says what there is elsewhere: most often a name is misspelt.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{
    Scope,
    api::{ClusterProfile, PlacementDecision, Role, names},
    redact::without_credentials,
};
use serde::de::DeserializeOwned;

use super::plan::Plan;
use crate::{
    connect::{call::TimedClient, failure::Failure},
    hub::{error::CollectError, target::Target},
    watch::list::fold_list,
};

/// At most so many names are told apart.
const TOLD_APART: usize = 100;
/// At most so many of these are named.
const NAMED: usize = 8;

/// What counts of an object.
struct Seen<'a> {
    namespace: &'a str,
    /// Who publishes it.
    publisher: &'a str,
    is_in_scope: bool,
}

fn profile<'a>(profile: &'a ClusterProfile, scope: &Scope) -> Seen<'a> {
    Seen {
        namespace: &profile.metadata.namespace,
        publisher: match profile.manager() {
            "" => profile.label(names::LABEL_MANAGER).unwrap_or_default(),
            manager => manager,
        },
        is_in_scope: scope.holds(profile),
    }
}

fn slice<'a>(slice: &'a PlacementDecision, scope: &Scope) -> Seen<'a> {
    Seen {
        namespace: &slice.metadata.namespace,
        publisher: slice.scheduler(),
        is_in_scope: scope.holds_slice(slice),
    }
}

/// The objects of a role, counted.
#[derive(Default)]
struct Found {
    all: usize,
    /// Those that cannot be read, and may be anybody's.
    unreadable: usize,
    /// The namespaces of the scope that have some; one without a name if the scope names none.
    in_scope: BTreeSet<String>,
    namespaces: BTreeMap<String, usize>,
    publishers: BTreeMap<String, usize>,
}

impl Found {
    fn count(&mut self, object: &Seen, scope: &Scope) {
        self.all += 1;
        if object.is_in_scope {
            let is_named = !scope.namespaces.is_empty();
            let namespace = if is_named { object.namespace } else { "" };
            self.in_scope.insert(namespace.to_owned());
        }
        for (names, name) in [
            (&mut self.namespaces, object.namespace),
            (&mut self.publishers, object.publisher),
        ] {
            if names.len() < TOLD_APART && !name.is_empty() {
                *names.entry(without_credentials(name).into_owned()).or_default() += 1;
            }
        }
    }
}

async fn count<T: DeserializeOwned + 'static>(
    client: &TimedClient,
    path: &str,
    scope: &Scope,
    see: for<'a> fn(&'a T, &Scope) -> Seen<'a>,
) -> Result<Found, Failure> {
    let scope = scope.clone();
    let add = move |found: &mut Found, json: &[u8]| match serde_json::from_slice::<T>(json) {
        Ok(object) => found.count(&see(&object, &scope), &scope),
        Err(_) => found.unreadable += 1,
    };
    fold_list(client, path, add).await
}

/// What is checked.
struct Check<'a, H> {
    client: &'a TimedClient,
    target: &'a Target,
    scope: &'a Scope,
    /// The roles whose objects are judged.
    judged: Vec<Role>,
    /// Whether a scope holds an object of a role; none if that is unknown.
    holds: H,
}

/// Refuses a plan whose scope names what has no object: each namespace has to have some, as one of several may be misspelt.
/// `holds` says whether a scope holds an object of a role; where it does not know, the hub is asked.
///
/// # Errors
/// [`CollectError::NothingInScope`], with what the hub has.
pub(crate) async fn check(
    client: &TimedClient,
    target: &Target,
    plan: &Plan,
    holds: impl Fn(Role, &Scope) -> Option<bool>,
) -> Result<(), CollectError> {
    let scope = &plan.scope;
    if plan.wait {
        return Ok(());
    }
    let is_judged = |role: &Role| *role != Role::Scheduler || target.placements.is_some();
    let check = Check {
        client,
        target,
        scope,
        judged: plan.claim.roles().filter(is_judged).collect(),
        holds,
    };
    check.publishers().await?;
    check.namespaces().await
}

impl<H: Fn(Role, &Scope) -> Option<bool>> Check<'_, H> {
    /// Refuses a publisher without objects: one that is named has to be there.
    async fn publishers(&self) -> Result<(), CollectError> {
        for role in self.judged.iter().copied() {
            if self.scope.publisher(role).is_none() || (self.holds)(role, self.scope) == Some(true) {
                continue;
            }
            let found = self.everywhere(role).await;
            let is_there = match &found {
                // One may have come meanwhile.
                Ok(found) => found.unreadable > 0 || !found.in_scope.is_empty(),
                Err(_) => (self.holds)(role, self.scope).is_none(),
            };
            if !is_there {
                return Err(nothing(role, self.scope, found));
            }
        }
        Ok(())
    }

    /// Refuses namespaces without objects. Those of one role are enough.
    async fn namespaces(&self) -> Result<(), CollectError> {
        let of = |namespaces: Vec<String>| Scope {
            namespaces,
            ..self.scope.clone()
        };
        let known = |role, namespace: &String| (self.holds)(role, &of(vec![namespace.clone()]));
        let mut empty = self.scope.namespaces.clone();
        empty.retain(|namespace| {
            !self
                .judged
                .iter()
                .any(|role| known(*role, namespace) == Some(true))
        });
        let mut first = None;
        for role in self.judged.iter().copied() {
            if empty.is_empty() {
                return Ok(());
            }
            let found = self.everywhere(role).await;
            empty.retain(|namespace| match &found {
                Ok(found) => found.unreadable == 0 && !found.in_scope.contains(namespace),
                Err(_) => known(role, namespace) == Some(false),
            });
            first.get_or_insert((role, found));
        }
        match first {
            Some((role, found)) if !empty.is_empty() => Err(nothing(role, &of(empty), found)),
            _ => Ok(()),
        }
    }

    /// Counts the objects of a role in the whole hub.
    async fn everywhere(&self, role: Role) -> Result<Found, Failure> {
        match (role, &self.target.placements) {
            (Role::Scheduler, Some(placements)) => {
                count(self.client, &placements.slices(None), self.scope, slice).await
            }
            _ => count(self.client, &self.target.profiles(None), self.scope, profile).await,
        }
    }
}

/// The error for a scope without objects of that role, on a hub where that was found.
fn nothing(role: Role, scope: &Scope, found: Result<Found, Failure>) -> CollectError {
    CollectError::NothingInScope {
        wanted: wanted(role, scope),
        there: found.map_or_else(
            |failure| format!("those of the whole hub could not be listed: {failure}"),
            |found| there(&found, role),
        ),
    }
}

/// What the scope asks for.
fn wanted(role: Role, scope: &Scope) -> String {
    let mut text = role.objects().name().to_owned();
    if let Some(name) = scope.publisher(role) {
        text += &format!(" of {role} {name}");
    }
    match scope.namespaces.as_slice() {
        [] => {}
        [one] => text += &format!(" in namespace {one}"),
        several => text += &format!(" in namespaces {}", several.join(", ")),
    }
    text
}

/// What the hub has.
fn there(found: &Found, role: Role) -> String {
    let kind = role.objects().name();
    if found.all == 0 {
        return format!("it has no {kind} at all");
    }
    let mut text = format!("its {kind}s are in {}", list_of("namespace", &found.namespaces));
    if !found.publishers.is_empty() {
        text += &format!(", of {}", list_of(role.name(), &found.publishers));
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
