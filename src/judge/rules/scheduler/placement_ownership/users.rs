//! The users that write slices, by the audit log.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{Evidence, Request, Requests, SliceHistory, api::PlacementDecision};
use jiff::Timestamp;

use super::{
    lives::{Life, lives},
    published::{by_others, publish_otherwise},
};
use crate::{
    subjects::{Finding, Findings},
    text::{listed, redacted},
    who::{
        Effect, Hand, Observed, Sender, Succession, Tally, Who, WriteSpan,
        authors::is_by_program,
        in_turns,
        logged::{Key, Logged},
        publisher::{Names, Publishers},
    },
};

/// A write of a program on a slice.
struct Write<'e> {
    request: &'e Request,
    at: Timestamp,
    by: &'e str,
    effect: Effect,
    /// Whether a program that writes for people sent it.
    is_for_people: bool,
}

impl Write<'_> {
    /// Whether it takes something from the scheduler.
    fn takes(&self) -> bool {
        matches!(self.effect, Effect::Changed | Effect::Deleted) && !self.is_for_people
    }

    /// Whether a scheduler may have sent it.
    fn may_be_a_scheduler_s(&self) -> bool {
        !matches!(self.effect, Effect::Kept | Effect::Deleted) && !self.is_for_people
    }
}

/// The writes on one life of a slice.
struct LifeWrites<'e> {
    key: Key<'e>,
    writes: Vec<Write<'e>>,
}

/// The users that write the slices of one scheduler.
pub(super) struct OfScheduler<'a, 'e> {
    /// Those that are known to be the scheduler's.
    users: &'a Names<'e>,
    lives: Vec<LifeWrites<'e>>,
    /// The scheduler's users, and those that took over from them.
    own: BTreeSet<&'e str>,
    /// Each who took over, and from whom.
    successors: Vec<(&'e str, String)>,
    /// Those that may have taken over, and from whom.
    possible: Vec<(&'e str, String)>,
    /// Those that take something from the scheduler in turns with it.
    rivals: BTreeSet<&'e str>,
}

impl<'a, 'e> OfScheduler<'a, 'e> {
    /// Those of each scheduler whose slices are judged.
    pub(super) fn all(
        evidence: &'e Evidence,
        requests: &'e Requests,
        publishers: &'a Publishers<'e>,
        names: &Logged<'e, PlacementDecision>,
    ) -> Vec<Self> {
        let who = Who::of(evidence);
        let mut all: BTreeMap<&str, Vec<LifeWrites>> = BTreeMap::new();
        let lives = lives(evidence, requests);
        for (key, lives) in lives.iter().filter(|(key, _)| names.in_scope(**key)) {
            let scheduler = names.producer(*key);
            let [users, _] = publishers.names(scheduler);
            let of_lives = writes(evidence, &who, lives, users, names.histories(*key));
            let of_lives = of_lives.into_iter().filter(|writes| !writes.is_empty());
            let of_scheduler = all.entry(scheduler).or_default();
            of_scheduler.extend(of_lives.map(|writes| LifeWrites { key: *key, writes }));
        }
        let all = all.into_iter().map(|(scheduler, lives)| {
            let [users, _] = publishers.names(scheduler);
            Self::of(users, lives)
        });
        all.collect()
    }

    fn of(users: &'a Names<'e>, lives: Vec<LifeWrites<'e>>) -> Self {
        let mut all = Self {
            users,
            own: users.all().clone(),
            lives,
            successors: Vec::new(),
            possible: Vec::new(),
            rivals: BTreeSet::new(),
        };
        all.find_successors();
        if users.are_said {
            all.find_rivals();
        }
        all
    }

    /// The writes of all slices that may be a scheduler's, or the scheduler's.
    fn writes(&self) -> impl Iterator<Item = &Write<'e>> + Clone {
        self.lives.iter().flat_map(|life| &life.writes)
    }

    /// Finds who took over from the scheduler's users or, if they are unknown, from who wrote first.
    fn find_successors(&mut self) {
        let span = |user: &str| {
            let writes = self.writes().filter(|write| write.by == user);
            WriteSpan::of(
                writes
                    .filter(|write| write.effect != Effect::Kept)
                    .map(|write| write.at),
            )
        };
        let is_candidate = |user: &&str| {
            let mut writes = self.writes().filter(|write| write.by == *user);
            writes.any(Write::may_be_a_scheduler_s)
        };
        let others: BTreeSet<&'e str> = self.writes().map(|write| write.by).collect();
        let others = others.into_iter().filter(|user| !self.own.contains(user));
        let others = others.filter(is_candidate);
        let mut others: Vec<(&'e str, WriteSpan)> =
            others.filter_map(|user| Some((user, span(user)?))).collect();
        others.sort_by_key(|(_, span)| span.from());
        let own = self.writes().filter(|write| self.own.contains(write.by));
        let own = WriteSpan::of(own.map(|write| write.at)).map(|span| (None, span));
        let mut others = others.into_iter().map(|(user, span)| (Some(user), span));
        // Where the scheduler's users are unknown, who wrote first counts as one.
        let first = match own {
            None if self.own.is_empty() => others.next(),
            own => own,
        };
        let Some(mut last) = first else { return };
        for (user, span) in others {
            let before = last.0.map_or_else(|| listed(&self.own), redacted);
            // Another scheduler writes other slices.
            let Some(taker) = user.filter(|user| self.writes_beside(user, last.0)) else {
                continue;
            };
            match span.succeeds(&last.1) {
                Succession::Sure => {
                    self.own.extend(last.0);
                    self.own.insert(taker);
                    self.successors.push((taker, before));
                }
                Succession::Possible => self.possible.push((taker, before)),
                Succession::None => continue,
            }
            last = (user, span);
        }
    }

    /// Whether a user wrote a slice that the scheduler or another user wrote in the same life.
    fn writes_beside(&self, user: &str, other: Option<&str>) -> bool {
        let has = |life: &LifeWrites, user: &str| life.writes.iter().any(|write| write.by == user);
        let mut lives = self.lives.iter().filter(|life| has(life, user));
        lives.any(|life| self.is_own(life) || other.is_some_and(|other| has(life, other)))
    }

    /// Finds who takes something from the scheduler in turns with it, on whatever slices.
    fn find_rivals(&mut self) {
        let own = self.writes().filter(|write| self.own.contains(write.by));
        let own: Vec<Timestamp> = own.map(|write| write.at).collect();
        let mut takers: BTreeMap<&str, Vec<Timestamp>> = BTreeMap::new();
        for life in self.lives.iter().filter(|life| self.is_own(life)) {
            for write in life.writes.iter().filter(|write| write.takes()) {
                takers.entry(write.by).or_default().push(write.at);
            }
        }
        let takers = takers.into_iter().filter(|(user, _)| !self.own.contains(user));
        let rivals = takers.filter(|(_, writes)| in_turns(&own, writes));
        self.rivals = rivals.map(|(user, _)| user).collect();
    }

    /// Whether the scheduler wrote a slice in that life.
    fn is_own(&self, life: &LifeWrites<'e>) -> bool {
        life.writes.iter().any(|write| self.own.contains(write.by))
    }

    /// The slices that programs write.
    pub(super) fn slices(&self) -> impl Iterator<Item = Key<'e>> {
        self.lives.iter().map(|life| life.key)
    }

    /// Tells the findings who took over, and from whom.
    pub(super) fn tell(&self, findings: &mut Findings) {
        for (user, before) in &self.successors {
            findings.note(format!(
                "{} writes slices in succession to {before}, which writes no more",
                redacted(user)
            ));
        }
        for (user, before) in &self.possible {
            findings.cannot_tell(format!(
                "{} and {before} wrote slices within the time by which the clocks of API servers may differ: it may be a \
                 succession",
                redacted(user)
            ));
        }
        let kept = self.writes().filter(|write| write.effect == Effect::Kept);
        let kept = kept.filter(|write| !self.own.contains(write.by)).count();
        findings.note_count(
            "",
            kept,
            " writes of other programs left what a scheduler publishes as it was",
        );
    }

    /// The finding on the gravest of the other users of each slice.
    pub(super) fn findings(&self, names: &Logged<'e, PlacementDecision>) -> Vec<(Key<'e>, Finding)> {
        let mut all: BTreeMap<Key, BTreeMap<&str, (bool, Vec<&'e Request>)>> = BTreeMap::new();
        let mut owners: BTreeMap<Key, &str> = BTreeMap::new();
        for life in &self.lives {
            let counts = |write: &&Write| write.effect != Effect::Kept;
            let mut writes = life.writes.iter().filter(counts);
            let own = life.writes.iter().find(|write| self.own.contains(write.by));
            let Some(owner) = own.or_else(|| writes.next()).map(|write| write.by) else {
                continue;
            };
            owners.insert(life.key, owner);
            for write in life.writes.iter().filter(counts) {
                let is_possible = self.possible.iter().any(|(user, _)| *user == write.by);
                let is_rival = self.rivals.contains(write.by);
                if write.by == owner || self.own.contains(write.by) || (is_possible && !is_rival) {
                    continue;
                }
                let others = all.entry(life.key).or_default();
                let (is_sure, requests) = others.entry(write.by).or_default();
                *is_sure |= is_rival && own.is_some() && write.takes();
                requests.push(write.request);
            }
        }
        let found = all.into_iter().filter_map(|(key, others)| {
            let gravest = others
                .into_iter()
                .max_by_key(|(_, (is_sure, requests))| (*is_sure, requests.len()));
            let (_, (is_sure, requests)) = gravest?;
            let own = if self.users.are_known() {
                listed(self.users.all())
            } else {
                redacted(owners[&key])
            };
            let finding = by_others(
                names.reference(key),
                &own,
                &Tally::of_requests(requests.iter().copied()),
                requests[0].at,
            );
            let finding = finding.at("metadata.resourceVersion");
            Some((key, if is_sure { finding } else { finding.advisory() }))
        });
        found.collect()
    }
}

/// The writes of programs on each life of a slice. People with kubectl and the hub itself are none, and named consumers have a
/// rule of their own.
fn writes<'e>(
    evidence: &'e Evidence,
    who: &Who<'e, PlacementDecision>,
    lives: &[Life<'e>],
    users: &Names,
    histories: &[&'e SliceHistory],
) -> Vec<Vec<Write<'e>>> {
    let counts =
        |write: &&&Request| is_by_program(write) && (users.hold_sender(write) || !who.is_a_consumers(write));
    let all = lives.iter().flat_map(|life| &life.writes).copied().collect();
    let observed = Observed::of(evidence, all, histories, publish_otherwise);
    let of_life = |life: &Life<'e>| {
        let writes = life.writes.iter().filter(counts);
        let writes = writes.map(|write| Write {
            request: write,
            at: write.at,
            by: Sender::of(write).name,
            effect: if users.hold_sender(write) {
                // What the scheduler writes is its own affair.
                Effect::Unknown
            } else {
                observed.effect(write)
            },
            is_for_people: who.hand_of(write) == Hand::Other,
        });
        writes.collect()
    };
    lives.iter().map(of_life).collect()
}
