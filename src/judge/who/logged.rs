//! Resolves the names in an audit log to the objects that the run saw.

use std::collections::{HashMap, HashSet};

use evidence::{
    Claim, Evidence, History, Identity, ObjectRef, Reason, Request, Requests, Scope, Tracked,
    api::{ClusterProfile, PlacementDecision, names},
    parse_time,
};

use crate::{
    reasons,
    time::{Micros, skew},
};

/// Namespace and name: the audit log does not identify objects in any other way.
pub(crate) type Key<'a> = (&'a str, &'a str);

/// A kind of objects of which a run may judge some only.
pub(crate) trait Judged: Tracked {
    /// What findings call the producer.
    const ROLE: &str;

    /// The missing evidence if it was not said by which names the producer is known.
    const NOT_NAMED: Reason;

    /// Whether a version of an object is judged.
    fn is_in(&self, scope: &Scope) -> bool;

    /// Whether the run wrote to the object of that name, or created it, or another run did. `lives` is what was seen of it.
    fn is_touched(evidence: &Evidence, key: Key<'_>, lives: &[&History<Self>]) -> bool;

    /// Whether the objects of one producer are judged only.
    fn has_one_producer(scope: &Scope) -> bool;

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
    const ROLE: &str = "the manager";
    const NOT_NAMED: Reason = reasons::MANAGER_NOT_NAMED;

    fn is_in(&self, scope: &Scope) -> bool {
        scope.holds(self)
    }

    fn is_touched(evidence: &Evidence, (namespace, name): Key<'_>, _: &[&History<Self>]) -> bool {
        evidence.is_touched(namespace, name)
    }

    fn has_one_producer(scope: &Scope) -> bool {
        scope.cluster_manager.is_some()
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
    const ROLE: &str = "the scheduler";
    const NOT_NAMED: Reason = reasons::SCHEDULER_NOT_NAMED;

    fn is_in(&self, scope: &Scope) -> bool {
        scope.holds_slice(self)
    }

    fn is_touched(evidence: &Evidence, key: Key<'_>, lives: &[&History<Self>]) -> bool {
        evidence.is_slice_touched(key, lives.iter().copied())
    }

    fn has_one_producer(scope: &Scope) -> bool {
        scope.scheduler.is_some()
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
    evidence: &'a Evidence,
    histories: HashMap<Key<'a>, Vec<&'a History<T>>>,
}

impl<'a, T: Judged> Logged<'a, T> {
    /// Groups all observed objects.
    pub(crate) fn of(evidence: &'a Evidence) -> Self {
        let mut histories: HashMap<Key<'a>, Vec<&'a History<T>>> = HashMap::new();
        for history in T::histories(evidence) {
            histories.entry(key_of(history)).or_default().push(history);
        }
        Self { evidence, histories }
    }

    /// The objects with that name, one after the other.
    pub(crate) fn histories(&self, key: Key<'a>) -> &[&'a History<T>] {
        self.histories.get(&key).map_or(&[], Vec::as_slice)
    }

    /// The first object of each name, in the order of the evidence.
    pub(crate) fn first_of_each(&self) -> impl Iterator<Item = &'a History<T>> {
        T::histories(self.evidence).iter().filter(|history| {
            let first = self.histories(key_of(history)).first();
            first.is_some_and(|first| std::ptr::eq(*first, *history))
        })
    }

    /// Whether an object of the log is judged, and was not touched by the run itself. An unseen one may be any
    /// producer's, so it is out of scope if only one producer is judged.
    pub(crate) fn in_scope(&self, key: Key<'a>) -> bool {
        if T::is_touched(self.evidence, key, self.histories(key)) {
            return false;
        }
        let scope = &self.evidence.header.scope;
        match self.histories(key) {
            [] => {
                !T::has_one_producer(scope)
                    && (scope.namespaces.is_empty() || scope.namespaces.iter().any(|name| name == key.0))
            }
            histories => histories
                .iter()
                .flat_map(|history| &history.versions)
                .any(|version| version.object.is_in(scope)),
        }
    }

    /// The producer that the last object of that name tells; empty if none was seen.
    pub(crate) fn producer(&self, key: Key<'a>) -> &'a str {
        self.histories(key)
            .last()
            .map_or("", |history| history.last().producer())
    }

    /// The producer that a request's body names, or that all objects of its name have; none if neither tells.
    pub(crate) fn producer_of(&self, request: &'a Request) -> Option<&'a str> {
        let told = request.body.as_ref().and_then(|body| body.manager.as_deref());
        let histories = self.histories(logged_key(request)).iter();
        let mut producers = histories.map(|history| history.first().producer());
        // Objects of one name may have had several producers.
        let only = producers
            .next()
            .filter(|first| producers.all(|producer| producer == *first));
        told.or(only).filter(|producer| !producer.is_empty())
    }

    /// A reference to the object with that name.
    pub(crate) fn reference(&self, key: Key<'a>) -> ObjectRef {
        self.histories(key).last().map_or_else(
            || ObjectRef {
                kind: T::KIND.to_owned(),
                namespace: key.0.to_owned(),
                name: key.1.to_owned(),
                ..ObjectRef::default()
            },
            |history| history.last().object_ref(),
        )
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

/// When objects that the watch saw were created, by the hub's clock: an audit policy may leave creations out.
pub(crate) struct Creations<'a>(HashMap<Key<'a>, Vec<Micros>>);

impl<'a> Creations<'a> {
    /// Those since the log `begins`.
    pub(crate) fn of<T: Tracked>(histories: &'a [History<T>], begins: Micros) -> Self {
        let mut times: HashMap<Key<'a>, Vec<Micros>> = HashMap::new();
        let mut uids: HashSet<&str> = HashSet::new();
        for history in histories {
            let metadata = history.last().metadata();
            let created = metadata.creation_timestamp.as_deref().and_then(parse_time);
            let created = created.map(|created| created.as_microsecond());
            if let Some(created) = created.filter(|created| *created >= begins && uids.insert(&metadata.uid))
            {
                times.entry(key_of(history)).or_default().push(created);
            }
        }
        // The last one comes first, to be taken from the end.
        times
            .values_mut()
            .for_each(|times| times.sort_unstable_by(|one, other| other.cmp(one)));
        Self(times)
    }

    /// Takes the creations of a name until a time.
    pub(crate) fn until(&mut self, key: Key<'a>, at: Micros) -> Vec<Micros> {
        let Some(times) = self.0.get_mut(&key) else {
            return Vec::new();
        };
        let later = times.partition_point(|created| *created > at);
        times.split_off(later).into_iter().rev().collect()
    }
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

/// Whether a request deletes one object.
pub(crate) fn deletes(event: &Request) -> bool {
    &*event.verb == "delete" && event.subresource.is_empty()
}
