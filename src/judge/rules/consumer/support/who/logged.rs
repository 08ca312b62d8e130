//! Resolves the names in an audit log to the objects that the run saw.

use std::collections::HashMap;

use evidence::{
    Claim, Evidence, History, Identity, Request, Requests, Scope, Tracked,
    api::{ClusterProfile, PlacementDecision, names},
};

use crate::rules::consumer::support::time::{Micros, skew};

/// Namespace and name: the audit log does not identify objects in any other way.
pub(crate) type Key<'a> = (&'a str, &'a str);

/// A kind of objects of which a run may judge some only.
pub(crate) trait Judged: Tracked {
    /// Whether a version of an object is judged.
    fn is_in(&self, scope: &Scope) -> bool;

    /// Whether the run wrote to the object of that name, or created it, or another run did. `lives` is what was seen of it.
    fn is_touched(evidence: &Evidence, key: Key<'_>, lives: &[&History<Self>]) -> bool;

    /// The requests on objects of that kind.
    fn requests(evidence: &Evidence) -> Option<&Requests>;

    /// The cluster manager or scheduler that the object names.
    fn producer(&self) -> &str;

    /// Whether only its producer sets a part of an object.
    fn is_published(part: &str) -> bool;

    /// Whether a part of an object says whose it is.
    fn is_of_founder(part: &str) -> bool;

    /// Whether a part of an object tells what its producer has found out, or decided.
    fn is_told(part: &str) -> bool;

    /// The parts that only such objects have, and whether two versions differ in them.
    fn differs(&self, other: &Self) -> [(&'static str, bool); 2];

    /// By which names the user said the producer is known.
    fn said(claim: &Claim) -> &Identity;
}

impl Judged for ClusterProfile {
    fn is_in(&self, scope: &Scope) -> bool {
        scope.holds(self)
    }

    fn is_touched(evidence: &Evidence, (namespace, name): Key<'_>, _: &[&History<Self>]) -> bool {
        evidence.is_touched(namespace, name)
    }

    fn requests(evidence: &Evidence) -> Option<&Requests> {
        evidence.requests.as_ref()
    }

    fn producer(&self) -> &str {
        self.manager()
    }

    fn is_published(part: &str) -> bool {
        let label = part.strip_prefix("metadata.labels[");
        part.starts_with("spec.clusterManager")
            || part.starts_with("status.")
            || label.and_then(|label| label.strip_suffix(']')) == Some(names::LABEL_MANAGER)
    }

    fn is_of_founder(part: &str) -> bool {
        part.starts_with("spec.clusterManager")
    }

    fn is_told(part: &str) -> bool {
        part.starts_with("status.")
    }

    fn differs(&self, other: &Self) -> [(&'static str, bool); 2] {
        [
            ("status", self.status != other.status),
            ("spec", self.spec != other.spec),
        ]
    }

    fn said(claim: &Claim) -> &Identity {
        &claim.cluster_manager
    }
}

impl Judged for PlacementDecision {
    fn is_in(&self, scope: &Scope) -> bool {
        scope.holds_slice(self)
    }

    fn is_touched(evidence: &Evidence, key: Key<'_>, lives: &[&History<Self>]) -> bool {
        evidence.is_slice_touched(key, lives.iter().copied())
    }

    fn requests(evidence: &Evidence) -> Option<&Requests> {
        evidence.slice_requests.as_ref()
    }

    fn producer(&self) -> &str {
        self.scheduler()
    }

    fn is_published(part: &str) -> bool {
        let label = part.strip_prefix("metadata.labels[");
        part == "decisions"
            || part.starts_with("decisions.")
            || part == "schedulerName"
            || label.is_some_and(|key| key.starts_with(names::GROUP))
    }

    fn is_of_founder(part: &str) -> bool {
        part == "schedulerName"
    }

    fn is_told(part: &str) -> bool {
        part == "decisions" || part.starts_with("decisions.")
    }

    fn differs(&self, other: &Self) -> [(&'static str, bool); 2] {
        [
            ("decisions", self.decisions != other.decisions),
            ("schedulerName", self.scheduler_name != other.scheduler_name),
        ]
    }

    fn said(claim: &Claim) -> &Identity {
        &claim.scheduler
    }
}

/// The objects of one kind by name, recreated ones together.
pub(crate) struct Logged<'a, T> {
    histories: HashMap<Key<'a>, Vec<&'a History<T>>>,
}

impl<'a, T: Judged> Logged<'a, T> {
    /// Groups all observed objects.
    pub(crate) fn of(evidence: &'a Evidence) -> Self {
        let mut histories: HashMap<Key<'a>, Vec<&'a History<T>>> = HashMap::new();
        for history in T::histories(evidence) {
            histories.entry(key_of(history)).or_default().push(history);
        }
        Self { histories }
    }

    /// The objects with that name, one after the other.
    pub(crate) fn histories(&self, key: Key<'a>) -> &[&'a History<T>] {
        self.histories.get(&key).map_or(&[], Vec::as_slice)
    }
}

/// The histories of the objects that are judged, deleted ones included: those in scope that no run has touched.
pub(crate) fn judged<T: Judged>(evidence: &Evidence) -> impl Iterator<Item = &History<T>> {
    T::histories(evidence).iter().filter(|history| {
        let mut versions = history.versions.iter();
        versions.any(|version| version.object.is_in(&evidence.header.scope))
            && !T::is_touched(evidence, key_of(history), &[history])
    })
}

/// The name of an object.
pub(crate) fn key_of<T: Tracked>(history: &History<T>) -> Key<'_> {
    let metadata = history.last().metadata();
    (&metadata.namespace, &metadata.name)
}

/// The requests of a log on objects of one kind.
pub(super) fn events<T: Judged>(evidence: &Evidence) -> impl Iterator<Item = &Request> {
    let requests = T::requests(evidence).into_iter();
    requests.flat_map(|requests| &requests.events)
}

/// When the hub served a request, by the runner's clock.
pub(super) fn served_at(evidence: &Evidence, request: &Request) -> Micros {
    request.at.as_microsecond().saturating_sub(skew(evidence))
}

/// The object of a request. The name of a created one may be in the body only; it is empty if the log does not tell.
pub(crate) fn logged_key(event: &Request) -> Key<'_> {
    let in_body = || event.body.as_ref().and_then(|body| body.name.as_deref());
    let name = match &*event.name {
        "" => in_body().unwrap_or_default(),
        name => name,
    };
    (&event.namespace, name)
}

/// Whether a request creates its object. An apply that does so has status 201.
pub(crate) fn creates(event: &Request) -> bool {
    &*event.verb == "create" || (event.code == 201 && event.subresource.is_empty())
}

/// Whether somebody else than the suite sent a request that created its object.
pub(crate) fn is_creation(event: &Request) -> bool {
    event.is_write() && event.subresource.is_empty() && creates(event) && !event.is_the_suites()
}
