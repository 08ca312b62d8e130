//! The writers of a slice.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{
    Asked, Evidence, Kind, ObjectRef, Request, SliceHistory,
    api::{PlacementDecision, Writer},
};
use jiff::{SignedDuration, Timestamp};

use super::lives::{Life, lives};
use crate::{
    reasons::SCHEDULER_NOT_NAMED,
    rules::{
        authors::{authors, is_by_program, is_program},
        finding::{Finding, Findings},
        logged::{Judged as _, Key, Logged, creates},
        publisher::{Names, Publishers, publishers_of},
        text::{listed, redacted},
        updates::{OUTDATED, written_at},
        write_time::{LATE, SECOND, missed_slices_between, skew},
    },
};

/// `placement-ownership/one-writer`
///
/// The scheduler alone writes a slice, from its creation to its deletion.
///
/// People with kubectl and the hub's own controllers do not count, nor do named consumers: these are the matter of
/// `placement-ownership/consumers-read-only`. Another program is more than a hint only if the user named the scheduler's
/// users or field managers, and if it deletes slices or writes what a scheduler publishes in turns with them: then it is no
/// successor, and no single edit.
pub(in crate::rules) fn one_writer(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable(
        "no slice has a program as its writer in the audit log, or as an owner in managedFields",
    );
    let publishers = Publishers::of::<PlacementDecision>(evidence);
    let mut examined: BTreeSet<Key> = BTreeSet::new();
    let mut found: BTreeSet<Key> = BTreeSet::new();
    if let Some(requests) = &evidence.slice_requests {
        let names = Logged::<PlacementDecision>::of(evidence);
        let lives = lives(evidence, requests);
        let judged = lives.iter().filter(|(key, _)| names.in_scope(**key));
        let writes = judged.map(|(key, lives)| {
            let [users, _] = publishers.names(names.producer(*key));
            let writes = Writes::of(evidence, lives, users, names.histories(*key));
            (*key, users, writes)
        });
        let writes: Vec<(Key, &Names, Writes)> = writes.filter(|(_, _, writes)| writes.is_any).collect();
        let rivals = rivals(writes.iter().map(|(_, _, writes)| writes));
        for (key, users, writes) in &writes {
            examined.insert(*key);
            if let Some(finding) = writes.finding(users, &rivals, names.reference(*key)) {
                found.insert(*key);
                findings.report(finding);
            }
        }
    }
    if *evidence.asked(Kind::Writers) == Asked::Yes {
        for history in evidence.slice_histories() {
            let slice = history.last();
            let key = (&*slice.metadata.namespace, &*slice.metadata.name);
            let owners = history.current().map_or_else(Vec::new, owners);
            if !owners.is_empty() {
                examined.insert(key);
            }
            let [users, managers] = publishers.names(slice.scheduler());
            // The log shows who wrote. A field manager is a name that a program chooses.
            let is_logged = evidence.slice_requests.is_some() && users.are_said;
            let are_named = managers.are_said && owners.iter().all(|owner| managers.hold(owner));
            let rival = written_in_turns(evidence, history, managers).filter(|_| !is_logged);
            let several = (owners.len() > 1 && !are_named).then(|| shared(slice, &owners));
            let finding = rival.or(several);
            findings
                .list
                .extend(finding.filter(|finding| !finding.advisory || !found.contains(&key)));
        }
        findings.note("managedFields show only the last writer of each field");
    }
    let scheduler = &evidence.header.claim.scheduler;
    let is_partly_named = scheduler.users.is_empty() || scheduler.field_managers.is_empty();
    if is_partly_named && findings.list.iter().any(|finding| finding.advisory) {
        findings.note(format!(
            "other writers of a slice are a hint only: {SCHEDULER_NOT_NAMED}"
        ));
    }
    findings.examined = examined.len();
}

/// The writes of programs on the slices of one name, by the audit log.
#[derive(Default)]
struct Writes<'e> {
    is_any: bool,
    /// When the scheduler's known users wrote.
    own: Vec<Timestamp>,
    /// To whom slices belong that none of these wrote: who wrote first.
    owner: &'e str,
    /// Those of each other user, and whether they take something from the scheduler.
    others: BTreeMap<&'e str, Vec<(Timestamp, bool)>>,
}

impl<'e> Writes<'e> {
    fn of(evidence: &'e Evidence, lives: &[Life<'e>], users: &Names, histories: &[&SliceHistory]) -> Self {
        let consumers = &evidence.header.claim.consumer_users;
        let is_consumer = |user: &str| consumers.iter().any(|consumer| consumer == user);
        let counts = |write: &&&Request| {
            is_by_program(write) && (users.hold(&write.user) || !is_consumer(&write.user))
        };
        let all: Vec<&Request> = lives.iter().flat_map(|life| &life.writes).copied().collect();
        let mut found = Self::default();
        for life in lives {
            let writes: Vec<&Request> = life.writes.iter().filter(counts).copied().collect();
            let Some(first) = writes.first() else { continue };
            let own = writes.iter().find(|write| users.hold(&write.user));
            let owner = &*own.unwrap_or(first).user;
            (found.is_any, found.owner) = (true, owner);
            for write in &writes {
                if users.hold(&write.user) {
                    found.own.push(write.at);
                } else if *write.user != *owner {
                    let is_scheduler_s = users.are_said && own.is_some();
                    let touches = is_scheduler_s && touches(evidence, write, &all, histories);
                    found
                        .others
                        .entry(&write.user)
                        .or_default()
                        .push((write.at, touches));
                }
            }
        }
        found
    }

    /// The finding on the gravest of the other users.
    fn finding(&self, users: &Names, rivals: &BTreeSet<&str>, slice: ObjectRef) -> Option<Finding> {
        let others = self.others.iter().map(|(user, writes)| {
            let is_sure = rivals.contains(user) && writes.iter().any(|(_, touches)| *touches);
            (is_sure, writes, user)
        });
        let (is_sure, writes, user) = others.max_by_key(|(is_sure, writes, _)| (*is_sure, writes.len()))?;
        let own = if users.are_known() {
            listed(users.all())
        } else {
            redacted(self.owner)
        };
        let finding = by_others(slice, &own, user, writes.len(), writes[0].0).at("metadata.resourceVersion");
        Some(if is_sure { finding } else { finding.advisory() })
    }
}

/// The users who take something from the scheduler in turns with it, on whatever slices.
fn rivals<'e, 's>(slices: impl Iterator<Item = &'s Writes<'e>>) -> BTreeSet<&'e str>
where
    'e: 's,
{
    let mut own: Vec<Timestamp> = Vec::new();
    let mut touches: BTreeMap<&str, Vec<Timestamp>> = BTreeMap::new();
    for slice in slices {
        own.extend(&slice.own);
        for (user, writes) in &slice.others {
            let of_user = touches.entry(user).or_default();
            of_user.extend(writes.iter().filter(|(_, touches)| *touches).map(|(at, _)| at));
        }
    }
    let rivals = touches.into_iter().filter(|(_, touches)| in_turns(&own, touches));
    rivals.map(|(user, _)| user).collect()
}

fn by_others(slice: ObjectRef, own: &str, other: &str, count: usize, first: Timestamp) -> Finding {
    Finding::on(slice, "a slice is written by others than its scheduler")
        .expected(format!("writes by {own} alone"))
        .observed(format!("{count} by {}, first at {first}", redacted(other)))
}

/// Whether a write deletes the slice, or surely is to what a scheduler publishes. The body of an update holds all of the
/// object, and a log may lack bodies: then only a change that the watch saw tells. Marks beside the decision, as of tools
/// that label what they see, are for `placement-ownership/not-a-conversation`. A creation takes nothing from anybody.
fn touches(evidence: &Evidence, write: &Request, all: &[&Request], histories: &[&SliceHistory]) -> bool {
    let body = write.body.as_ref().filter(|_| &*write.verb != "update");
    match body {
        _ if creates(write) || write.changed == Some(false) => false,
        _ if write.verb.starts_with("delete") => true,
        Some(body) => body
            .parts
            .iter()
            .any(|part| PlacementDecision::is_published(part)),
        None => is_seen_change(evidence, write, all, histories),
    }
}

/// Longer than the clocks of two API servers differ, so that the order of two writes is sure.
const APART: SignedDuration = SignedDuration::from_secs(10);

/// Whether two write in turns, each of them twice: neither has taken over from the other.
fn in_turns(one: &[Timestamp], other: &[Timestamp]) -> bool {
    let alternate = |turns: [&[Timestamp]; 2]| {
        let mut turns = turns.into_iter().cycle().take(4);
        let last = turns.try_fold(Timestamp::MIN, |after, writes| {
            let at = writes.iter().filter(|at| **at >= after).min()?;
            at.checked_add(APART).ok()
        });
        last.is_some()
    };
    alternate([one, other]) || alternate([other, one])
}

/// Whether the watch saw that a write changed what a scheduler publishes: none of other users can have done so.
fn is_seen_change(
    evidence: &Evidence,
    write: &Request,
    all: &[&Request],
    histories: &[&SliceHistory],
) -> bool {
    let skew = skew(evidence);
    let may_be = |request: &Request, seen: Timestamp| {
        let sent = request.at.as_microsecond().saturating_sub(skew);
        (-SECOND..=LATE).contains(&seen.as_microsecond().saturating_sub(sent))
    };
    let mut steps = histories.iter().flat_map(|history| history.steps());
    steps.any(|(before, after)| {
        let mut others = all.iter().filter(|other| other.user != write.user);
        is_one_write(evidence, after.at)
            && publish_otherwise(&before.object, &after.object)
            && may_be(write, after.at)
            && !others.any(|other| may_be(other, after.at))
    })
}

/// Whether a version that came then has the changes of one write. At the end of a gap, it has those of all who wrote
/// meanwhile.
fn is_one_write(evidence: &Evidence, seen: Timestamp) -> bool {
    missed_slices_between(evidence, seen, seen).is_none()
}

/// Whether two versions of a slice differ in what a scheduler publishes.
fn publish_otherwise(before: &PlacementDecision, after: &PlacementDecision) -> bool {
    let labels = |slice: &PlacementDecision| -> Vec<(String, String)> {
        let labels = slice.metadata.labels.iter();
        labels
            .filter(|(key, _)| PlacementDecision::is_published(&format!("metadata.labels[{key}]")))
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect()
    };
    before.decisions != after.decisions
        || before.scheduler_name != after.scheduler_name
        || labels(before) != labels(after)
}

/// The finding on a field manager that writes what a scheduler publishes in turns with those that were named, as the watch
/// saw.
fn written_in_turns(evidence: &Evidence, history: &SliceHistory, managers: &Names) -> Option<Finding> {
    let mut own: Vec<Timestamp> = Vec::new();
    let mut others: BTreeMap<&str, Vec<Timestamp>> = BTreeMap::new();
    for (before, after) in history.steps().filter(|_| managers.are_said) {
        let authors = authors(&before.object, &after.object);
        if authors.iter().any(|author| managers.hold(author)) {
            own.push(after.at);
        } else if is_one_write(evidence, after.at) && publish_otherwise(&before.object, &after.object) {
            for author in authors.into_iter().filter(|author| is_program(author)) {
                others.entry(author).or_default().push(after.at);
            }
        }
    }
    let (other, writes) = others.into_iter().find(|(_, writes)| in_turns(&own, writes))?;
    let slice = ObjectRef::from(history.last());
    let finding = by_others(slice, &listed(managers.all()), other, writes.len(), writes[0]);
    Some(finding.at("metadata.managedFields"))
}

/// The programs that own published parts of a slice, but those that wrote a day before the newest of them.
fn owners(slice: &PlacementDecision) -> Vec<&str> {
    let publishers = publishers_of(slice);
    let writers = slice.metadata.writers.as_deref().unwrap_or_default();
    let owners = || {
        writers
            .iter()
            .filter(|writer| publishers.contains(&*writer.manager))
    };
    let newest = owners().filter_map(written_at).max();
    let is_current = |writer: &&Writer| {
        let times = newest.zip(written_at(writer));
        times.is_none_or(|(newest, own)| newest.duration_since(own) < OUTDATED)
    };
    let mut known = BTreeSet::new();
    let current = owners().filter(is_current).map(|writer| &*writer.manager);
    current.filter(|manager| known.insert(*manager)).collect()
}

fn shared(slice: &PlacementDecision, owners: &[&str]) -> Finding {
    let names: Vec<String> = owners.iter().map(|owner| redacted(owner)).collect();
    Finding::on(
        ObjectRef::from(slice),
        "several field managers own what a scheduler publishes",
    )
    .at("metadata.managedFields")
    .expected("one field manager")
    .observed(names.join(", "))
    .advisory()
}
