//! Where an audit log is complete.

use evidence::{Evidence, Kind, Request, Requests};
use jiff::SignedDuration;

use super::{Micros, SECOND};

/// Whether a log is complete from some time before a request until the same time after it.
pub(crate) fn is_logged_around(
    evidence: &Evidence,
    log: &Requests,
    request: &Request,
    time: SignedDuration,
) -> bool {
    let at = request.at.as_microsecond();
    let time = SECOND * time.as_secs();
    let (from, until) = (at.saturating_sub(time), at.saturating_add(time));
    let covers = (
        log.covers.from.as_microsecond(),
        log.covers.until.as_microsecond(),
    );
    covers.0 <= from && until <= covers.1 && !is_log_broken(evidence, from, until)
}

/// Whether a log has a gap in a closed span, in which anybody may have written.
pub(crate) fn is_log_broken(evidence: &Evidence, from: Micros, until: Micros) -> bool {
    let first = evidence.gaps.times(Kind::Requests).earliest(from);
    first.is_some_and(|start| start <= until)
}
