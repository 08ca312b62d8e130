//! The writers of profiles: one manager per name, and none in another's profiles.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use evidence::{Asked, Evidence, Kind, ObjectRef, api::ClusterProfile};

use crate::{
    subjects::{Finding, Findings},
    text::redacted,
    who::{
        Succession, Touched, Who,
        authors::{program_of, tells_who},
        entries, in_turns,
        logged::{Logged, logged_key},
        shows_entries,
    },
};

/// The part of a profile whose owner counts as its manager.
const MANAGER_PART: &str = "spec.clusterManager";

/// `identity/manager-unique`
///
/// All profiles with one manager name come from one manager.
///
/// Two users in the audit log that write in turns are proof of two managers, unless both were named as one manager's. If
/// the first one writes no more, the other is its successor: a new replica, or a renamed account. The rest are hints: a
/// user that comes back once may be a replica that leads again, two service accounts of one namespace may be controllers of
/// one installation, and two field managers may be two versions.
pub(in crate::rules) fn manager_unique(evidence: &Evidence, findings: &mut Findings) {
    let mut proven = BTreeSet::new();
    let who = Who::of(evidence);
    if evidence.requests.is_some() {
        judge_users(evidence, &who, &mut proven, findings);
    }
    if matches!(evidence.asked(Kind::Writers), Asked::Yes) {
        judge_field_managers(evidence, &who, &proven, findings);
    }
    findings.cannot_tell_unless_examined("neither an audit log nor managedFields show who created a profile");
}

fn judge_users<'a>(
    evidence: &'a Evidence,
    who: &Who<'a, ClusterProfile>,
    proven: &mut BTreeSet<&'a str>,
    findings: &mut Findings,
) {
    let observed = Logged::<ClusterProfile>::of(evidence);
    let scope = &evidence.header.scope;
    let touched = Touched::of(evidence);
    let creators = who.creators(|request| {
        let manager = observed.producer_of(request)?;
        let judged = scope.cluster_manager.as_deref();
        let is_judged = judged.is_none_or(|judged| judged == manager)
            && scope.holds_namespace(&request.namespace)
            && !touched.holds(request);
        is_judged.then_some(manager)
    });
    for (manager, mut creators) in creators {
        let creations = creators.iter().map(|creator| creator.count).sum();
        (0..creations).for_each(|_: usize| findings.examine());
        let Some((first, others)) = creators.split_first_mut() else {
            continue;
        };
        for other in others {
            match other.succeeds(first) {
                Succession::Sure => {
                    findings.note(format!(
                        "{} creates profiles of {} in succession to {}, which writes no more",
                        redacted(other.by),
                        redacted(manager),
                        redacted(first.by)
                    ));
                    std::mem::swap(first, other);
                    continue;
                }
                Succession::Possible => {
                    findings.cannot_tell(format!(
                        "{} wrote for {} until {} did, or for a few seconds longer, and the clocks of API servers may \
                         differ: it may be a succession",
                        redacted(first.by),
                        redacted(manager),
                        redacted(other.by)
                    ));
                    std::mem::swap(first, other);
                    continue;
                }
                Succession::None => {}
            }
            let is_proof =
                in_turns(&first.writes, &other.writes) && !are_of_one_installation(first.by, other.by);
            proven.insert(manager);
            let finding = two_users(
                observed.reference(logged_key(other.created)),
                manager,
                [first.by, other.by],
            );
            findings.report(if is_proof { finding } else { finding.advisory() });
            first.writes.append(&mut other.writes);
        }
    }
}

fn two_users(profile: ObjectRef, manager: &str, [first, other]: [&str; 2]) -> Finding {
    Finding::on(profile, "two users create profiles under one manager name")
        .at("spec.clusterManager.name")
        .expected(format!(
            "{} created by {} alone",
            redacted(manager),
            redacted(first)
        ))
        .observed(format!("created by {}", redacted(other)))
}

/// Whether two users are service accounts of one namespace.
fn are_of_one_installation(one: &str, other: &str) -> bool {
    let namespace = |user: &str| {
        let account = user.strip_prefix("system:serviceaccount:")?;
        account.split_once(':').map(|(namespace, _)| namespace.to_owned())
    };
    namespace(one).is_some_and(|one| Some(one) == namespace(other))
}

fn judge_field_managers(
    evidence: &Evidence,
    who: &Who<ClusterProfile>,
    proven: &BTreeSet<&str>,
    findings: &mut Findings,
) {
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
            let are_named = [owner, main]
                .into_iter()
                .all(|name| who.is_claimed_field_manager(name));
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
    let owners = entries(profile).filter(|entry| !entry.by().is_empty() && entry.is_an_actors());
    let owners = owners.filter(|entry| entry.owned(|part| part == MANAGER_PART).is_some());
    owners.map(|entry| program_of(entry.by()))
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
        if !shows_entries(profile) {
            continue;
        }
        findings.examine();
        let mut told = BTreeSet::new();
        for entry in entries(profile) {
            let Some(served) = serves.get(entry.by()) else {
                continue;
            };
            if served.contains(profile.manager()) {
                continue;
            }
            let Some(part) = entry.owned(is_managers_part) else {
                continue;
            };
            if told.insert(entry.by()) {
                let others: Vec<&str> = served.iter().copied().collect();
                findings.report(
                    Finding::on(
                        profile,
                        "profile is written by the field manager of another manager",
                    )
                    .at(part)
                    .expected(format!("written for {} only", redacted(profile.manager())))
                    .observed(format!(
                        "written by {}, which serves {}",
                        redacted(entry.by()),
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
