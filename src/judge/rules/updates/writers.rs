//! The writers of a status.

use std::{
    cell::LazyCell,
    collections::{BTreeMap, BTreeSet},
};

use evidence::{
    Evidence,
    api::{ClusterProfile, Writer},
    parse_time,
};
use jiff::{SignedDuration, Timestamp};

use crate::rules::{
    authors::{is_actor, is_kubectl},
    finding::{Finding, Findings},
    text::redacted,
    write_time::{is_status, owns_status, writes_status},
};

/// Age from which on the entry of a writer that wrote nothing since is a remnant, compared with the newest write.
pub(in crate::rules) const OUTDATED: SignedDuration = SignedDuration::from_hours(24);

/// `updates/distinct-appliers`
///
/// If several field managers write one status, all of them use server-side apply.
pub(in crate::rules) fn distinct_appliers(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable("no profile has a status with an owner in managedFields");
    let activity = LazyCell::new(|| Activity::of(evidence));
    let mut remnants: BTreeMap<&str, usize> = BTreeMap::new();
    for profile in evidence.inventory() {
        let writers = profile.metadata.writers.as_deref().unwrap_or_default();
        let mut owners: Vec<&Writer> = writers.iter().filter(|writer| owns_status(writer)).collect();
        if owners.is_empty() {
            continue;
        }
        findings.examine();
        owners.retain(|owner| is_actor(&owner.manager));
        // Nearly always there is only one.
        if owners.len() < 2 {
            continue;
        }
        let newest = newest(&owners);
        let (owners, gone): (Vec<&Writer>, Vec<&Writer>) = owners
            .into_iter()
            .partition(|owner| activity.still_writes(owner, newest));
        for owner in gone {
            *remnants.entry(&owner.manager).or_default() += 1;
        }
        let machines: Vec<&Writer> = owners
            .iter()
            .copied()
            .filter(|owner| !is_kubectl(&owner.manager))
            .collect();
        for update in updaters(&machines) {
            findings.report(not_applied(profile, &owners, update));
        }
        if updaters(&machines).is_empty() && !machines.is_empty() {
            // A person's edit is not held against the manager, and nobody is reported if all writers are people.
            for update in updaters(&owners) {
                findings.report(not_applied(profile, &owners, update).advisory());
            }
        }
    }
    for (manager, profiles) in remnants {
        findings.note_count(
            format!(
                "{} no longer writes, and still owns parts of the status of ",
                redacted(manager)
            ),
            profiles,
            " profiles in managedFields",
        );
    }
}

/// When the newest of the writers that are no people wrote.
fn newest(owners: &[&Writer]) -> Option<Timestamp> {
    let programs = owners.iter().filter(|owner| !is_kubectl(&owner.manager));
    programs.filter_map(|owner| written_at(owner)).max()
}

/// When each field manager last wrote the status of any profile.
struct Activity<'a>(BTreeMap<&'a str, Timestamp>);

impl<'a> Activity<'a> {
    fn of(evidence: &'a Evidence) -> Self {
        let profiles = evidence.everyone();
        Self::in_all(profiles.flat_map(|profile| profile.metadata.writers.as_deref().unwrap_or_default()))
    }

    fn in_all(writers: impl Iterator<Item = &'a Writer>) -> Self {
        let mut last: BTreeMap<&str, Timestamp> = BTreeMap::new();
        for writer in writers.filter(|writer| writes_status(writer)) {
            if let Some(at) = written_at(writer) {
                let last = last.entry(&writer.manager).or_insert(at);
                *last = at.max(*last);
            }
        }
        Self(last)
    }

    /// Whether an owner has written any profile since a day before the newest write on its own. An unknown time counts.
    fn still_writes(&self, owner: &Writer, newest: Option<Timestamp>) -> bool {
        let last = written_at(owner).and_then(|_| self.0.get(&*owner.manager));
        newest
            .zip(last)
            .is_none_or(|(newest, last)| newest.duration_since(*last) < OUTDATED)
    }
}

/// When an entry last changed, by the hub's clock.
pub(in crate::rules) fn written_at(writer: &Writer) -> Option<Timestamp> {
    writer.time.as_deref().and_then(parse_time)
}

/// With several managers, returns those that update rather than apply, one entry each.
fn updaters<'a>(owners: &[&'a Writer]) -> Vec<&'a Writer> {
    // Nearly always there is only one.
    if owners.iter().all(|owner| owner.manager == owners[0].manager) {
        return Vec::new();
    }
    let of = |manager: &str, operation: &str| {
        let mut owners = owners.iter().copied();
        owners.find(|owner| &*owner.manager == manager && &*owner.operation == operation)
    };
    names_of(owners)
        .into_iter()
        .filter_map(|manager| {
            let update = of(manager, "Update")?;
            let applies_by_now = of(manager, "Apply").is_some_and(|apply| !is_newer(update, apply));
            (!applies_by_now).then_some(update)
        })
        .collect()
}

fn names_of<'a>(owners: &[&'a Writer]) -> BTreeSet<&'a str> {
    owners.iter().map(|owner| &*owner.manager).collect()
}

fn not_applied(profile: &ClusterProfile, owners: &[&Writer], update: &Writer) -> Finding {
    let part = update.owns.iter().find(|part| is_status(part));
    let count = names_of(owners).len();
    Finding::on(
        profile,
        "several field managers write the status, and not all use server-side apply",
    )
    .at(part.map_or("status", |part| part))
    .expected("Apply")
    .observed(format!(
        "{} by {}, one of {count} writers",
        way(update),
        redacted(&update.manager)
    ))
}

/// Whether a manager has updated since it last applied: an older entry remains from before it switched to apply.
fn is_newer(update: &Writer, apply: &Writer) -> bool {
    match (written_at(update), written_at(apply)) {
        (Some(update), Some(apply)) => update > apply,
        _ => false,
    }
}

fn way(writer: &Writer) -> String {
    match &*writer.subresource {
        "" => writer.operation.to_string(),
        subresource => format!("{} of /{subresource}", writer.operation),
    }
}
