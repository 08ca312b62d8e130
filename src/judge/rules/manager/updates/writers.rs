//! The writers of a status.

use std::{
    cell::LazyCell,
    collections::{BTreeMap, BTreeSet},
};

use evidence::{Evidence, api::ClusterProfile};
use jiff::Timestamp;

use crate::{
    subjects::{Finding, Findings},
    text::redacted,
    who::{Entry, OUTDATED, entries, is_status},
};

/// `updates/distinct-appliers`
///
/// If several field managers write one status, all of them use server-side apply.
pub(in crate::rules) fn distinct_appliers(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable("no profile has a status with an owner in managedFields");
    let activity = LazyCell::new(|| Activity::of(evidence));
    let mut remnants: BTreeMap<&str, usize> = BTreeMap::new();
    for profile in evidence.inventory() {
        let mut owners: Vec<Entry> = entries(profile).filter(|entry| entry.owns_status()).collect();
        if owners.is_empty() {
            continue;
        }
        findings.examine();
        owners.retain(|owner| owner.is_an_actors());
        // Nearly always there is only one.
        if owners.len() < 2 {
            continue;
        }
        let newest = newest(&owners);
        let (owners, gone): (Vec<Entry>, Vec<Entry>) = owners
            .into_iter()
            .partition(|owner| activity.still_writes(*owner, newest));
        for owner in gone {
            *remnants.entry(owner.by()).or_default() += 1;
        }
        let machines: Vec<Entry> = owners
            .iter()
            .copied()
            .filter(|owner| !owner.is_a_persons())
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
fn newest(owners: &[Entry]) -> Option<Timestamp> {
    let programs = owners.iter().filter(|owner| !owner.is_a_persons());
    programs.filter_map(|owner| owner.written_at()).max()
}

/// When each field manager last wrote the status of any profile.
struct Activity<'a>(BTreeMap<&'a str, Timestamp>);

impl<'a> Activity<'a> {
    fn of(evidence: &'a Evidence) -> Self {
        let mut last: BTreeMap<&str, Timestamp> = BTreeMap::new();
        let entries = evidence.everyone().flat_map(entries);
        for entry in entries.filter(|entry| entry.writes_status()) {
            if let Some(at) = entry.written_at() {
                let last = last.entry(entry.by()).or_insert(at);
                *last = at.max(*last);
            }
        }
        Self(last)
    }

    /// Whether an owner has written any profile since a day before the newest write on its own. An unknown time counts.
    fn still_writes(&self, owner: Entry, newest: Option<Timestamp>) -> bool {
        let last = owner.written_at().and_then(|_| self.0.get(owner.by()));
        newest
            .zip(last)
            .is_none_or(|(newest, last)| newest.duration_since(*last) < OUTDATED)
    }
}

/// With several managers, returns those that update rather than apply, one entry each.
fn updaters<'a>(owners: &[Entry<'a>]) -> Vec<Entry<'a>> {
    // Nearly always there is only one.
    if owners.iter().all(|owner| owner.by() == owners[0].by()) {
        return Vec::new();
    }
    let of = |manager: &str, operation: &str| {
        let mut owners = owners.iter().copied();
        owners.find(|owner| owner.by() == manager && owner.operation() == operation)
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

fn names_of<'a>(owners: &[Entry<'a>]) -> BTreeSet<&'a str> {
    owners.iter().map(|owner| owner.by()).collect()
}

fn not_applied(profile: &ClusterProfile, owners: &[Entry], update: Entry) -> Finding {
    let count = names_of(owners).len();
    Finding::on(
        profile,
        "several field managers write the status, and not all use server-side apply",
    )
    .at(update.owned(is_status).unwrap_or("status"))
    .expected("Apply")
    .observed(format!(
        "{} by {}, one of {count} writers",
        way(update),
        redacted(update.by())
    ))
}

/// Whether a manager has updated since it last applied: an older entry remains from before it switched to apply.
fn is_newer(update: Entry, apply: Entry) -> bool {
    match (update.written_at(), apply.written_at()) {
        (Some(update), Some(apply)) => update > apply,
        _ => false,
    }
}

fn way(entry: Entry) -> String {
    match entry.subresource() {
        "" => entry.operation().to_owned(),
        subresource => format!("{} of /{subresource}", entry.operation()),
    }
}
