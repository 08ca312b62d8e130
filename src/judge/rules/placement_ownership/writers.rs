//! The writers of a slice.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use evidence::{
    Asked, Evidence, Kind, ObjectRef, Request,
    api::{PlacementDecision, Writer},
};
use jiff::Timestamp;

use super::lives::{Life, lives};
use crate::rules::{
    finding::{Finding, Findings},
    logged::{Key, Logged, creates},
    placement::{Actor, is_published, numbered, publishers_of, publishes, sender},
    text::redacted,
    updates::{OUTDATED, written_at},
};

/// `placement-ownership/one-writer`
///
/// One user writes a slice from its creation to its deletion.
///
/// People and the hub's control plane do not count, nor do named consumers: these are the matter of
/// `placement-ownership/consumers-read-only`. Field managers are names that a program chooses, so several of them are
/// only a hint.
pub(in crate::rules) fn one_writer(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable(
        "no slice has a program as its writer in the audit log, or as an owner in managedFields",
    );
    let mut examined: BTreeSet<Key> = BTreeSet::new();
    let mut found: BTreeSet<Key> = BTreeSet::new();
    if let Some(requests) = &evidence.slice_requests {
        let names = Logged::<PlacementDecision>::of(evidence);
        let lives = lives(evidence, requests);
        let consumers = &evidence.header.claim.consumer_users;
        let counts = |request: &&&Request| {
            sender(request) == Actor::Program && !consumers.iter().any(|user| **user == *request.user)
        };
        let activity = Activity::of(
            lives
                .values()
                .flatten()
                .flat_map(|life| life.writes.iter().filter(counts)),
        );
        for (key, lives) in lives.iter().filter(|(key, _)| names.in_scope(**key)) {
            let strangers = lives.iter().filter_map(|life| {
                let writes: Vec<&Request> = life.writes.iter().filter(counts).copied().collect();
                if !writes.is_empty() {
                    examined.insert(*key);
                }
                stranger(life, &writes, &activity)
            });
            // The surest of all lives of the name.
            let Some(stranger) = strangers.max_by_key(|stranger| stranger.is_sure) else {
                continue;
            };
            found.insert(*key);
            findings.report(stranger.finding(names.reference(*key)));
        }
    }
    if *evidence.asked(Kind::Writers) == Asked::Yes {
        for slice in evidence.slices() {
            let owners = owners(slice);
            let key = (&*slice.metadata.namespace, &*slice.metadata.name);
            if !owners.is_empty() {
                examined.insert(key);
            }
            if owners.len() > 1 && !found.contains(&key) {
                findings.report(shared(slice, &owners));
            }
        }
        findings.note("managedFields show only the last writer of each field");
    }
    findings.examined = examined.len();
}

/// What each program does in the whole log.
struct Activity<'e>(BTreeMap<&'e str, Doings>);

#[derive(Default)]
struct Doings {
    writes: usize,
    creations: usize,
    span: Option<(Timestamp, Timestamp)>,
}

impl<'e> Activity<'e> {
    fn of<'r>(writes: impl Iterator<Item = &'r &'e Request>) -> Self
    where
        'e: 'r,
    {
        let mut all: BTreeMap<&str, Doings> = BTreeMap::new();
        for write in writes {
            let doings = all.entry(&write.user).or_default();
            doings.writes += 1;
            doings.creations += usize::from(creates(write));
            let (first, last) = doings.span.unwrap_or((write.at, write.at));
            doings.span = Some((first.min(write.at), last.max(write.at)));
        }
        Self(all)
    }

    /// How much a user looks like a scheduler: it creates slices, writes most, and was there first.
    fn rank(&self, user: &str) -> impl Ord + use<> {
        let doings = self.0.get(user);
        let first = doings
            .and_then(|doings| doings.span)
            .map(|(first, _)| Reverse(first));
        doings.map(|doings| (doings.creations > 0, doings.writes, first))
    }

    /// Whether a user wrote no slice any more when the other began, or the other way round.
    fn is_handover(&self, one: &str, other: &str) -> bool {
        let span = |user: &str| self.0.get(user).and_then(|doings| doings.span);
        span(one)
            .zip(span(other))
            .is_some_and(|(one, other)| one.1 < other.0 || other.1 < one.0)
    }

    /// Whether a user has no service account, and a single write.
    fn may_be_a_person(&self, user: &str) -> bool {
        !user.starts_with("system:") && self.0.get(user).is_none_or(|doings| doings.writes < 2)
    }
}

/// A writer other than the one to which a slice belongs.
struct Stranger<'e> {
    user: &'e str,
    writes: usize,
    first: Timestamp,
    own: &'e str,
    /// Whether it surely is another program than the scheduler.
    is_sure: bool,
}

impl Stranger<'_> {
    fn finding(&self, slice: ObjectRef) -> Finding {
        let finding = Finding::on(slice, "a slice is written by others than its scheduler")
            .at("metadata.resourceVersion")
            .expected(format!("writes by {} alone", redacted(self.own)))
            .observed(format!(
                "{} by {}, first at {}",
                self.writes,
                redacted(self.user),
                self.first
            ));
        if self.is_sure { finding } else { finding.advisory() }
    }
}

/// Returns another writer of a slice than the one to which it belongs: its creator or, if unknown, who looks most like a
/// scheduler.
fn stranger<'e>(life: &Life<'e>, writes: &[&'e Request], activity: &Activity<'e>) -> Option<Stranger<'e>> {
    let mut by_user: BTreeMap<&str, Vec<&Request>> = BTreeMap::new();
    for write in writes {
        by_user.entry(&write.user).or_default().push(write);
    }
    let creator = life.creator.filter(|user| by_user.contains_key(user));
    let scheduler = || by_user.keys().copied().max_by_key(|user| activity.rank(user));
    let own = creator.or_else(scheduler)?;
    let others = by_user.iter().filter(|(user, _)| **user != own);
    let others = others.map(|(user, writes)| Stranger {
        user,
        writes: writes.len(),
        first: writes[0].at,
        own,
        is_sure: is_surely_another(own, user, writes, activity),
    });
    others.max_by_key(|stranger| (stranger.is_sure, stranger.writes))
}

/// Whether a user surely is another program than the scheduler. It may be the scheduler's if both have service accounts
/// in one namespace or names that differ by a number, or if it writes decisions from the moment on at which the other one
/// falls silent. A user without a service account who writes once may be a person.
fn is_surely_another(own: &str, user: &str, writes: &[&Request], activity: &Activity) -> bool {
    let is_of_one_installation = installation(own).is_some() && installation(own) == installation(user);
    let carries = |write: &&Request| {
        let body = write.body.as_ref();
        body.is_none_or(|body| body.parts.iter().any(|part| is_published(part)))
    };
    // Marks beside the decision, as of tools that label what they see, are for `placement-ownership/not-a-conversation`.
    let touches = writes
        .iter()
        .any(|write| carries(write) || write.verb.starts_with("delete"));
    let has_taken_over = activity.is_handover(own, user) && writes.iter().any(carries);
    let may_be_a_person = [own, user].iter().any(|user| activity.may_be_a_person(user));
    touches && !is_of_one_installation && !has_taken_over && !may_be_a_person
}

/// The namespace of a service account, or what the certificates of several replicas have in common: the name without its
/// number, as in `scheduler-0` and `scheduler-1`.
fn installation(user: &str) -> Option<&str> {
    if let Some(account) = user.strip_prefix("system:serviceaccount:") {
        return account.split_once(':').map(|(namespace, _)| namespace);
    }
    numbered(user).map(|(base, _)| base)
}

/// The field managers by which schedulers publish the judged slices.
pub(in crate::rules) fn publishers(evidence: &Evidence) -> BTreeSet<&str> {
    let versions = evidence.slice_histories().flat_map(|history| &history.versions);
    versions
        .flat_map(|version| publishers_of(&version.object))
        .collect()
}

/// The programs that own published parts of a slice, but those that wrote a day before the newest of them.
fn owners(slice: &PlacementDecision) -> Vec<&Writer> {
    let writers = slice.metadata.writers.as_deref().unwrap_or_default();
    let mut owners: Vec<&Writer> = writers.iter().filter(|writer| publishes(writer)).collect();
    let newest = owners.iter().filter_map(|writer| written_at(writer)).max();
    owners.retain(|writer| {
        let times = newest.zip(written_at(writer));
        times.is_none_or(|(newest, own)| newest.duration_since(own) < OUTDATED)
    });
    let mut known = BTreeSet::new();
    owners.retain(|writer| known.insert(&*writer.manager));
    owners
}

fn shared(slice: &PlacementDecision, owners: &[&Writer]) -> Finding {
    let names: Vec<String> = owners.iter().map(|writer| redacted(&writer.manager)).collect();
    Finding::on(
        ObjectRef::from(slice),
        "several field managers own what a scheduler publishes",
    )
    .at("metadata.managedFields")
    .expected("one field manager")
    .observed(names.join(", "))
    .advisory()
}
