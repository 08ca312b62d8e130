//! Status and desired state, each through its own endpoint.

use evidence::{Reason, ReasonId, Request, api::ClusterProfile};
use jiff::SignedDuration;

use crate::{
    engine::{Answer, Authored, Hub, Write, Writes},
    shared::status::{has_status_subresource, is_status},
    subjects::Finding,
    text::redacted,
    time::is_logged_around,
};

/// How long before or after a patch its sender may send a part through the right endpoint. Clients that send one patch to both
/// endpoints do so in the same reconciliation.
const SAME_RECONCILIATION: SignedDuration = SignedDuration::from_secs(10);

/// The reason if the right write may be missing in the audit log.
const LOG_ENDS: Reason = Reason::known(
    ReasonId::Unknown,
    "the audit log does not show whether a part of a patch was sent through the right endpoint",
);

/// `updates/status-by-subresource`
///
/// A patch that sends status to the object, or spec or labels to `/status`, is within 10 s of one by the same sender that sends
/// that part to the right endpoint. Otherwise the hub dropped the part.
pub(in crate::rules) fn status_by_subresource(writes: &Writes<'_, '_, ClusterProfile>, hub: &Hub) -> Answer {
    if !has_status_subresource(hub.evidence) {
        return Answer::NotApplicable;
    }
    let Authored { own, unknown } = writes.authored();
    let own = Answer::each(["", "status"], |endpoint| {
        parts_through(endpoint, &own, writes, hub)
    });
    let is_lost = |write: &Write<ClusterProfile>| {
        let patch = write.request;
        patch.is_some_and(|patch| lost_part(writes, patch).is_some())
    };
    match unknown.into_iter().find(|(write, _)| is_lost(write)) {
        Some((_, reason)) => own.and(Answer::Unknown(reason)),
        None => own,
    }
}

/// Whether the audit log shows what a patch contains.
pub(in crate::rules) fn shows_body(request: &Request) -> bool {
    &*request.verb != "patch" || request.body.is_some()
}

/// The answer about the patches through one endpoint.
fn parts_through(
    endpoint: &str,
    own: &[&Write<ClusterProfile>],
    writes: &Writes<'_, '_, ClusterProfile>,
    hub: &Hub,
) -> Answer {
    let requests = own.iter().filter_map(|write| write.request);
    let mut patches = requests
        .filter(|request| &*request.verb == "patch" && request.body.is_some())
        .filter(|patch| &*patch.subresource == endpoint)
        .peekable();
    if patches.peek().is_none() {
        return Answer::NotApplicable;
    }
    let is_surrounded = |patch: &Request| {
        let log = hub.evidence.requests.as_ref();
        log.is_some_and(|log| is_logged_around(hub.evidence, log, patch, SAME_RECONCILIATION))
    };
    let lost: Vec<(&Request, &str)> = patches
        .filter_map(|patch| Some((patch, lost_part(writes, patch)?)))
        .collect();
    let surely_lost: Vec<_> = lost.iter().filter(|(patch, _)| is_surrounded(patch)).collect();
    match (surely_lost.first(), lost.is_empty()) {
        (Some((patch, part)), _) => Answer::broken(lost_finding(patch, part, surely_lost.len())),
        (None, true) => Answer::Kept,
        (None, false) => Answer::Unknown(LOG_ENDS),
    }
}

/// The part of a patch that the hub dropped. An apply, which names the object, carries all fields of its sender.
fn lost_part<'p>(writes: &Writes<'_, '_, ClusterProfile>, patch: &'p Request) -> Option<&'p str> {
    let parts = &patch.body.as_ref()?.parts;
    if &*patch.verb != "patch" || parts.iter().any(|part| part == "metadata.name") {
        return None;
    }
    let lost = parts.iter().find(|part| match right_endpoint(part) {
        Some(endpoint) if endpoint != &*patch.subresource => !is_sent_to(endpoint, part, patch, writes),
        _ => false,
    });
    lost.map(String::as_str)
}

/// The endpoint that takes a part: the object itself is empty. None if both take it.
fn right_endpoint(part: &str) -> Option<&'static str> {
    if is_status(part) {
        Some("status")
    } else if part == "spec" || part.starts_with("spec.") || part.starts_with("metadata.labels") {
        Some("")
    } else {
        None
    }
}

/// Whether the sender of a patch also sent a part to an endpoint in the same reconciliation.
fn is_sent_to(endpoint: &str, part: &str, patch: &Request, writes: &Writes<'_, '_, ClusterProfile>) -> bool {
    let mut requests = writes.all().iter().filter_map(|write| write.request);
    requests.any(|other| {
        let body = other.body.as_ref();
        other.user == patch.user
            && &*other.subresource == endpoint
            && other.at.duration_since(patch.at).abs() <= SAME_RECONCILIATION
            && body.is_none_or(|body| body.parts.iter().any(|carried| carried == part))
    })
}

fn lost_finding(patch: &Request, part: &str, count: usize) -> Finding {
    let (message, expected) = match &*patch.subresource {
        "" => (
            "a status sent with the object itself was lost",
            "sent through /status",
        ),
        _ => (
            "a spec or labels sent through /status were lost",
            "sent with the object itself",
        ),
    };
    let observed = format!("{count} by {}, first at {}", redacted(&patch.user), patch.at);
    Finding::at_path(part, message)
        .expected(expected)
        .observed(observed)
}
