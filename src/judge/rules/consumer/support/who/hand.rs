//! Whose doing something is.

use std::{cell::OnceCell, collections::BTreeSet};

use evidence::{Evidence, History, Origin, Request, parse_time};
use jiff::Timestamp;

use super::{
    authors::authors,
    logged::{Judged, Key, events, served_at},
    matching::{Matching, changed},
    program::{SUITE, is_actor, is_by_hub, is_for_people, is_hub, is_kubectl, is_program, tells_who},
    publisher::{Publishers, publishing},
};
use crate::{
    hash::HashMap,
    rules::consumer::support::time::{Edge, LATE, SECOND, is_after_gap, known_skew},
};

/// Whose doing something is, as far as the evidence tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hand {
    /// A judged cluster manager or scheduler's, by a name that the user claimed, or that was inferred.
    Producer {
        /// Whether nobody claimed the name.
        is_inferred: bool,
    },
    /// That of a run of this suite.
    Run,
    /// A person's, a tool's that writes for people, or the hub's own.
    Other,
    /// The evidence does not tell.
    Unknown,
}

/// A doing: whose it is, and by which names.
#[derive(Clone, Debug)]
pub(crate) struct Doing<'e> {
    /// Whose it is.
    pub(crate) hand: Hand,
    /// The user by the log, or else the field managers; empty if the evidence names nobody.
    pub(crate) by: BTreeSet<&'e str>,
    /// When it was, by the log; none if the log does not tell, or the hub's clock is unknown.
    pub(crate) at: Option<Edge>,
    /// Whether a program that people use may have done it.
    is_by_tool: bool,
}

impl Hand {}

impl Doing<'_> {
    const UNTOLD: Self = Self {
        hand: Hand::Unknown,
        by: BTreeSet::new(),
        at: None,
        is_by_tool: false,
    };
}

/// Tells whose doing things are with one kind of objects.
pub(crate) struct Who<'e, T> {
    pub(super) evidence: &'e Evidence,
    publishers: OnceCell<Publishers<'e>>,
    deletions: OnceCell<Deletions<'e>>,
    matching: Matching<'e, T>,
}

impl<'e, T: Judged> Who<'e, T> {
    pub(crate) fn of(evidence: &'e Evidence) -> Self {
        Self {
            evidence,
            publishers: OnceCell::new(),
            deletions: OnceCell::new(),
            matching: Matching::of(evidence),
        }
    }

    /// The publishers of all judged objects, found when they are first asked for.
    fn publishers(&self) -> &Publishers<'e> {
        self.publishers.get_or_init(|| Publishers::of::<T>(self.evidence))
    }

    fn by_field_managers(&self, hand: Hand, by: BTreeSet<&'e str>) -> Doing<'e> {
        Doing {
            hand,
            is_by_tool: by.iter().any(|name| is_for_people(name)),
            by,
            at: None,
        }
    }

    /// Whose a field manager is that owns what only a producer publishes. Where others created the
    /// objects, and report on them, it may be another controller's, which adds a condition of its own.
    fn publishing(&self, name: &str) -> Hand {
        match self.hand_of_field_manager(name, false) {
            Hand::Unknown
                if self.said(1).is_empty()
                    && is_actor(name)
                    && !self.publishers().is_beside_founders(name) =>
            {
                Hand::Producer { is_inferred: true }
            }
            hand => hand,
        }
    }

    /// Names those who may have made a step: the one user in the audit log, or else the field managers
    /// whose entries it moved. None over a gap.
    pub(super) fn names(&self, before: &T, after: (&'e T, Timestamp)) -> BTreeSet<&'e str> {
        let (new, seen) = after;
        let metadata = new.metadata();
        let name = (&*metadata.namespace, &*metadata.name);
        if is_after_gap::<T>(self.evidence, name, seen) {
            return BTreeSet::new();
        }
        let moved = authors(before, new);
        let requests = self
            .matching
            .requests(name, seen, changed(before, new))
            .into_iter();
        let users: BTreeSet<&str> = requests.map(|request| &*request.user).collect();
        if users.len() == 1 || moved.is_empty() {
            users
        } else {
            moved
        }
    }

    /// Whose doing a deletion is, by the log. `seen` is when the watch showed the object terminating or gone.
    pub(crate) fn deletion(&self, object: &T, seen: Timestamp) -> Doing<'e> {
        let metadata = object.metadata();
        let created = metadata.creation_timestamp.as_deref().and_then(parse_time);
        let deletions = self.deletions.get_or_init(|| deletions::<T>(self.evidence));
        // Deletions of collections name no object.
        let of_name = ["", &metadata.name].into_iter();
        let of_name = of_name.filter_map(|name| deletions.get(&(&*metadata.namespace, name)));
        let of_name = of_name.flatten().copied().filter(|request| {
            // A name may have been deleted and made again just before.
            created.is_none_or(|created| created <= request.at) && is_at(self.evidence, request, seen)
        });
        let of_name: Vec<&Request> = of_name.collect();
        // Who deletes a collection may have chosen others of it. Only an emptied namespace keeps none.
        let met = |request: &&Request| &*request.verb == "delete" || is_by_hub(request);
        let is_met = of_name.iter().any(met);
        let mut doing = self.told(of_name);
        if doing.hand == Hand::Other && !is_met {
            doing.hand = Hand::Unknown;
        }
        doing
    }

    /// The same, or by the field managers of the first version, if the watch saw it: who creates a profile or a slice publishes
    /// it.
    pub(crate) fn created(&self, history: &'e History<T>) -> Doing<'e> {
        let is_seen = history.origin == Origin::Created;
        let by: BTreeSet<&str> = publishing(history.first()).filter(|_| is_seen).collect();
        let hand = one(by.iter().map(|name| self.publishing(name)));
        let request = self.publishers().creation(history);
        let logged = request.map(|request| self.creator(request));
        let is_claimed = hand == (Hand::Producer { is_inferred: false });
        let logged = logged.filter(|logged| {
            // Whom the log leaves open, the program that they used does not tell either.
            logged.hand != Hand::Unknown || !self.said(0).is_empty() || hand == Hand::Other
        });
        match logged {
            Some(logged) if !is_claimed => logged,
            _ => self.by_field_managers(hand, by),
        }
    }

    /// Whose doing a logged creation is: who alone creates objects under a producer's name acts as that producer.
    pub(crate) fn creator(&self, request: &'e Request) -> Doing<'e> {
        let mut doing = self.told([request]);
        let is_open = doing.hand == Hand::Unknown && self.said(0).is_empty();
        if is_open && !is_for_people(&request.user_agent) && self.publishers().creates_alone(request) {
            doing.hand = Hand::Producer { is_inferred: true };
        }
        doing
    }

    /// Whose these requests are; unknown if they are several's.
    fn told(&self, requests: impl IntoIterator<Item = &'e Request>) -> Doing<'e> {
        let mut told: Option<Doing> = None;
        for request in requests {
            let hand = self.hand_of(request);
            let doing = told.get_or_insert(Doing {
                hand,
                by: BTreeSet::new(),
                at: logged_at(self.evidence, request),
                is_by_tool: false,
            });
            doing.is_by_tool |= is_for_people(&request.user_agent);
            doing.by.insert(&*request.user);
            // Which of several requests it was is unknown.
            let both = doing.at.zip(logged_at(self.evidence, request));
            doing.at = both.map(|(one, other)| one.or(other));
            if doing.hand != hand {
                doing.hand = Hand::Unknown;
            }
        }
        told.unwrap_or(Doing::UNTOLD)
    }

    /// Whose a request is. Who was claimed may use any program, and name it at will; but the hub's own users are reserved.
    pub(crate) fn hand_of(&self, request: &Request) -> Hand {
        if request.is_the_suites() {
            return Hand::Run;
        }
        let is_claimed = self.is_claimed_user(&request.user) && !is_hub(&request.user);
        if is_claimed || !(is_by_hub(request) || self.is_a_persons(request)) {
            self.known(0, &request.user)
        } else {
            Hand::Other
        }
    }

    /// Whether a request is a person's, by its program. A producer may use the same one: it was claimed, or its user alone
    /// created all that is judged with kubectl, as a script does. A tool that restores backups is nobody's script.
    fn is_a_persons(&self, request: &Request) -> bool {
        let creates_all = || {
            is_kubectl(&request.user_agent)
                && self.said(0).is_empty()
                && self.publishers().created_all(&request.user)
        };
        is_for_people(&request.user_agent) && !self.is_claimed_program(&request.user_agent) && !creates_all()
    }

    /// Whose a field manager is; by what all judged objects have in common, too, if that is asked for.
    fn hand_of_field_manager(&self, name: &str, infers: bool) -> Hand {
        match name {
            SUITE => Hand::Run,
            name if self.is_claimed_field_manager(name) => Hand::Producer { is_inferred: false },
            name if is_for_people(name) || !is_program(name) => Hand::Other,
            // Another program may have the same default name.
            name if infers && tells_who(name) => self.known(1, name),
            _ => Hand::Unknown,
        }
    }

    /// Whose the user (0) or the field manager (1) of that name is. A name that nobody claimed may be anyone's.
    fn known(&self, place: usize, name: &str) -> Hand {
        if self.is_claimed(place, name) {
            Hand::Producer { is_inferred: false }
        } else if self.said(place).is_empty() && self.publishers().prove(place, name) {
            Hand::Producer { is_inferred: true }
        } else {
            Hand::Unknown
        }
    }
}

/// The deletions of a log by the namespace and the name that they give.
type Deletions<'e> = HashMap<Key<'e>, Vec<&'e Request>>;

fn deletions<T: Judged>(evidence: &Evidence) -> Deletions<'_> {
    let mut deletions = Deletions::default();
    for request in events::<T>(evidence).filter(|request| request.is_write()) {
        let name = match &*request.verb {
            "delete" if request.subresource.is_empty() => &*request.name,
            "deletecollection" => "",
            _ => continue,
        };
        deletions
            .entry((&*request.namespace, name))
            .or_default()
            .push(request);
    }
    deletions
}

/// The hand of a write that moved the entries of these hands: a producer's if one of them is, or else the one that all are.
fn one(hands: impl Iterator<Item = Hand>) -> Hand {
    let hands: Vec<Hand> = hands.collect();
    let first = hands
        .first()
        .filter(|first| hands.iter().all(|hand| hand == *first));
    let producer = hands.iter().find(|hand| matches!(hand, Hand::Producer { .. }));
    producer.or(first).copied().unwrap_or(Hand::Unknown)
}

/// When the hub served a request, as far as its clock is known.
fn logged_at(evidence: &Evidence, request: &Request) -> Option<Edge> {
    known_skew(evidence)?;
    let at = served_at(evidence, request);
    Some(Edge::between(
        at.saturating_sub(SECOND),
        at.saturating_add(SECOND),
    ))
}

/// Whether a request may be what the watch saw at that time.
pub(crate) fn is_at(evidence: &Evidence, request: &Request, seen: Timestamp) -> bool {
    let seen = seen.as_microsecond();
    (seen.saturating_sub(LATE)..=seen.saturating_add(LATE)).contains(&served_at(evidence, request))
}
