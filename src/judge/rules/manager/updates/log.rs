//! The audit log by object.

use std::collections::BTreeMap;

use evidence::{Evidence, Kind, Request, api::ClusterProfile};

use super::spendable::{Spendable, Writers};
pub(super) use crate::who::logged::Key;
use crate::{
    shared::bucket::{BUDGET, Spent, spent},
    time::{Event, Events, Micros, SECOND, end, skew},
    who::logged::{Creations, Logged, creates, deletes, key_of, logged_key},
};

/// An object from its creation on. One name may have several lives, one after the other, each with its own budget.
///
/// Only a creation proves a new life: a deletion may wait for finalizers, meet nothing or be a dry run.
#[derive(Debug)]
pub(super) struct Life<'a> {
    /// When it was created, or when the log begins.
    pub(super) from: Micros,
    /// When it was last written or deleted, whatever came last, or when the log ends if it was not deleted.
    pub(super) until: Micros,
    /// The writes on it that count.
    pub(super) writes: Events,
    /// The requests of these writes, in the same order.
    pub(super) requests: Vec<&'a Request>,
}

/// The writes of the audit log by object, by the hub's clock.
#[derive(Debug)]
pub(super) struct Log<'a> {
    /// The lives of each name, in order.
    pub(super) lives: BTreeMap<Key<'a>, Vec<Life<'a>>>,
    /// Its length, in seconds.
    pub(super) seconds: i64,
    /// Whether it is complete and covers the time of the watch.
    pub(super) covers_window: bool,
}

impl<'a> Log<'a> {
    /// Groups the counted updates and patches by object; none without a log. Ignores the suite's own.
    pub(super) fn read(evidence: &'a Evidence, counts: impl Fn(&'a Request) -> bool) -> Option<Self> {
        let requests = evidence.requests.as_ref()?;
        let (begins, stop) = (
            requests.covers.from.as_microsecond(),
            requests.covers.until.as_microsecond(),
        );
        let mut lives: BTreeMap<Key<'a>, Vec<Life<'a>>> = BTreeMap::new();
        let life = |from| Life {
            from,
            until: stop,
            writes: Events::default(),
            requests: Vec::new(),
        };
        let mut seen = Creations::of(&evidence.profiles, begins);
        for event in requests.events.iter().filter(|event| event.is_write()) {
            let at = event.at.as_microsecond();
            let key = logged_key(event);
            let (creates, deletes) = (creates(event), deletes(event));
            if &*event.verb == "deletecollection" {
                let of_namespace = |key: &Key<'a>| key.0 == &*event.namespace;
                for (_, lives) in lives.iter_mut().filter(|(key, _)| of_namespace(key)) {
                    end_last(lives, at);
                }
                continue;
            }
            if key.1.is_empty() {
                // The log does not name the created object, so its writes cannot be counted.
                continue;
            }
            for created in seen.until(key, at) {
                begin(lives.entry(key).or_default(), created, life(created));
            }
            if creates {
                begin(lives.entry(key).or_default(), at, life(at));
            } else if deletes {
                lives.entry(key).and_modify(|lives| end_last(lives, at));
            } else if matches!(&*event.verb, "update" | "patch") && !event.is_the_suites() && counts(event) {
                let lives = lives.entry(key).or_default();
                if lives.is_empty() {
                    lives.push(life(begins));
                }
                if let Some(current) = lives.last_mut() {
                    current.writes.push(Event::logged(at));
                    current.requests.push(event);
                    // A deletion before it has not taken place.
                    current.until = stop;
                }
            }
        }
        let covers_window = evidence.is_whole(Kind::Requests)
            && evidence.header.window.is_none_or(|window| {
                begins - skew(evidence) <= window.from.as_microsecond() + SECOND
                    && end(evidence).is_some_and(|end| stop - skew(evidence) >= end - SECOND)
            });
        Some(Self {
            lives,
            seconds: requests.covers.seconds(),
            covers_window,
        })
    }

    /// What the writes spend of the buckets of the profiles of one name: the worst of them.
    pub(super) fn spent(&self, key: Key<'a>) -> Spent {
        let lives = self.lives(key).iter();
        let lives = lives.map(|life| spent(&life.writes, BUDGET));
        lives.fold(Spent::Kept, Spent::or)
    }

    /// The lives of a name; empty if the log has no counted write on it.
    pub(super) fn lives(&self, key: Key<'a>) -> &[Life<'a>] {
        self.lives.get(&key).map_or(&[], Vec::as_slice)
    }
}

/// The status writes of the audit log.
pub(super) struct StatusLog<'a> {
    /// All of them, such as change nothing included.
    pub(super) all: Log<'a>,
    /// Those that are not proven to be somebody else's than the manager's, if there are others.
    own: Option<Log<'a>>,
    /// Those of them that no program sent which people use, if there are others.
    sure: Option<Log<'a>>,
}

impl<'a> StatusLog<'a> {
    /// None without a log.
    pub(super) fn read(evidence: &'a Evidence, who: &Writers<'a>) -> Option<Self> {
        let all = Log::read(evidence, Request::is_status_write)?;
        let without = |is_left_out: &dyn Fn(&Request) -> bool| {
            let mut requests = evidence.requests.iter().flat_map(|requests| &requests.events);
            let has_others = requests.any(|request| request.is_status_write() && is_left_out(request));
            let counts = |request: &Request| request.is_status_write() && !is_left_out(request);
            has_others.then(|| Log::read(evidence, counts)).flatten()
        };
        let is_anothers = |request: &Request| who.is_anothers(request);
        let may_be_anothers = |request: &Request| who.is_anothers(request) || who.may_be_a_persons(request);
        Some(Self {
            all,
            own: without(&is_anothers),
            sure: without(&may_be_anothers),
        })
    }

    /// Those that may be the manager's.
    pub(super) fn own(&self) -> &Log<'a> {
        self.own.as_ref().unwrap_or(&self.all)
    }

    /// Those that may be the manager's, and no person's.
    pub(super) fn sure(&self) -> &Log<'a> {
        self.sure.as_ref().unwrap_or(&self.all)
    }

    /// What they spend of the buckets of the profiles of that name.
    pub(super) fn spent(&self, key: Key<'a>) -> Spendable {
        Spendable::of(
            self.all.spent(key),
            || self.own().spent(key),
            || self.sure().spent(key),
        )
    }
}

/// Ends the current life, unless it is written once more.
fn end_last(lives: &mut [Life<'_>], at: Micros) {
    if let Some(current) = lives.last_mut() {
        current.until = at;
    }
}

/// Ends the current life and begins the next.
fn begin<'a>(lives: &mut Vec<Life<'a>>, at: Micros, next: Life<'a>) {
    if let Some(current) = lives.last_mut() {
        current.until = current.until.min(at);
    }
    lives.push(next);
}

/// The profiles by name.
pub(super) type Names<'a> = Logged<'a, ClusterProfile>;

impl<'a> Names<'a> {
    /// The judged names, each once: observed profiles in order, then names that only the log has.
    pub(super) fn judged(&self, log: &Log<'a>) -> Vec<Key<'a>> {
        let seen = self.first_of_each().map(key_of);
        let unseen = log
            .lives
            .keys()
            .copied()
            .filter(|key| self.histories(*key).is_empty());
        seen.chain(unseen).filter(|key| self.in_scope(*key)).collect()
    }
}
