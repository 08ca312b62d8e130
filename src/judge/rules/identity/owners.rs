//! The writers of profiles: one manager per name, and none in another's profiles.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use evidence::{
    Asked, Evidence, Kind, ObjectRef, Request, Requests,
    api::{ClusterProfile, Writer, names},
};
use jiff::Timestamp;

use crate::{
    rules::{
        authors::{is_actor, tells_who},
        finding::{Finding, Findings},
        logged::{Logged, is_creation, logged_key},
        text::redacted,
    },
    time::SERVERS_APART,
    who::{Hand, Who},
};

/// The part of a profile whose owner counts as its manager.
const MANAGER_PART: &str = "spec.clusterManager";

/// `identity/manager-unique`
///
/// All profiles with one manager name come from one manager.
///
/// Two users in the audit log that write in turns are proof of two managers, unless both were named as one manager's. If
/// the first one writes no more, the other is its successor: a new replica, or a renamed account. Two field managers are
/// a hint.
pub(in crate::rules) fn manager_unique(evidence: &Evidence, findings: &mut Findings) {
    let mut proven = BTreeSet::new();
    if let Some(requests) = &evidence.requests {
        judge_users(evidence, requests, &mut proven, findings);
    }
    if matches!(evidence.asked(Kind::Writers), Asked::Yes) {
        judge_field_managers(evidence, &proven, findings);
    }
    findings.cannot_tell_unless_examined("neither an audit log nor managedFields show who created a profile");
}

fn judge_users<'a>(
    evidence: &'a Evidence,
    requests: &'a Requests,
    proven: &mut BTreeSet<&'a str>,
    findings: &mut Findings,
) {
    let mut managers: BTreeMap<&str, Vec<Creator>> = BTreeMap::new();
    let creators = creators(evidence, requests, findings);
    for (manager, creator) in creators {
        managers.entry(manager).or_default().push(creator);
    }
    for (manager, mut creators) in managers {
        creators.sort_by_key(|creator| creator.created.at);
        let Some((first, others)) = creators.split_first_mut() else {
            continue;
        };
        for other in others {
            if other.from > first.until {
                findings.note(format!(
                    "{} creates profiles of {} in succession to {}, which writes no more",
                    redacted(&other.created.user),
                    redacted(manager),
                    redacted(&first.created.user)
                ));
                std::mem::swap(first, other);
                continue;
            }
            // Two API servers stamp the log, and their clocks may differ.
            let overlap = first.until.as_microsecond() - other.from.as_microsecond();
            if overlap <= SERVERS_APART {
                findings.cannot_tell(format!(
                    "{} and {} wrote for {} within the time by which the clocks of API servers may differ: it may be a \
                     succession",
                    redacted(&first.created.user),
                    redacted(&other.created.user),
                    redacted(manager)
                ));
                std::mem::swap(first, other);
                continue;
            }
            proven.insert(manager);
            findings.report(
                Finding::on(
                    reference(other.created),
                    "two users create profiles under one manager name",
                )
                .at("spec.clusterManager.name")
                .expected(format!(
                    "{} created by {} alone",
                    redacted(manager),
                    redacted(&first.created.user)
                ))
                .observed(format!("created by {}", redacted(&other.created.user))),
            );
            first.until = first.until.max(other.until);
        }
    }
}

/// The users of one manager name, as one: a user, or all that were named.
struct Creator<'a> {
    /// The first creation.
    created: &'a Request,
    /// The first write on profiles of that name.
    from: Timestamp,
    /// The last one.
    until: Timestamp,
}

/// Who created profiles under each manager name. People and tools that write for them are left out: a backup restores
/// profiles with all that their manager wrote.
fn creators<'a>(
    evidence: &'a Evidence,
    requests: &'a Requests,
    findings: &mut Findings,
) -> Vec<(&'a str, Creator<'a>)> {
    let observed = Logged::<ClusterProfile>::of(evidence);
    let who = Who::<ClusterProfile>::of(evidence);
    let named = &evidence.header.claim.cluster_manager;
    let scope = &evidence.header.scope;
    let mut creators: BTreeMap<(&str, Option<&str>), Creator> = BTreeMap::new();
    let mut spans: BTreeMap<(&str, Option<&str>), (Timestamp, Timestamp)> = BTreeMap::new();
    for request in &requests.events {
        let is_own = matches!(who.hand_of(request), Hand::Run | Hand::Other);
        if is_own || !request.is_write() || &*request.verb == "deletecollection" {
            continue;
        }
        let key @ (namespace, name) = logged_key(request);
        if evidence.is_touched(namespace, name) {
            continue;
        }
        let Some(manager) = manager_of(&observed, key, request) else {
            continue;
        };
        if scope
            .cluster_manager
            .as_deref()
            .is_some_and(|judged| judged != manager)
        {
            continue;
        }
        // Users that were named are one manager's.
        let user = Some(&*request.user).filter(|user| !named.has_user(user));
        let span = spans.entry((manager, user)).or_insert((request.at, request.at));
        *span = (span.0.min(request.at), span.1.max(request.at));
        if is_creation(request) {
            findings.examine();
            creators.entry((manager, user)).or_insert(Creator {
                created: request,
                from: request.at,
                until: request.at,
            });
        }
    }
    let with_span = |(key, creator): ((&'a str, _), Creator<'a>)| {
        let (from, until) = spans.get(&key).copied().unwrap_or((creator.from, creator.until));
        (
            key.0,
            Creator {
                from,
                until,
                ..creator
            },
        )
    };
    creators.into_iter().map(with_span).collect()
}

/// The manager that a request's body names, or that all profiles of its name have.
fn manager_of<'a>(
    observed: &Logged<'a, ClusterProfile>,
    key: (&'a str, &'a str),
    request: &'a Request,
) -> Option<&'a str> {
    let told = request.body.as_ref().and_then(|body| body.manager.as_deref());
    let histories = observed.histories(key).iter();
    let mut managers = histories.map(|history| history.first().manager());
    // Profiles of one name may have had several managers.
    let only = managers
        .next()
        .filter(|first| managers.all(|manager| manager == *first));
    told.or(only).filter(|manager| !manager.is_empty())
}

fn reference(request: &Request) -> ObjectRef {
    let (namespace, name) = logged_key(request);
    ObjectRef {
        kind: names::KIND.to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        ..ObjectRef::default()
    }
}

fn judge_field_managers(evidence: &Evidence, proven: &BTreeSet<&str>, findings: &mut Findings) {
    // For each manager's name, the field manager that owns most of its profiles, so that the exceptions are reported.
    let mut counts: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
    for profile in evidence.everyone() {
        for owner in owners_of_manager(profile) {
            *counts
                .entry(profile.manager())
                .or_default()
                .entry(owner)
                .or_default() += 1;
        }
    }
    let main: BTreeMap<&str, &str> = counts
        .iter()
        .filter_map(|(manager, owners)| {
            // On a tie, the first in alphabetical order.
            let (owner, _) = owners.iter().rev().max_by_key(|(_, count)| **count)?;
            Some((*manager, *owner))
        })
        .collect();
    let named = &evidence.header.claim.cluster_manager;
    let mut told = BTreeSet::new();
    for profile in evidence.inventory() {
        let manager = profile.manager();
        let mut owners = owners_of_manager(profile).peekable();
        if manager.is_empty() || owners.peek().is_none() {
            continue;
        }
        findings.examine();
        let Some(main) = main.get(manager) else { continue };
        for owner in owners {
            let are_named = named.has_field_manager(owner) && named.has_field_manager(main);
            if owner != *main && !are_named && !proven.contains(manager) && told.insert((manager, owner)) {
                findings.report(
                    Finding::on(
                        profile,
                        "two field managers set the same manager name, and may be two managers",
                    )
                    .at(MANAGER_PART)
                    .expected(format!("set by {} alone", redacted(main)))
                    .observed(format!("set by {}", redacted(owner)))
                    .advisory(),
                );
            }
        }
    }
}

fn owners_of_manager(profile: &ClusterProfile) -> impl Iterator<Item = &str> {
    writers(profile)
        .filter(|writer| !writer.manager.is_empty() && is_actor(&writer.manager))
        .filter(|writer| writer.owns.iter().any(|part| &**part == MANAGER_PART))
        .map(|writer| program(&writer.manager))
}

/// The program of a field manager: kubectl uses one for each of its subcommands.
fn program(field_manager: &str) -> &str {
    if field_manager.starts_with("kubectl-") {
        "kubectl"
    } else {
        field_manager
    }
}

fn writers(profile: &ClusterProfile) -> impl Iterator<Item = &Writer> {
    profile.metadata.writers.iter().flat_map(|writers| writers.iter())
}

/// `identity/one-manager-per-profile`
///
/// A field manager that serves one cluster manager does not write profiles of another.
///
/// A field manager serves a cluster manager if, in some profile, it alone set that manager's name.
pub(in crate::rules) fn one_manager_per_profile(evidence: &Evidence, findings: &mut Findings) {
    let mut serves: HashMap<&str, BTreeSet<&str>> = HashMap::new();
    let mut last = ("", "");
    for profile in evidence.everyone() {
        let mut owners = owners_of_manager(profile);
        let (Some(owner), None) = (owners.next(), owners.next()) else {
            continue;
        };
        // Consecutive profiles mostly have the same manager.
        if last != (owner, profile.manager()) && tells_who(owner) && !profile.manager().is_empty() {
            last = (owner, profile.manager());
            serves.entry(owner).or_default().insert(profile.manager());
        }
    }
    for profile in evidence.inventory() {
        if profile.metadata.writers.is_none() {
            continue;
        }
        findings.examine();
        let mut told = BTreeSet::new();
        for writer in writers(profile) {
            let Some(served) = serves.get(&*writer.manager) else {
                continue;
            };
            if served.contains(profile.manager()) {
                continue;
            }
            let Some(part) = writer.owns.iter().find(|part| is_managers_part(part)) else {
                continue;
            };
            if told.insert(&*writer.manager) {
                let others: Vec<&str> = served.iter().copied().collect();
                findings.report(
                    Finding::on(
                        profile,
                        "profile is written by the field manager of another manager",
                    )
                    .at(&**part)
                    .expected(format!("written for {} only", redacted(profile.manager())))
                    .observed(format!(
                        "written by {}, which serves {}",
                        redacted(&writer.manager),
                        redacted(&others.join(", "))
                    )),
                );
            }
        }
    }
}

fn is_managers_part(part: &str) -> bool {
    ["spec", "metadata.labels", "status"].iter().any(|whole| {
        part.strip_prefix(whole)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    })
}
