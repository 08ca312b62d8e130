//! Who publishes objects: the users and field managers of a cluster manager or a scheduler.
//!
//! The user says it. Otherwise, what all objects of a producer have in common is inferred: the user who created them, and
//! the field manager that publishes them. Otherwise it is unknown, and no MUST rule fails by it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use evidence::{Evidence, History, Request, parse_time};

use super::{
    authors::{is_actor, is_by_program, is_program, may_be_a_producer_s},
    logged::{Judged, Key, events, is_creation, judged, key_of, logged_key},
    program::is_for_people,
};
use crate::rules::consumer::support::time::{Micros, SECOND};

/// The users, or the field managers, of a producer; none if they are unknown.
#[derive(Clone, Debug)]
pub(crate) struct Names<'e> {
    known: BTreeSet<&'e str>,
    /// Whether the user named them: all, so that any other is somebody else's. Otherwise, they are inferred.
    pub(crate) are_said: bool,
    /// Whether objects have none in common, so that several programs publish them.
    are_several: bool,
}

impl<'e> Names<'e> {
    fn said(names: &'e [String]) -> Self {
        Self {
            known: names.iter().map(String::as_str).collect(),
            are_said: !names.is_empty(),
            are_several: false,
        }
    }

    /// Keeps what another object has in common with those before, unless it tells nothing.
    fn infer(&mut self, told: BTreeSet<&'e str>) {
        if self.are_said || self.are_several || told.is_empty() {
            return;
        }
        if self.known.is_empty() {
            self.known = told;
        } else {
            self.known.retain(|name| told.contains(name));
            self.are_several = self.known.is_empty();
        }
    }

    /// Whether it is known that a name is the producer's.
    pub(crate) fn hold(&self, name: &str) -> bool {
        self.known.contains(name)
    }

    /// Whether a name is one that the user said, or the only one that all objects of the producer have in common.
    pub(super) fn prove(&self, name: &str) -> bool {
        self.hold(name) && (self.are_said || self.known.len() == 1)
    }
}

/// The users and the field managers that publish an object; empty if the evidence does not tell.
type Told<'e> = [BTreeSet<&'e str>; 2];

/// The publishers of all judged objects of one kind.
pub(crate) struct Publishers<'e> {
    creations: HashMap<Key<'e>, Vec<&'e Request>>,
    /// The users whose programs created objects under each name of a producer; under none if bodies do not tell.
    creators: BTreeMap<&'e str, BTreeSet<&'e str>>,
    /// The user who created all judged objects, by the log; none if there are several, or it lacks a creation.
    created_all: Option<&'e str>,
    /// Whether a controller did, and neither a person nor a tool that writes for people.
    is_by_controller: bool,
    /// The programs that own whose an object is, by their field managers: they created it, or took it over.
    founders: BTreeSet<&'e str>,
    /// The programs that own what is reported of an object.
    reporters: BTreeSet<&'e str>,
    names: BTreeMap<&'e str, [Names<'e>; 2]>,
    /// Those of a producer whose objects tell nothing.
    untold: [Names<'e>; 2],
}

impl<'e> Publishers<'e> {
    pub(crate) fn of<T: Judged>(evidence: &'e Evidence) -> Self {
        let said = T::said(&evidence.header.claim);
        let mut publishers = Self {
            creations: HashMap::new(),
            creators: BTreeMap::new(),
            created_all: None,
            is_by_controller: false,
            founders: BTreeSet::new(),
            reporters: BTreeSet::new(),
            names: BTreeMap::new(),
            untold: [Names::said(&said.users), Names::said(&said.field_managers)],
        };
        for request in events::<T>(evidence).filter(|request| is_creation(request)) {
            let key = logged_key(request);
            publishers.creations.entry(key).or_default().push(request);
            if is_by_controller(request) {
                let creators = publishers.creators.entry(named(request)).or_default();
                creators.insert(&request.user);
            }
        }
        for history in judged::<T>(evidence) {
            for version in &history.versions {
                let controllers =
                    |is_such| owning(&version.object, is_such).filter(|manager| may_be_a_producer_s(manager));
                publishers.founders.extend(controllers(T::is_of_founder));
                publishers.reporters.extend(controllers(T::is_told));
            }
            let [mut users, mut managers] = publishers.told(history);
            // What a person writes with kubectl tells nothing of the producer.
            if !publishers.creation(history).is_some_and(is_by_program) {
                users.clear();
            }
            managers.retain(|manager| is_program(manager));
            let producer = history.last().producer();
            let names = publishers.names.entry(producer);
            let names = names.or_insert_with(|| publishers.untold.clone());
            names[0].infer(users);
            names[1].infer(managers);
        }
        let creations = judged::<T>(evidence).map(|history| publishers.creation(history));
        let creations: Vec<&Request> = creations.collect::<Option<_>>().unwrap_or_default();
        let first = creations.first().map(|first| &*first.user);
        publishers.created_all =
            first.filter(|user| creations.iter().all(|creation| &*creation.user == *user));
        publishers.is_by_controller = creations.into_iter().all(is_by_controller);
        publishers
    }

    /// Whether a user created all judged objects, by the log.
    pub(super) fn created_all(&self, user: &str) -> bool {
        self.created_all == Some(user)
    }

    /// Whether the programs that created the objects report on them, too, and this one is none of them, by their field managers:
    /// then it may be another controller's, which adds something of its own.
    pub(super) fn is_beside_founders(&self, field_manager: &str) -> bool {
        !self.founders.is_disjoint(&self.reporters) && !self.founders.contains(field_manager)
    }

    /// Whether a user (0) or a field manager (1) is known to be a judged producer's.
    pub(super) fn prove(&self, place: usize, name: &str) -> bool {
        self.names.values().any(|names| names[place].prove(name))
    }

    /// Whether no program of another user created an object under the same producer's name, as far as bodies tell.
    pub(super) fn creates_alone(&self, request: &Request) -> bool {
        let own = named(request);
        let of_name = |name: &&str| own.is_empty() || name.is_empty() || *name == own;
        let mut users = self.creators.iter().filter(|(name, _)| of_name(name));
        users.all(|(_, users)| users.iter().all(|user| *user == &*request.user))
    }

    /// The request that created an object, if the audit log has it. The hub stamps creations in whole seconds.
    pub(crate) fn creation<T: Judged>(&self, history: &History<T>) -> Option<&'e Request> {
        const APART: Micros = 2 * SECOND;
        let created = history.last().metadata().creation_timestamp.as_deref();
        let created = created.and_then(parse_time)?.as_microsecond();
        let mut requests = self.creations.get(&key_of(history))?.iter();
        requests
            .find(|request| (created - request.at.as_microsecond()).abs() <= APART)
            .copied()
    }

    fn told<T: Judged>(&self, history: &'e History<T>) -> Told<'e> {
        let creator = self.creation(history).map(|request| &*request.user);
        let versions = history.versions.iter();
        [
            creator.into_iter().collect(),
            versions.flat_map(|version| publishing(&version.object)).collect(),
        ]
    }
}

/// Whether a controller sent a request: neither a person nor a tool that writes for people.
fn is_by_controller(request: &Request) -> bool {
    is_by_program(request) && !is_for_people(&request.user_agent)
}

/// The producer that the body of a request names; empty if it does not tell.
fn named(request: &Request) -> &str {
    let body = request.body.as_ref();
    body.and_then(|body| body.manager.as_deref()).unwrap_or_default()
}

/// Those that own what only a producer sets, people too.
pub(super) fn publishing<T: Judged>(object: &T) -> impl Iterator<Item = &str> {
    owning(object, T::is_published).filter(|manager| is_actor(manager))
}

/// The field managers that own such a part of an object.
fn owning<T: Judged>(object: &T, is_such: fn(&str) -> bool) -> impl Iterator<Item = &str> {
    let writers = object.metadata().writers.as_deref().unwrap_or_default();
    let owners = writers
        .iter()
        .filter(move |writer| writer.owns.iter().any(|part| is_such(part)));
    owners.map(|writer| &*writer.manager)
}
