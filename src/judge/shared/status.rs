//! The status of profiles, and its endpoint.

use evidence::Evidence;

/// Whether a part of an object belongs to its status.
pub(crate) fn is_status(part: &str) -> bool {
    part == "status" || part.starts_with("status.")
}

/// Whether the hub accepts the status of profiles through the status endpoint only, as far as is known.
pub(crate) fn has_status_subresource(evidence: &Evidence) -> bool {
    let hub = &evidence.header.hub;
    let read = hub.api_version.as_deref().unwrap_or_default();
    let read = read.rsplit('/').next().unwrap_or_default();
    match hub.served.iter().find(|served| served.name == read) {
        Some(served) => served.status_subresource,
        None => hub.served.is_empty() || hub.served.iter().any(|served| served.status_subresource),
    }
}
