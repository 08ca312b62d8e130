//! What consumers do with slices, and what they may do.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{ConsumerAccess, Evidence, ObjectRef, Request, api::PlacementDecision};

use super::lives::{Life, counts, lives};
use crate::rules::{
    finding::{Finding, Findings},
    logged::{Key, Logged},
    placement::{Actor, may_publish, sender},
    text::redacted,
};

/// `placement-ownership/consumers-read-only`
///
/// A named consumer writes no slice that another user created.
///
/// A user may be scheduler and consumer at once: who creates slices may write those of its schedulers.
pub(in crate::rules) fn consumers_read_only(evidence: &Evidence, findings: &mut Findings) {
    let consumers = &evidence.header.claim.consumer_users;
    if consumers.is_empty() {
        findings.not_asked("no user was named as a consumer of decisions");
        return;
    }
    let Some(requests) = &evidence.slice_requests else {
        return;
    };
    if !requests.events.iter().any(Request::is_write) {
        findings
            .cannot_tell("the audit log has no write on PlacementDecisions at all, so it may leave them out");
        return;
    }
    let names = Logged::<PlacementDecision>::of(evidence);
    let lives = lives(evidence, requests);
    for user in consumers {
        findings.examine();
        let own = Own::of(user, &lives, &names);
        let mut may_be_scheduler_in = BTreeSet::new();
        for (key, lives) in lives.iter().filter(|(key, _)| names.in_scope(**key)) {
            let foreign = lives.iter().filter(|life| !own.holds(*key, life, &names));
            let (doubtful, sure): (Vec<&Life>, Vec<&Life>) =
                foreign.partition(|life| !own.creates() && may_be_own(life, user));
            let (doubtful, sure) = (writes_by(user, &doubtful), writes_by(user, &sure));
            if !doubtful.is_empty() {
                may_be_scheduler_in.insert(key.0);
            }
            if !sure.is_empty() {
                findings.report(written(names.reference(*key), user, &sure));
            } else if !doubtful.is_empty() {
                findings.report(written(names.reference(*key), user, &doubtful).advisory());
            }
        }
        if own.creates() {
            findings.note(format!(
                "{} also creates slices, so it may write those",
                redacted(user)
            ));
            continue;
        }
        let in_scope = |request: &&Request| evidence.header.scope.holds_namespace(&request.namespace);
        let mut collections: BTreeMap<&str, Vec<&Request>> = BTreeMap::new();
        let events = requests.events.iter().filter(|request| counts(request));
        let events = events.filter(|request| &*request.verb == "deletecollection" && *request.user == **user);
        for request in events.filter(in_scope) {
            collections.entry(&request.namespace).or_default().push(request);
        }
        for (namespace, writes) in collections {
            // A collection may be of its own slices, of another scheduler's, or of none.
            let finding = written(namespace_of(namespace), user, &writes);
            let mut slices = evidence.slices.iter();
            let holds_slices = slices.any(|history| *history.last().metadata.namespace == *namespace);
            let is_sure = holds_slices
                && !may_be_scheduler_in.contains(namespace)
                && evidence.header.scope.scheduler.is_none();
            findings.report(if is_sure { finding } else { finding.advisory() });
        }
    }
}

fn writes_by<'e>(user: &str, lives: &[&Life<'e>]) -> Vec<&'e Request> {
    let writes = lives.iter().flat_map(|life| &life.writes);
    writes.filter(|request| *request.user == *user).copied().collect()
}

/// Whether a slice may be the user's own, as a scheduler that is a consumer too: the log does not have its creation, and no
/// other program writes its decision.
fn may_be_own(life: &Life, user: &str) -> bool {
    let mut programs = life
        .writes
        .iter()
        .filter(|request| sender(request) == Actor::Program);
    life.creator.is_none()
        && programs.all(|request| *request.user == *user)
        && life.writes.iter().any(|request| may_publish(request))
}

/// What a consumer that is a scheduler too may write.
struct Own<'e> {
    user: &'e str,
    /// The schedulers of the slices that it created.
    schedulers: BTreeSet<&'e str>,
}

impl<'e> Own<'e> {
    fn of(
        user: &'e str,
        lives: &BTreeMap<Key<'e>, Vec<Life<'e>>>,
        names: &Logged<'e, PlacementDecision>,
    ) -> Self {
        let creates = |lives: &[Life]| lives.iter().any(|life| life.creator == Some(user));
        let created = lives.iter().filter(|(_, lives)| creates(lives));
        Self {
            user,
            schedulers: created.flat_map(|(key, _)| schedulers(*key, names)).collect(),
        }
    }

    /// Whether a slice is its own. One whose creation the log does not have is, if its scheduler is.
    fn holds(&self, key: Key<'e>, life: &Life<'e>, names: &Logged<'e, PlacementDecision>) -> bool {
        match life.creator {
            Some(creator) => creator == self.user,
            None => schedulers(key, names)
                .iter()
                .any(|scheduler| self.schedulers.contains(scheduler)),
        }
    }

    fn creates(&self) -> bool {
        !self.schedulers.is_empty()
    }
}

/// The schedulers that the slices of a name have told; an empty one for a slice that was not seen.
fn schedulers<'e>(key: Key<'e>, names: &Logged<'e, PlacementDecision>) -> Vec<&'e str> {
    match names.histories(key) {
        [] => vec![""],
        histories => histories
            .iter()
            .map(|history| history.last().scheduler())
            .collect(),
    }
}

fn written(object: ObjectRef, user: &str, writes: &[&Request]) -> Finding {
    let verbs: BTreeSet<&str> = writes.iter().map(|request| &*request.verb).collect();
    let verbs: Vec<&str> = verbs.into_iter().collect();
    Finding::on(object, "a consumer writes a slice")
        .at("metadata.resourceVersion")
        .expected("get, list and watch only")
        .observed(format!(
            "{} writes ({}) by {}, first at {}",
            writes.len(),
            verbs.join(", "),
            redacted(user),
            writes[0].at
        ))
}

fn namespace_of(name: &str) -> ObjectRef {
    ObjectRef {
        kind: "Namespace".to_owned(),
        name: name.to_owned(),
        ..ObjectRef::default()
    }
}

/// `placement-ownership/consumers-cannot-write`
///
/// The hub lets no named consumer write slices, unless the audit log shows that it creates some itself.
pub(in crate::rules) fn consumers_cannot_write(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable("every named consumer also creates slices, as the audit log shows");
    if evidence.consumer_access.is_empty() {
        findings.not_asked("the hub was not asked what consumers may do: no user was named");
        return;
    }
    let names = Logged::<PlacementDecision>::of(evidence);
    let requests = evidence.slice_requests.as_ref();
    let lives = requests.map(|requests| lives(evidence, requests));
    let lives = lives.unwrap_or_default();
    for access in &evidence.consumer_access {
        if Own::of(&access.user, &lives, &names).creates() {
            findings.note(format!(
                "{} is not judged: it also creates slices, so it may write",
                redacted(&access.user)
            ));
            continue;
        }
        findings.examine();
        let allowed = allowed(evidence, access);
        if !allowed.is_empty() {
            let user = ObjectRef {
                kind: "User".to_owned(),
                name: redacted(&access.user),
                ..ObjectRef::default()
            };
            findings.report(
                Finding::on(user, "the hub lets a consumer write slices")
                    .at("placementdecisions")
                    .expected("get, list and watch only")
                    .observed(allowed),
            );
        }
    }
}

/// What a consumer may do beyond reading, by namespace; empty if nothing.
fn allowed(evidence: &Evidence, access: &ConsumerAccess) -> String {
    const SHOWN: usize = 3;
    let mut verbs: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for write in &access.writes {
        if evidence.header.scope.holds_namespace(&write.namespace) {
            verbs.entry(&write.namespace).or_default().push(&write.verb);
        }
    }
    let mut told: Vec<String> = verbs
        .iter()
        .take(SHOWN)
        .map(|(namespace, verbs)| format!("{} in {namespace}", verbs.join(", ")))
        .collect();
    match verbs.len().saturating_sub(SHOWN) {
        0 => {}
        more => told.push(format!("and in {more} more namespaces")),
    }
    told.join("; ")
}
