//! What the run cost its hub, in words.

use crate::{Report, text::number};

/// What the run cost the hub; none if the evidence does not say.
pub(crate) fn cost(report: &Report) -> Option<String> {
    let traffic = report.evidence.header.traffic?;
    let requests = usize::try_from(traffic.requests).unwrap_or(usize::MAX);
    Some(format!(
        "{}, {} of answers",
        number::count(requests, "request"),
        number::bytes(traffic.bytes)
    ))
}
