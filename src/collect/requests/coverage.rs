//! The time that a log covers, and its merge into evidence.

use evidence::{
    Evidence, Gap, Kind, Request, Requested, Window,
    api::{ObjectKind, Role, names},
};
use jiff::{SignedDuration, Timestamp};

use super::log::AuditLog;

/// The longest silence of a complete log: a kube-apiserver logs events of some kind (leader elections, health checks, node leases)
/// every few seconds.
const SILENCE: SignedDuration = SignedDuration::from_secs(60);
/// The longest silence of a log that is being written to, as one is whose last line is not ended.
const BUSY: SignedDuration = SignedDuration::from_secs(5);

#[derive(Clone, Debug)]
pub(super) struct LogSpan {
    pub(super) covers: Window,
    pub(super) end: LogEnd,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LogEnd {
    Whole,
    HalfLine,
    /// The rest cannot be read, for this reason.
    Lost(String),
}

/// The two longest silences of a log: an audit policy may let through next to nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Silences {
    longest: SignedDuration,
    second: SignedDuration,
}

impl Silences {
    /// Notes that nothing was logged for so long within one file.
    pub(super) fn note(&mut self, silence: SignedDuration) {
        if silence > self.longest {
            (self.longest, self.second) = (silence, self.longest);
        } else {
            self.second = self.second.max(silence);
        }
    }

    /// The longest silence that loses nothing: the log has been silent for so long twice. Once may be a server that was down.
    pub(super) fn bearable(self) -> SignedDuration {
        self.second.max(SILENCE)
    }
}

/// Sorts the files by their beginnings, and returns what is missing in and between them: parts that cannot be read, and
/// silences that are longer than `bearable`.
pub(super) fn holes(spans: &mut [LogSpan], bearable: SignedDuration) -> Vec<Gap> {
    spans.sort_by_key(|span| span.covers.from);
    let mut gaps = Vec::new();
    let mut latest: Option<&LogSpan> = None;
    for (place, span) in spans.iter().enumerate() {
        if let LogEnd::Lost(reason) = &span.end {
            let mut later = spans[place + 1..].iter().map(|next| next.covers.from);
            let next = later.find(|from| *from >= span.covers.until);
            gaps.push(gap(Some(span.covers.until), next, reason));
        }
        if let Some(last) = latest {
            let bearable = match last.end {
                LogEnd::Whole => bearable,
                LogEnd::HalfLine => BUSY,
                // It has a gap already.
                LogEnd::Lost(_) => SignedDuration::MAX,
            };
            if span.covers.from.duration_since(last.covers.until) > bearable {
                gaps.push(gap(
                    Some(last.covers.until),
                    Some(span.covers.from),
                    "the audit log has no event of any kind in this time: give the file that lies between",
                ));
            }
        }
        if latest.is_none_or(|last| span.covers.until > last.covers.until) {
            latest = Some(span);
        }
    }
    gaps
}

/// The parts of a window before and after the log. A log that is only silent at either end is whole.
fn uncovered(log: &AuditLog, window: Window) -> Vec<Gap> {
    let covers = log.requests.covers;
    let mut gaps = Vec::new();
    if covers.from.duration_since(window.from) > log.silence {
        gaps.push(gap(
            Some(window.from),
            Some(covers.from.min(window.until)),
            "the audit log begins after the window did: give the rotated file before it too",
        ));
    }
    let bearable = if log.cut_short { BUSY } else { log.silence };
    if window.until.duration_since(covers.until) > bearable {
        gaps.push(gap(
            Some(covers.until.max(window.from)),
            Some(window.until),
            "the audit log ends before the window did: copy it after the run, with all its files",
        ));
    }
    gaps
}

pub(super) fn gap(from: Option<Timestamp>, until: Option<Timestamp>, reason: &str) -> Gap {
    Gap {
        from,
        until,
        ..Gap::of(Kind::Requests, reason.to_owned())
    }
}

/// Replaces the audit log of the evidence. If the evidence has a window, only the requests of that window are kept, and the part
/// that the log does not cover becomes a [`Gap`].
///
/// The log keeps the hub's times; the window has the runner's, so it is moved by the clock skew of the header.
pub fn merge_into(evidence: &mut Evidence, mut log: AuditLog) {
    if let Some(window) = evidence.header.window {
        let window = on_the_hubs_clock(window, evidence.header.clock_skew_ms);
        let is_within = |request: &Request| window.from <= request.at && request.at <= window.until;
        log.requests.events.retain(is_within);
        log.slice_requests.events.retain(is_within);
        log.gaps.retain(|gap| overlaps(gap, window));
        log.gaps.extend(uncovered(&log, window));
        let within = |at: Timestamp| at.clamp(window.from, window.until.max(window.from));
        log.requests.covers = Window {
            from: within(log.requests.covers.from),
            until: within(log.requests.covers.until),
        };
        log.slice_requests.covers = log.requests.covers;
    }
    if let Some(testbed) = &mut evidence.testbed {
        testbed.user_in_audit_log = log.readers.contains(&*testbed.consumer.user);
    }
    let claim = &evidence.header.claim;
    let is_judged = |kind: &ObjectKind| claim.roles().any(|role| role.objects() == *kind);
    let kinds = log.silent_on.into_iter().filter(is_judged);
    log.gaps.extend(kinds.map(|kind| gap(None, None, &silent(kind))));
    let testbed = evidence.testbed.as_ref();
    let is_placement = claim.edition_of(Role::Scheduler).is_some()
        || testbed.is_some_and(|testbed| testbed.consumer.reads_placements());
    // The suite's own requests judge no implementation. On a testbed the run plays the manager.
    let is_own = |request: &mut Request| testbed.is_none() && request.is_the_suites();
    let own_requests = log.requests.events.extract_if(.., is_own).collect();
    let own_slice_requests = log.slice_requests.events.extract_if(.., is_own);
    let own_slice_requests = own_slice_requests.filter(|_| is_placement).collect();
    evidence.own_requests = own_requests;
    evidence.own_slice_requests = own_slice_requests;
    evidence.requests = Some(log.requests);
    evidence.slice_requests = Some(log.slice_requests).filter(|_| is_placement);
    evidence.gaps.retain(|gap| gap.kind != Kind::Requests);
    evidence.gaps.extend(log.gaps);
    evidence.header.requested.insert(Kind::Requests, Requested::Yes);
}

fn silent(kind: ObjectKind) -> String {
    format!(
        "the audit log holds no request on {}s, not even one that reads; let the audit policy log `{}` of the group {} at \
         level RequestResponse, or at least Metadata",
        kind.name(),
        kind.plural(),
        names::GROUP
    )
}

fn on_the_hubs_clock(window: Window, skew_ms: Option<i64>) -> Window {
    let skew = SignedDuration::from_millis(skew_ms.unwrap_or_default());
    let shifted = |at: Timestamp| at.saturating_add(skew).unwrap_or(at);
    Window {
        from: shifted(window.from),
        until: shifted(window.until),
    }
}

fn overlaps(gap: &Gap, window: Window) -> bool {
    gap.from.is_none_or(|from| from < window.until) && gap.until.is_none_or(|until| until > window.from)
}
