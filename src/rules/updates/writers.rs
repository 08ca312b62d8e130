//! Who writes a profile, and through which door.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    api::{ClusterProfile, Writer},
    evidence::{Asked, Evidence, Kind, Request, parse_time},
    rules::{
        Finding, Findings,
        moment::{is_status, owns_status, writes_status},
    },
};

use super::log::{Key, Names};

/// `updates/status-by-subresource`
pub(in crate::rules) fn status_by_subresource(evidence: &Evidence, findings: &mut Findings) {
    if lacks_subresource(evidence) {
        findings
            .not_applicable("the hub's CRD has no status subresource: there is no other way to write status");
        return;
    }
    findings.not_applicable("no profile has a status that anybody owns");
    judge_requests(evidence, findings);
    let writers_seen = *evidence.asked(Kind::Writers) == Asked::Yes;
    if writers_seen {
        for profile in evidence.inventory() {
            judge_owners(profile, findings);
        }
        findings
            .note("managedFields tell by which way the parts of a profile were last written, not each write");
    } else if findings.examined == 0 {
        findings.cannot_tell("neither managedFields nor request bodies in the audit log were there to tell");
    }
}

/// Whether the version that was read is served without a status subresource.
fn lacks_subresource(evidence: &Evidence) -> bool {
    let hub = &evidence.header.hub;
    let read = hub.api_version.as_deref().unwrap_or_default();
    let read = read.rsplit('/').next().unwrap_or_default();
    match hub.served.iter().find(|served| served.name == read) {
        Some(served) => !served.status_subresource,
        None => !hub.served.is_empty() && hub.served.iter().all(|served| !served.status_subresource),
    }
}

/// Patches with bodies: they carry just what their sender means to write. An update carries the whole object, and
/// so may an apply (told by the name in it): what they carry besides is of no meaning.
fn judge_requests(evidence: &Evidence, findings: &mut Findings) {
    let Some(requests) = &evidence.requests else {
        return;
    };
    let names = Names::of(evidence);
    let mut astray: BTreeMap<(Key, &str), (&Request, &str, usize)> = BTreeMap::new();
    let mut bodies = false;
    for request in &requests.events {
        let Some(body) = &request.body else { continue };
        let key = (&*request.namespace, &*request.name);
        if !request.is_write() || &*request.verb != "patch" || key.1.is_empty() || !names.in_scope(key) {
            continue;
        }
        bodies = true;
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
                .observed(format!("{count} by {}, first at {}", request.user, request.at)),
        );
    }
    if !bodies {
        findings
            .note("the audit log has no bodies of patches: log them at level Request to have them judged");
    }
}

/// What each way of writing owns, from managedFields.
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
                .observed(format!("owned by {} ({})", writer.manager, way(writer))),
        );
    }
}

/// Whether a part is what a manager sets, not what it observed.
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
pub(in crate::rules) fn distinct_appliers(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable("no profile has a status that anybody owns");
    for profile in evidence.inventory() {
        let writers = profile.metadata.writers.as_deref().unwrap_or_default();
        let owners: Vec<&Writer> = writers.iter().filter(|writer| owns_status(writer)).collect();
        if owners.is_empty() {
            continue;
        }
        findings.examine();
        // Nearly always there is one: nothing to compare.
        if owners.iter().all(|owner| owner.manager == owners[0].manager) {
            continue;
        }
        let managers: BTreeSet<&str> = owners.iter().map(|owner| &*owner.manager).collect();
        let others = managers.len() - 1;
        for manager in managers {
            let of = |operation: &str| {
                owners
                    .iter()
                    .copied()
                    .find(|owner| &*owner.manager == manager && &*owner.operation == operation)
            };
            let Some(update) = of("Update") else { continue };
            if of("Apply").is_some_and(|apply| !is_newer(update, apply)) {
                continue;
            }
            let part = update.owns.iter().find(|part| is_status(part));
            findings.report(
                Finding::on(
                    profile,
                    "several write the status, and not all by server-side apply",
                )
                .at(part.map_or("status", |part| part))
                .expected("Apply")
                .observed(format!("{} by {manager}, beside {others} other", way(update))),
            );
        }
    }
}

/// Whether a manager has updated since it last applied: an older entry is what it left behind when it took to
/// applying.
fn is_newer(update: &Writer, apply: &Writer) -> bool {
    let time = |writer: &Writer| writer.time.as_deref().and_then(parse_time);
    match (time(update), time(apply)) {
        (Some(update), Some(apply)) => update > apply,
        _ => false,
    }
}
