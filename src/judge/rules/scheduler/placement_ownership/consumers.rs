//! What consumers do with slices, and what they may do.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{ConsumerAccess, Evidence, ObjectRef, Request, api::PlacementDecision};

use super::lives::{Life, counts, lives};
use crate::{
    reasons::{NO_CONSUMER_USER, SCHEDULER_NOT_NAMED},
    shared::{
        rights::{allowed_by_namespace, user_ref},
        writes::writes_in_words,
    },
    subjects::{Finding, Findings},
    text::redacted,
    who::{
        Sender, Who,
        authors::is_by_program,
        logged::{Key, Logged},
    },
};

/// Tells whose doing things are with slices.
type Slices<'e> = Who<'e, PlacementDecision>;

/// `placement-ownership/consumers-read-only`
///
/// A named consumer writes no slice of others.
///
/// A user may be scheduler and consumer at once: who creates slices may write those of its schedulers, and the user may name
/// it as both. Where the log does not have a slice's creation, only the scheduler's named users tell whose it is: a slice is
/// theirs if they write it, or others of its scheduler in its namespace. A copy of a slice names the scheduler of what it
/// copies, so who makes one is not that scheduler. A person with kubectl is not the consumer whose user it borrows.
pub(in crate::rules) fn consumers_read_only(evidence: &Evidence, findings: &mut Findings) {
    let consumers = &evidence.header.claim.consumer_users;
    if consumers.is_empty() {
        findings.not_asked(NO_CONSUMER_USER);
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
    let who = Who::of(evidence);
    let named = Named::of(evidence, &who, &lives, &names);
    let mut is_doubtful = false;
    for user in consumers {
        findings.examine();
        let own = Own::of(user, &who, &lives, &names);
        let is_scheduler = own.is_a_scheduler_beside(&named);
        for (key, lives) in lives.iter().filter(|(key, _)| names.in_scope(**key)) {
            let (mut sure, mut doubtful) = (Vec::new(), Vec::new());
            for life in lives {
                let is_sure = match (own.holds(*key, life, &names, &named), life.creator) {
                    (Some(true), _) => continue,
                    (None, _) => false,
                    (_, Some(_)) if !is_scheduler => true,
                    _ => named.hold(*key, life, &names) || (named.are_any && is_scheduler),
                };
                let writes = if is_sure { &mut sure } else { &mut doubtful };
                writes.extend(writes_by(user, life));
            }
            let (sure, by_people): (Vec<&Request>, Vec<&Request>) =
                sure.into_iter().partition(|write| is_by_program(write));
            doubtful.extend(by_people);
            if !sure.is_empty() {
                findings.report(written(names.reference(*key), user, &sure));
            } else if !doubtful.is_empty() {
                is_doubtful |= !named.are_any;
                findings.report(written(names.reference(*key), user, &doubtful).advisory());
            }
        }
        if is_scheduler {
            findings.note(format!(
                "{} is a scheduler too, so it may write its slices",
                redacted(user)
            ));
            continue;
        }
        let in_scope = |request: &&Request| evidence.header.scope.holds_namespace(&request.namespace);
        let mut collections: BTreeMap<&str, Vec<&Request>> = BTreeMap::new();
        let events = requests.events.iter().filter(|request| counts(request));
        let events =
            events.filter(|request| &*request.verb == "deletecollection" && Sender::of(request).name == user);
        let events = events.filter(|request| !is_of_slices(request, &lives));
        for request in events.filter(in_scope) {
            collections.entry(&request.namespace).or_default().push(request);
        }
        for (namespace, writes) in collections {
            // A collection may be of its own slices, of another scheduler's, or of none.
            let finding = written(namespace_of(namespace), user, &writes);
            let mut slices = evidence.slices.iter();
            let holds_slices = slices.any(|history| *history.last().metadata.namespace == *namespace);
            let is_sure = holds_slices
                && named.are_in(namespace)
                && !own.creates()
                && evidence.header.scope.scheduler.is_none()
                && writes.iter().all(|write| is_by_program(write));
            is_doubtful |= !named.are_any;
            findings.report(if is_sure { finding } else { finding.advisory() });
        }
    }
    if is_doubtful {
        findings.note(SCHEDULER_NOT_NAMED.after("some writes of consumers are a hint only"));
    }
}

/// Whether the watch saw which slices a request on a collection deleted.
fn is_of_slices(collection: &Request, lives: &BTreeMap<Key, Vec<Life>>) -> bool {
    let mut writes = lives.values().flatten().flat_map(|life| &life.writes);
    writes.any(|write| std::ptr::eq(*write, collection))
}

/// The slices of the scheduler whose users were named.
struct Named<'w, 'e> {
    who: &'w Slices<'e>,
    are_any: bool,
    /// The namespaces and schedulers of the slices that they write, or of all judged slices if these have one only.
    places: BTreeSet<(&'e str, &'e str)>,
}

impl<'w, 'e> Named<'w, 'e> {
    fn of(
        evidence: &'e Evidence,
        who: &'w Slices<'e>,
        lives: &BTreeMap<Key<'e>, Vec<Life<'e>>>,
        names: &Logged<'e, PlacementDecision>,
    ) -> Self {
        let are_any = who.are_users_claimed();
        let slices = evidence.slice_histories().map(|history| history.last());
        let judged = slices.filter(|slice| evidence.header.scope.holds_slice(slice));
        let mut places: BTreeSet<(&str, &str)> = judged
            .map(|slice| (&*slice.metadata.namespace, slice.scheduler()))
            .collect();
        if places.len() > 1 || !are_any {
            places.clear();
        }
        let of_named = |lives: &[Life]| lives.iter().any(|life| is_written(who, life));
        for (key, _) in lives.iter().filter(|(_, lives)| of_named(lives)) {
            places.extend(
                schedulers(*key, names)
                    .into_iter()
                    .map(|scheduler| (key.0, scheduler)),
            );
        }
        Self { who, are_any, places }
    }

    /// Whether they are the users of a scheduler.
    fn are_of(&self, scheduler: &str) -> bool {
        self.places.iter().any(|place| place.1 == scheduler)
    }

    /// Whether a slice is theirs: they write it, or others of its scheduler in its namespace. Elsewhere, it may be a copy, and
    /// several schedulers may leave their names out.
    fn hold(&self, key: Key<'e>, life: &Life, names: &Logged<'e, PlacementDecision>) -> bool {
        let mut schedulers = schedulers(key, names)
            .into_iter()
            .filter(|scheduler| !scheduler.is_empty());
        is_written(self.who, life) || schedulers.any(|scheduler| self.places.contains(&(key.0, scheduler)))
    }

    /// Whether they have slices in a namespace.
    fn are_in(&self, namespace: &str) -> bool {
        self.places.iter().any(|place| place.0 == namespace)
    }
}

/// Whether a user wrote in a life that was named as the scheduler's.
fn is_written(who: &Slices, life: &Life) -> bool {
    let mut writes = life.writes.iter();
    writes.any(|write| who.is_claimed_user(Sender::of(write).name))
}

fn writes_by<'l, 'e>(user: &'l str, life: &'l Life<'e>) -> impl Iterator<Item = &'e Request> + use<'l, 'e> {
    let writes = life.writes.iter().copied();
    writes.filter(move |request| Sender::of(request).name == user)
}

/// What a consumer that is a scheduler too may write.
struct Own<'w, 'e> {
    user: &'e str,
    who: &'w Slices<'e>,
    /// Whether the user named it as the scheduler.
    is_scheduler: bool,
    /// The schedulers of the slices that it created.
    schedulers: BTreeSet<&'e str>,
}

impl<'w, 'e> Own<'w, 'e> {
    fn of(
        user: &'e str,
        who: &'w Slices<'e>,
        lives: &BTreeMap<Key<'e>, Vec<Life<'e>>>,
        names: &Logged<'e, PlacementDecision>,
    ) -> Self {
        let creates = |lives: &[Life]| lives.iter().any(|life| life.creator == Some(user));
        let created = lives.iter().filter(|(_, lives)| creates(lives));
        Self {
            user,
            who,
            is_scheduler: who.is_claimed_user(user),
            schedulers: created.flat_map(|(key, _)| schedulers(*key, names)).collect(),
        }
    }

    /// Whether a slice is its own; none if the evidence does not tell. One whose creation the log does not have is, if its
    /// scheduler is: so it is not, if the scheduler's named users write it. What others write as well, or is of a scheduler
    /// whose users were named, may be what it copied.
    fn holds(
        &self,
        key: Key<'e>,
        life: &Life<'e>,
        names: &Logged<'e, PlacementDecision>,
        named: &Named,
    ) -> Option<bool> {
        if let Some(creator) = life.creator {
            return Some(creator == self.user || (self.is_scheduler && self.who.is_claimed_user(creator)));
        } else if self.is_scheduler {
            return Some(true);
        }
        let schedulers = schedulers(key, names);
        let is_made = schedulers
            .iter()
            .any(|scheduler| self.schedulers.contains(scheduler));
        if !is_made || is_written(self.who, life) {
            return Some(false);
        }
        let mut programs = life.writes.iter().filter(|write| is_by_program(write));
        let is_shared = programs.any(|write| Sender::of(write).name != self.user);
        let is_doubtful = is_shared || schedulers.iter().any(|scheduler| named.are_of(scheduler));
        (!is_doubtful).then_some(true)
    }

    /// Whether it created any slice, be it a copy.
    fn creates(&self) -> bool {
        !self.schedulers.is_empty()
    }

    /// Whether it is a scheduler, too, by the user's word or as it creates slices of other schedulers than those whose users
    /// were named.
    fn is_a_scheduler_beside(&self, named: &Named) -> bool {
        self.is_scheduler || self.schedulers.iter().any(|scheduler| !named.are_of(scheduler))
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
    Finding::on(object, "a consumer writes a slice")
        .at("metadata.resourceVersion")
        .expected("get, list and watch only")
        .observed(writes_in_words(user, writes))
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
/// The hub lets no named consumer write slices, unless it is a scheduler too: the audit log shows that it creates some, or
/// the user named it so.
pub(in crate::rules) fn consumers_cannot_write(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable("every named consumer is a scheduler too");
    if evidence.consumer_access.is_empty() {
        findings.not_asked("the hub was not asked what consumers may do: no user was named");
        return;
    }
    let names = Logged::<PlacementDecision>::of(evidence);
    let who = Who::of(evidence);
    let requests = evidence.slice_requests.as_ref();
    let lives = requests.map(|requests| lives(evidence, requests));
    let lives = lives.unwrap_or_default();
    for access in &evidence.consumer_access {
        let own = Own::of(&access.user, &who, &lives, &names);
        if own.is_scheduler || own.creates() {
            findings.note(format!(
                "{} is not judged: it is a scheduler too, so it may write",
                redacted(&access.user)
            ));
            continue;
        }
        findings.examine();
        let allowed = allowed(evidence, access);
        if !allowed.is_empty() {
            findings.report(
                Finding::on(user_ref(&access.user), "the hub lets a consumer write slices")
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
    let scope = &evidence.header.scope;
    let writes = access.writes.iter();
    let in_scope = writes.filter(|write| scope.holds_namespace(&write.namespace));
    let mut told = allowed_by_namespace(in_scope);
    let beyond = told.len().saturating_sub(SHOWN);
    told.truncate(SHOWN);
    match beyond {
        0 => {}
        more => told.push(format!("and in {more} more namespaces")),
    }
    told.join("; ")
}
