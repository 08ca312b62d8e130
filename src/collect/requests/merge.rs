//! Adds an audit log to evidence.

use evidence::{
    Asked, Evidence, Gap, Kind, Window,
    api::{ObjectKind, Role, names},
};
use jiff::{SignedDuration, Timestamp};

use super::{
    coverage::{gap, uncovered},
    log::AuditLog,
};

/// Adds an audit log to the evidence, in place of one that it had. Where the evidence has a window, only the requests
/// of that window are kept, and what of it the log does not cover becomes a [`Gap`].
///
/// The log has the hub's times and keeps them; the window has the runner's, so it is moved by the clock skew that the
/// header tells.
pub fn merge_into(evidence: &mut Evidence, log: AuditLog) {
    let AuditLog {
        mut requests,
        mut slice_requests,
        silent_on,
        mut gaps,
        cut_short,
        silence,
        readers,
        notes: _,
    } = log;
    let (mut own_requests, mut own_slice_requests) = (Vec::new(), Vec::new());
    if evidence.testbed.is_none() {
        // The suite's own requests judge no implementation. On a testbed the run stands in for the manager.
        for (requests, own) in [
            (&mut requests, &mut own_requests),
            (&mut slice_requests, &mut own_slice_requests),
        ] {
            own.extend(requests.events.extract_if(.., |request| request.is_the_suites()));
        }
    }
    if let Some(window) = evidence.header.window {
        let window = on_the_hubs_clock(window, evidence.header.clock_skew_ms);
        for events in [
            &mut requests.events,
            &mut slice_requests.events,
            &mut own_requests,
            &mut own_slice_requests,
        ] {
            events.retain(|request| window.from <= request.at && request.at <= window.until);
        }
        gaps.retain(|gap| overlaps(gap, window));
        gaps.extend(uncovered(requests.covers, window, silence, cut_short));
        let within = |at: Timestamp| at.clamp(window.from, window.until.max(window.from));
        requests.covers = Window {
            from: within(requests.covers.from),
            until: within(requests.covers.until),
        };
        slice_requests.covers = requests.covers;
    }
    if let Some(testbed) = &mut evidence.testbed {
        testbed.user_in_audit_log = readers.contains(&*testbed.consumer.user);
    }
    let claim = &evidence.header.claim;
    let is_judged = |kind: &ObjectKind| claim.roles().any(|role| role.objects() == *kind);
    let judged = silent_on.into_iter().filter(is_judged);
    gaps.extend(judged.map(|kind| gap(None, None, &silent(kind))));
    let testbed = evidence.testbed.as_ref();
    let are_staged = testbed.is_some_and(|testbed| testbed.consumer.reads_placements());
    let is_placement = claim.edition_of(Role::Scheduler).is_some() || are_staged;
    evidence.gaps.retain(|gap| gap.kind != Kind::Requests);
    evidence.gaps.extend(gaps);
    evidence.requests = Some(requests);
    evidence.own_requests = own_requests;
    evidence.own_slice_requests = if is_placement {
        own_slice_requests
    } else {
        Vec::new()
    };
    evidence.slice_requests = is_placement.then_some(slice_requests);
    evidence.header.asked.insert(Kind::Requests, Asked::Yes);
}

fn silent(kind: ObjectKind) -> String {
    format!(
        "the audit log holds no request on {}s, not even one that reads: let the audit policy log `{}` of the group {} at \
         level Metadata or above",
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
