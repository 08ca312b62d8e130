//! The writers of a profile, and the endpoint they use.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{
    Asked, Evidence, Kind, Request,
    api::{ClusterProfile, Writer},
    parse_time,
};

use super::log::{Key, Names};
use crate::rules::{
    finding::{Finding, Findings},
    text::redacted,
    write_time::{is_status, owns_status, writes_status},
};

/// `updates/status-by-subresource`
///
/// Status is written through `/status`, and spec and labels are not.
pub(in crate::rules) fn status_by_subresource(evidence: &Evidence, findings: &mut Findings) {
    if lacks_subresource(evidence) {
        findings
            .not_applicable("the hub's CRD has no status subresource: there is no other way to write status");
        return;
    }
    findings.not_applicable("no profile has a status with an owner in managedFields");
    judge_requests(evidence, findings);
    let writers_seen = *evidence.asked(Kind::Writers) == Asked::Yes;
    if writers_seen {
        for profile in evidence.inventory() {
            judge_owners(profile, findings);
        }
        findings.note("managedFields show only the last writer of each field");
    } else if findings.examined == 0 {
        findings.cannot_tell("neither managedFields nor request bodies in the audit log were available");
    }
}

/// Whether the version that was read has no status subresource.
fn lacks_subresource(evidence: &Evidence) -> bool {
    let hub = &evidence.header.hub;
    let read = hub.api_version.as_deref().unwrap_or_default();
    let read = read.rsplit('/').next().unwrap_or_default();
    match hub.served.iter().find(|served| served.name == read) {
        Some(served) => !served.status_subresource,
        None => !hub.served.is_empty() && hub.served.iter().all(|served| !served.status_subresource),
    }
}

/// Judges patches with bodies: they carry only what their sender means to write. An update carries the whole object,
/// and so may an apply (recognized by the name in it).
fn judge_requests(evidence: &Evidence, findings: &mut Findings) {
    let Some(requests) = &evidence.requests else {
        return;
    };
    let names = Names::of(evidence);
    let mut astray: BTreeMap<(Key, &str), (&Request, &str, usize)> = BTreeMap::new();
    let mut bodiless = 0;
    for request in &requests.events {
        let key = (&*request.namespace, &*request.name);
        let counts = request.is_write() && &*request.verb == "patch" && !request.is_the_suites();
        if !counts || key.1.is_empty() || !names.in_scope(key) {
            continue;
        }
        let Some(body) = &request.body else {
            bodiless += 1;
            continue;
        };
        findings.examine();
        if body.parts.iter().any(|part| part == "metadata.name") {
            continue;
        }
        let stray = body.parts.iter().find(|part| match &*request.subresource {
            "" => is_status(part),
            "status" => is_desired(part),
            _ => false,
        });
        if let Some(part) = stray {
            let entry = astray
                .entry((key, &request.subresource))
                .or_insert((request, part, 0));
            entry.2 += 1;
        }
    }
    for ((key, subresource), (request, part, count)) in astray {
        let (message, expected) = match subresource {
            "" => ("status is patched on the object itself", "patches of /status"),
            _ => (
                "spec or labels are patched through /status",
                "patches of the object itself",
            ),
        };
        findings.report(
            Finding::on(names.reference(key), message)
                .at(part)
                .expected(expected)
                .observed(format!(
                    "{count} by {}, first at {}",
                    redacted(&request.user),
                    request.at
                )),
        );
    }
    if bodiless > 0 {
        findings.note(format!(
            "{bodiless} patches are not judged: the audit log lacks their bodies; log them at level Request"
        ));
    }
}

/// Judges what each operation owns, from managedFields.
fn judge_owners(profile: &ClusterProfile, findings: &mut Findings) {
    let writers = profile.metadata.writers.as_deref().unwrap_or_default();
    if !writers.iter().any(writes_status) {
        return;
    }
    findings.examine();
    for writer in writers {
        let stray = match &*writer.subresource {
            "" => writer.owns.iter().find(|part| is_status(part)),
            "status" => writer.owns.iter().find(|part| is_desired(part)),
            _ => None,
        };
        let Some(part) = stray else { continue };
        let (message, expected) = match &*writer.subresource {
            "" => (
                "status is written on the object itself",
                "written through /status",
            ),
            _ => (
                "spec or labels are written through /status",
                "written on the object itself",
            ),
        };
        findings.report(
            Finding::on(profile, message)
                .at(&**part)
                .expected(expected)
                .observed(format!(
                    "owned by {} ({})",
                    redacted(&writer.manager),
                    way(writer)
                )),
        );
    }
}

/// Whether a part is desired state, set by a manager, rather than observed.
fn is_desired(part: &str) -> bool {
    part == "spec" || part.starts_with("spec.") || part.starts_with("metadata.labels")
}

fn way(writer: &Writer) -> String {
    match &*writer.subresource {
        "" => writer.operation.to_string(),
        subresource => format!("{} of /{subresource}", writer.operation),
    }
}

/// `updates/distinct-appliers`
///
/// If several field managers write one status, all of them use server-side apply.
pub(in crate::rules) fn distinct_appliers(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable("no profile has a status with an owner in managedFields");
    for profile in evidence.inventory() {
        let writers = profile.metadata.writers.as_deref().unwrap_or_default();
        let owners: Vec<&Writer> = writers.iter().filter(|writer| owns_status(writer)).collect();
        if owners.is_empty() {
            continue;
        }
        findings.examine();
        let machines: Vec<&Writer> = owners
            .iter()
            .copied()
            .filter(|owner| !is_by_hand(owner))
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

/// Whether it is a person's tool.
fn is_by_hand(writer: &Writer) -> bool {
    &*writer.manager == "kubectl" || writer.manager.starts_with("kubectl-")
}

/// Whether a manager has updated since it last applied: an older entry remains from before it switched to apply.
fn is_newer(update: &Writer, apply: &Writer) -> bool {
    let time = |writer: &Writer| writer.time.as_deref().and_then(parse_time);
    match (time(update), time(apply)) {
        (Some(update), Some(apply)) => update > apply,
        _ => false,
    }
}
