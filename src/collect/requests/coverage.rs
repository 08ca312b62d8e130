//! The time that a log covers, and its merge into evidence.

use evidence::{
    Asked, Evidence, Gap, Kind, Request, Window,
    api::{ObjectKind, Role, names},
};
use jiff::{SignedDuration, Timestamp};

use super::AuditLog;

/// The longest silence of a complete log: a kube-apiserver logs events of some kind (leader elections, health checks, node leases)
/// every few seconds.
const SILENCE: SignedDuration = SignedDuration::from_secs(60);
/// The time that one file covers.
#[derive(Debug, Default)]
pub(super) struct FileSpan {
    /// From its first event to its last; none before the first.
    pub(super) covers: Option<Window>,
    /// From the event before the first line that cannot be read to the event after the last one.
    pub(super) damage: Option<Gap>,
}

impl FileSpan {
    /// Notes an event that was logged at this time, and returns for how long nothing was logged before it, if that is
    /// long.
    pub(super) fn note_event(&mut self, logged: Timestamp) -> Option<SignedDuration> {
        if let Some(damage) = &mut self.damage {
            damage.until.get_or_insert(logged);
        }
        let event = Window {
            from: logged,
            until: logged,
        };
        let before = self
            .covers
            .replace(self.covers.map_or(event, |covers| covers.with(event)));
        let silence = logged.duration_since(before?.until);
        (silence > SILENCE).then_some(silence)
    }

    /// Notes that what follows the last event cannot be read. Several such places of one file are one gap.
    pub(super) fn note_damage(&mut self, reason: String) {
        let last = self.covers.map(|covers| covers.until);
        self.damage.get_or_insert_with(|| gap(last, None, &reason)).until = None;
    }
}

/// The longest silence that loses nothing: the log was silent for so long twice, as its policy lets through next to nothing. Once may
/// be a server that was down.
pub(super) fn longest_usual_silence(mut silences: Vec<SignedDuration>) -> SignedDuration {
    silences.sort_unstable();
    let second = silences.into_iter().rev().nth(1);
    second.unwrap_or_default().max(SILENCE)
}

/// What is missing in and between files: parts that cannot be read, and silences that are longer than `usual`.
pub(super) fn holes(mut files: Vec<FileSpan>, usual: SignedDuration) -> Vec<Gap> {
    files.sort_by_key(|file| file.covers.map(|covers| covers.from));
    let spans: Vec<Window> = files.iter().filter_map(|file| file.covers).collect();
    let mut gaps = Vec::new();
    let mut latest: Option<Timestamp> = None;
    for (place, file) in files.into_iter().enumerate() {
        let covers = spans[place];
        let silent_from = latest.filter(|latest| covers.from.duration_since(*latest) > usual);
        gaps.extend(silent_from.map(|from| {
            let reason =
                "the audit log has no event of any kind in this time: give the file that lies between";
            gap(Some(from), Some(covers.from), reason)
        }));
        latest = latest.max(Some(covers.until));
        if let Some(mut damage) = file.damage {
            // If the rest of the file cannot be read, the next file ends the gap.
            let mut later = spans[place + 1..].iter().map(|span| span.from);
            damage.until = damage.until.or_else(|| later.find(|from| *from >= covers.until));
            latest = latest.max(damage.until);
            gaps.push(damage);
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
    if window.until.duration_since(covers.until) > log.silence {
        gaps.push(gap(
            Some(covers.until.max(window.from)),
            Some(window.until),
            "the audit log ends before the window did: copy it after the run, with all its files",
        ));
    }
    gaps
}

/// A gap in the requests.
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
    let claim = &evidence.header.claim;
    let is_judged = |kind: &ObjectKind| claim.roles().any(|role| role.objects() == *kind);
    let judged = log.silent_on.iter().filter(|kind| is_judged(kind));
    let silent: Vec<Gap> = judged.map(|kind| gap(None, None, &silent(*kind))).collect();
    if let Some(window) = evidence.header.window {
        cut(&mut log, on_the_hubs_clock(window, evidence.header.clock_skew_ms));
    }
    evidence.gaps.retain(|gap| gap.kind != Kind::Requests);
    evidence.gaps.extend(log.gaps.into_iter().chain(silent));
    // The suite's own requests judge no implementation. On a testbed the run plays the manager.
    let is_own = |request: &mut Request| evidence.testbed.is_none() && request.is_the_suites();
    evidence.own_requests = log.requests.events.extract_if(.., is_own).collect();
    evidence.own_slice_requests = log.slice_requests.events.extract_if(.., is_own).collect();
    evidence.requests = Some(log.requests);
    evidence.slice_requests = Some(log.slice_requests);
    let testbed = evidence.testbed.as_ref();
    let is_placement = evidence.header.claim.edition_of(Role::Scheduler).is_some()
        || testbed.is_some_and(|testbed| testbed.consumer.reads_placements());
    if !is_placement {
        evidence.own_slice_requests.clear();
        evidence.slice_requests = None;
    }
    if let Some(testbed) = &mut evidence.testbed {
        testbed.user_in_audit_log = log.readers.contains(&*testbed.consumer.user);
    }
    evidence.header.asked.insert(Kind::Requests, Asked::Yes);
}

/// Cuts a log to a window.
fn cut(log: &mut AuditLog, window: Window) {
    log.gaps.retain(|gap| {
        gap.from.is_none_or(|from| from < window.until) && gap.until.is_none_or(|until| until > window.from)
    });
    log.gaps.extend(uncovered(log, window));
    let within = |at: Timestamp| at.clamp(window.from, window.until.max(window.from));
    for requests in [&mut log.requests, &mut log.slice_requests] {
        requests
            .events
            .retain(|request| window.from <= request.at && request.at <= window.until);
        requests.covers = Window {
            from: within(requests.covers.from),
            until: within(requests.covers.until),
        };
    }
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
