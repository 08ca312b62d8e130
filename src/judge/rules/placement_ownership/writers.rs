//! The writers of a slice.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use evidence::{
    Asked, Evidence, Kind, ObjectRef, Request, SliceHistory,
    api::{PlacementDecision, Writer, names},
};
use jiff::Timestamp;

use super::lives::{Life, lives};
use crate::rules::{
    finding::{Finding, Findings},
    logged::{Key, Logged, creates},
    placement::{Actor, is_published, may_publish, publishers_of, publishes, sender},
    text::redacted,
    updates::{OUTDATED, written_at},
    write_time::{LATE, SECOND, missed_slices_between, skew},
};

/// `placement-ownership/one-writer`
///
/// One user writes a slice from its creation to its deletion.
///
/// People and the hub's control plane do not count, nor do named consumers: these are the matter of
/// `placement-ownership/consumers-read-only`. Another program is more than a hint only if it deletes a slice, or writes what a
/// scheduler publishes. Field managers are names that a program chooses, so several of them are only a hint.
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
            let seen = Seen {
                evidence,
                histories: names.histories(*key),
            };
            let strangers = lives.iter().filter_map(|life| {
                let writes: Vec<&Request> = life.writes.iter().filter(counts).copied().collect();
                if !writes.is_empty() {
                    examined.insert(*key);
                }
                stranger(life, &writes, &activity, &seen)
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

    /// Whether a user creates slices and does nothing else, as the restore of a backup does.
    fn only_creates(&self, user: &str) -> bool {
        let doings = self.0.get(user);
        doings.is_some_and(|doings| doings.creations == doings.writes)
    }

    /// Whether a user has no service account, and a single write.
    fn may_be_a_person(&self, user: &str) -> bool {
        !user.starts_with("system:") && self.0.get(user).is_none_or(|doings| doings.writes < 2)
    }
}

/// What the watch saw of the slices of a name.
struct Seen<'e> {
    evidence: &'e Evidence,
    histories: &'e [&'e SliceHistory],
}

impl Seen<'_> {
    /// Whether a write changed what a scheduler publishes, and none of `others` can have done so.
    fn is_change_by(&self, write: &Request, others: &[&Request]) -> bool {
        let skew = skew(self.evidence);
        let since = |request: &Request, seen: Timestamp| {
            let sent = request.at.as_microsecond().saturating_sub(skew);
            seen.as_microsecond().saturating_sub(sent)
        };
        let may_be = |request: &Request, seen: Timestamp| (-SECOND..=LATE).contains(&since(request, seen));
        // At the end of a gap, a version has the changes of all who wrote meanwhile.
        let is_one_write = |seen: Timestamp| missed_slices_between(self.evidence, seen, seen).is_none();
        let mut steps = self.histories.iter().flat_map(|history| history.steps());
        steps.any(|(before, after)| {
            is_one_write(after.at)
                && publish_otherwise(&before.object, &after.object)
                && may_be(write, after.at)
                && !others.iter().any(|other| may_be(other, after.at))
        })
    }
}

/// Whether two versions of a slice differ in what a scheduler publishes.
fn publish_otherwise(before: &PlacementDecision, after: &PlacementDecision) -> bool {
    let labels = |slice: &PlacementDecision| -> Vec<(String, String)> {
        let labels = slice.metadata.labels.iter();
        labels
            .filter(|(key, _)| key.starts_with(names::GROUP))
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect()
    };
    before.decisions != after.decisions
        || before.scheduler_name != after.scheduler_name
        || labels(before) != labels(after)
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
fn stranger<'e>(
    life: &Life<'e>,
    writes: &[&'e Request],
    activity: &Activity<'e>,
    seen: &Seen,
) -> Option<Stranger<'e>> {
    let mut by_user: BTreeMap<&str, Vec<&Request>> = BTreeMap::new();
    for write in writes {
        by_user.entry(&write.user).or_default().push(write);
    }
    let creator = life.creator.filter(|user| by_user.contains_key(user));
    let scheduler = || by_user.keys().copied().max_by_key(|user| activity.rank(user));
    let own = creator.or_else(scheduler)?;
    let own_writes = &by_user[own];
    // A backup may have restored the slice for its scheduler.
    let may_be_restored = creator.is_some_and(|creator| activity.only_creates(creator));
    let others = by_user.iter().filter(|(user, _)| **user != own);
    let others = others.map(|(user, writes)| Stranger {
        user,
        writes: writes.len(),
        first: writes[0].at,
        own,
        is_sure: !may_be_restored
            && touches(writes, |write| seen.is_change_by(write, own_writes))
            && !are_of_one_program(own_writes, writes)
            && is_surely_another(own, user, writes, activity),
    });
    others.max_by_key(|stranger| (stranger.is_sure, stranger.writes))
}

/// Whether one of the writes deletes the slice, or surely is to what a scheduler publishes. The body of an update holds all
/// of the object, and a log may lack bodies: then only a change that the watch saw tells. Marks beside the decision, as of
/// tools that label what they see, are for `placement-ownership/not-a-conversation`.
fn touches(writes: &[&Request], is_change: impl Fn(&Request) -> bool) -> bool {
    writes.iter().any(|write| {
        let body = write.body.as_ref().filter(|_| &*write.verb != "update");
        match body {
            _ if write.verb.starts_with("delete") => true,
            Some(body) => body.parts.iter().any(|part| is_published(part)),
            None => is_change(write),
        }
    })
}

/// User agents that many programs have.
const COMMON: [&str; 8] = [
    "",
    "Go-http-client",
    "Java",
    "kubernetes-client",
    "main",
    "manager",
    "okhttp",
    "python-requests",
];

/// Whether writes of two users came from one program, by its user agent: it may act for the accounts of several tenants.
fn are_of_one_program(own: &[&Request], others: &[&Request]) -> bool {
    let program = |request: &Request| -> String {
        let name = request.user_agent.split(['/', ' ']).next();
        name.unwrap_or_default().to_owned()
    };
    let own: BTreeSet<String> = own.iter().map(|request| program(request)).collect();
    let mut others = others.iter().map(|request| program(request));
    others.all(|name| !COMMON.contains(&&*name) && own.contains(&name))
}

/// Whether a user surely is another program than the scheduler. It may be the scheduler's if both have service accounts
/// in one namespace or names that differ in generated parts, or if it writes decisions from the moment on at which the other
/// one falls silent. A user without a service account who writes once may be a person.
fn is_surely_another(own: &str, user: &str, writes: &[&Request], activity: &Activity) -> bool {
    let has_taken_over = activity.is_handover(own, user) && writes.iter().any(|write| may_publish(write));
    let may_be_a_person = [own, user].iter().any(|user| activity.may_be_a_person(user));
    !are_of_one_installation(own, user) && !has_taken_over && !may_be_a_person
}

/// Whether two users have service accounts in one namespace, or names of several replicas: alike but for generated parts, as
/// in `scheduler-0` and `scheduler-1` or in the names of pods.
fn are_of_one_installation(one: &str, other: &str) -> bool {
    if let (Some(one), Some(other)) = (account_namespace(one), account_namespace(other)) {
        return one == other;
    }
    let (one, other) = (parts(one), parts(other));
    let mut pairs = one.iter().zip(&other);
    one.len() == other.len()
        && pairs.clone().any(|(one, other)| one == other)
        && pairs.all(|(one, other)| one == other || (is_generated(one) && is_generated(other)))
}

/// The namespace of a service account.
fn account_namespace(user: &str) -> Option<&str> {
    let account = user.strip_prefix("system:serviceaccount:")?;
    account.split_once(':').map(|(namespace, _)| namespace)
}

/// The parts of a user's name, each with the character after it.
fn parts(user: &str) -> Vec<&str> {
    user.split_inclusive(|letter: char| !letter.is_ascii_alphanumeric())
        .collect()
}

/// The characters of the names that the hub generates: without vowels, so that they are no words.
const GENERATED: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// Whether a part of a name looks generated: it has a digit, or is as the hub ends the names of pods.
fn is_generated(part: &str) -> bool {
    let part = part.trim_end_matches(|letter: char| !letter.is_ascii_alphanumeric());
    let is_random = part.len() == 5 && part.bytes().all(|letter| GENERATED.contains(&letter));
    is_random || part.bytes().any(|letter| letter.is_ascii_digit())
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
