//! Status and desired state, each through its own endpoint.

use std::collections::{BTreeMap, HashMap};

use evidence::{Asked, Evidence, Kind, Request, Requests};
use jiff::SignedDuration;

use super::log::{Key, Names};
use crate::{
    subjects::{Finding, Findings, Profiles},
    text::redacted,
    time::is_logged_around,
    who::{Entry, Sender, entries, has_status_subresource, is_status},
};

/// Time before and after a write in which its sender may send a part again, through the right endpoint. Clients that
/// send one patch to both endpoints do so in the same reconciliation.
const MOMENTS: SignedDuration = SignedDuration::from_secs(10);

/// `updates/status-by-subresource`
///
/// Status is sent through `/status`, and spec and labels are not, wherever a change would be lost otherwise.
///
/// The hub drops a part that comes through the wrong endpoint. That loses nothing if the same sender also sends it
/// through the right one, as controller-runtime's `CreateOrPatch` does with one patch for both.
pub(in crate::rules) fn status_by_subresource(profiles: &Profiles, findings: &mut Findings) {
    let evidence = profiles.evidence();
    if !has_status_subresource(evidence) {
        findings
            .not_applicable("the hub's CRD has no status subresource: there is no other way to write status");
        return;
    }
    findings.not_applicable("no profile has a status with an owner in managedFields");
    if let Some(requests) = &evidence.requests {
        judge_requests(evidence, requests, findings);
    }
    if *evidence.asked(Kind::Writers) == Asked::Yes {
        examine_owners(profiles, findings);
    } else if findings.examined == 0 {
        findings.cannot_tell("neither managedFields nor request bodies in the audit log were available");
    }
}

/// Judges patches with bodies: they carry only what their sender means to write. An update carries the whole object,
/// and so may an apply (recognized by the name in it).
fn judge_requests(evidence: &Evidence, requests: &Requests, findings: &mut Findings) {
    let names = Names::of(evidence);
    let mut writes: HashMap<Key, Vec<&Request>> = HashMap::new();
    for request in &requests.events {
        let key = (&*request.namespace, &*request.name);
        let counts = request.is_write() && !request.is_the_suites() && !key.1.is_empty();
        if counts && names.in_scope(key) {
            writes.entry(key).or_default().push(request);
        }
    }
    let mut lost: BTreeMap<(Key, &str), (&Request, &str, usize)> = BTreeMap::new();
    let mut bodiless = 0;
    for (key, writes) in &writes {
        for request in writes.iter().filter(|request| &*request.verb == "patch") {
            let Some(body) = &request.body else {
                bodiless += 1;
                continue;
            };
            // Only a log that is complete then shows any other way the part was sent.
            if !is_logged_around(evidence, requests, request, MOMENTS) {
                continue;
            }
            findings.examine();
            if body.parts.iter().any(|part| part == "metadata.name") {
                continue;
            }
            let part = body
                .parts
                .iter()
                .find(|part| is_astray(request, part) && !is_sent_rightly(writes, request, part));
            if let Some(part) = part {
                let entry = lost
                    .entry((*key, &request.subresource))
                    .or_insert((request, part, 0));
                entry.2 += 1;
            }
        }
    }
    for ((key, subresource), (request, part, count)) in lost {
        let (message, expected) = match subresource {
            "" => (
                "a status sent with the object itself was lost",
                "sent through /status",
            ),
            _ => (
                "a spec or labels sent through /status were lost",
                "sent with the object itself",
            ),
        };
        findings.report(
            Finding::on(names.reference(key), message)
                .at(part)
                .expected(expected)
                .observed(format!(
                    "{count} by {}, first at {}",
                    redacted(Sender::of(request).name),
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

/// Whether a part was sent through the wrong endpoint.
fn is_astray(request: &Request, part: &str) -> bool {
    match &*request.subresource {
        "" => is_status(part),
        "status" => is_desired(part),
        _ => false,
    }
}

/// Whether the sender of a request also sent a part through the right endpoint in these moments.
fn is_sent_rightly(writes: &[&Request], request: &Request, part: &str) -> bool {
    let subresource = if is_status(part) { "status" } else { "" };
    writes.iter().any(|other| {
        let carries = other
            .body
            .as_ref()
            .is_none_or(|body| body.parts.iter().any(|carried| carried == part));
        Sender::of(other).name == Sender::of(request).name
            && &*other.subresource == subresource
            && matches!(&*other.verb, "create" | "update" | "patch")
            && other.at.duration_since(request.at).abs() <= MOMENTS
            && carries
    })
}

/// Whether a part is desired state, set by a manager, rather than observed.
fn is_desired(part: &str) -> bool {
    part == "spec" || part.starts_with("spec.") || part.starts_with("metadata.labels")
}

/// Counts the profiles whose status has an owner. An owner through the wrong endpoint is only noted: the hub took that
/// write, so nothing was lost.
fn examine_owners(profiles: &Profiles, findings: &mut Findings) {
    let mut astray = 0;
    for profile in profiles.inventory() {
        if !entries(profile).any(Entry::writes_status) {
            continue;
        }
        findings.examine();
        astray += usize::from(entries(profile).any(|entry| match entry.subresource() {
            "" => entry.owns_status(),
            "status" => entry.owned(is_desired).is_some(),
            _ => false,
        }));
    }
    findings.note_count(
        "",
        astray,
        " profiles have a part in managedFields that came through the wrong endpoint: the hub took it, so nothing was lost",
    );
    findings.note("managedFields show only the last writer of each field");
}
