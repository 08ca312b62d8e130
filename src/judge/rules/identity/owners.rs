//! The writers of profiles: one manager per name, and none in another's profiles.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use evidence::{
    Asked, Evidence, Kind, ObjectRef, Requests,
    api::{ClusterProfile, Writer, names},
};

use crate::rules::{
    authors::{is_actor, tells_who},
    finding::{Finding, Findings},
    logged::{Logged, is_creation, logged_key},
    text::redacted,
};

/// The part of a profile whose owner counts as its manager.
const MANAGER_PART: &str = "spec.clusterManager";

/// `identity/manager-unique`
///
/// All profiles with one manager name come from one manager.
///
/// Two users in the audit log are proof of two managers, and two field managers are a hint, unless both were named as one
/// manager's.
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
    let observed = Logged::<ClusterProfile>::of(evidence);
    let scope = &evidence.header.scope;
    let named = &evidence.header.claim.cluster_manager;
    // For each manager's name, the first user and the others.
    let mut users: BTreeMap<&str, (&str, BTreeSet<&str>)> = BTreeMap::new();
    for request in requests.events.iter().filter(|request| is_creation(request)) {
        let key @ (_, name) = logged_key(request);
        if evidence.is_touched(&request.namespace, name) {
            continue;
        }
        let told = request.body.as_ref().and_then(|body| body.manager.as_deref());
        let mut managers = observed
            .histories(key)
            .iter()
            .map(|history| history.first().manager());
        // Profiles of one name may have had several managers.
        let only = managers
            .next()
            .filter(|first| managers.all(|manager| manager == *first));
        let Some(manager) = told.or(only).filter(|manager| !manager.is_empty()) else {
            continue;
        };
        if scope
            .cluster_manager
            .as_deref()
            .is_some_and(|judged| judged != manager)
        {
            continue;
        }
        findings.examine();
        let (first, others) = users
            .entry(manager)
            .or_insert_with(|| (&request.user, BTreeSet::new()));
        let are_named = named.has_user(first) && named.has_user(&request.user);
        if *first != &*request.user && !are_named && others.insert(&request.user) {
            proven.insert(manager);
            let object = ObjectRef {
                kind: names::KIND.to_owned(),
                namespace: request.namespace.to_string(),
                name: name.to_owned(),
                ..ObjectRef::default()
            };
            findings.report(
                Finding::on(object, "two users create profiles under one manager name")
                    .at("spec.clusterManager.name")
                    .expected(format!(
                        "{} created by {} alone",
                        redacted(manager),
                        redacted(first)
                    ))
                    .observed(format!("created by {}", redacted(&request.user))),
            );
        }
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
