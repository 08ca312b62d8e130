//! What the server knows about itself: version, health, audit log; and its faults on demand, for testing how clients
//! recover.
//!
//! The texts of `/healthz`, `/livez` and `/readyz` are those of kube-apiserver 1.36: one line for each check, in fixed
//! order, if `verbose` is set or a check fails. Only some of its checks are listed.

use std::{collections::BTreeSet, fs::File, io::Write, time::Duration};

use jiff::SignedDuration;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    object::status::{HandlerResult, StatusFailure},
    request::{Query, Reply, RequestInfo},
};

/// The health checks, in order.
const CHECKS: &str = "
    ping log loopback-serving-certificate etcd etcd-readiness informer-sync
    poststarthook/generic-apiserver-start-informers poststarthook/crd-informer-synced
    poststarthook/start-system-namespaces-controller poststarthook/rbac/bootstrap-roles
    poststarthook/apiservice-registration-controller shutdown
";
/// Checks of `/readyz` alone.
const READY_ONLY: [&str; 3] = ["etcd-readiness", "informer-sync", "shutdown"];
/// The check that `/readyz` omits.
const UNREADY: &str = "loopback-serving-certificate";

/// Version and health.
#[derive(Debug, Default)]
pub(crate) struct VersionAndHealth {
    /// Its `gitVersion`.
    pub(crate) version: String,
    /// The failing checks.
    pub(crate) failing: BTreeSet<String>,
}

impl VersionAndHealth {
    pub(crate) fn version(&self) -> Value {
        let mut numbers = self.version.trim_start_matches('v').split('.');
        let [major, minor] = [(); 2].map(|()| numbers.next().unwrap_or_default());
        let before = minor.parse().map_or(0, |minor: u32| minor.saturating_sub(1));
        json!({
            "major": major, "minor": minor, "gitVersion": self.version,
            "emulationMajor": major, "emulationMinor": minor,
            "minCompatibilityMajor": major, "minCompatibilityMinor": before.to_string(),
            "gitCommit": "", "gitTreeState": "", "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "",
            "platform": "",
        })
    }

    /// The names of the checks of `endpoint`, in order. Unknown failing checks come last.
    fn checks(&self, endpoint: &str) -> Vec<&str> {
        let mut checks: Vec<&str> = CHECKS.split_whitespace().collect();
        let failing = self.failing.iter().map(String::as_str);
        let other_checks: Vec<&str> = failing.filter(|name| !checks.contains(name)).collect();
        checks.extend(other_checks);
        checks.retain(|name| match endpoint {
            "readyz" => *name != UNREADY,
            _ => !READY_ONLY.contains(name),
        });
        checks
    }

    /// Answers a request for all checks of `endpoint`, for example `readyz`.
    pub(crate) fn health(&self, endpoint: &str, query: &Query) -> Reply {
        let mut unknown = query.all("exclude").to_vec();
        let (mut lines, mut is_well) = (String::new(), true);
        for check in self.checks(endpoint) {
            let excluded = unknown.extract_if(.., |name| name == check).count() > 0;
            lines += &if excluded {
                format!("[+]{check} excluded: ok\n")
            } else if self.failing.contains(check) {
                is_well = false;
                format!("[-]{check} failed: reason withheld\n")
            } else {
                format!("[+]{check} ok\n")
            };
        }
        if !unknown.is_empty() {
            let unknown: Vec<String> = unknown.iter().map(|name| format!("\"{name}\"")).collect();
            let unknown = unknown.join(",");
            lines += &format!("warn: some health checks cannot be excluded: no matches for {unknown}\n");
        }
        match (is_well, query.has("verbose")) {
            (false, _) => Reply::text(500, format!("{lines}{endpoint} check failed\n")),
            (true, true) => Reply::text(200, format!("{lines}{endpoint} check passed\n")),
            (true, false) => Reply::text(200, "ok"),
        }
    }

    /// Answers a request for one check.
    pub(crate) fn one_check(&self, endpoint: &str, check: &str) -> HandlerResult<Reply> {
        if !self.checks(endpoint).contains(&check) {
            return Err(StatusFailure::no_such_path());
        }
        Ok(if self.failing.contains(check) {
            Reply::text(
                500,
                format!("internal server error: {check} is broken on demand\n"),
            )
        } else {
            Reply::text(200, "ok")
        })
    }
}

/// How much audit events contain about writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum AuditLevel {
    /// User, verb, object and status code.
    #[default]
    Metadata,
    /// The sent object, too. Never for Secrets.
    Request,
    /// The answered object, too. Never for Secrets.
    RequestResponse,
}

/// The audit log.
#[derive(Debug, Default)]
pub(crate) struct AuditBackend {
    pub(crate) level: AuditLevel,
    /// Events in memory.
    pub(crate) kept: Vec<Value>,
    /// Events are not kept in memory.
    is_sent: bool,
    /// The file for events, one a line. None drops them.
    file: Option<File>,
}

impl AuditBackend {
    /// Writes events to a file from now on, or drops them, instead of keeping them.
    pub(crate) fn send_to(&mut self, file: Option<File>) {
        self.kept.clear();
        self.is_sent = true;
        self.file = file;
    }

    pub(crate) fn push(&mut self, event: &Value) {
        if let Some(file) = &mut self.file {
            // A failing log does not fail the request.
            let _ = file.write_all(format!("{event}\n").as_bytes());
        } else if !self.is_sent {
            self.kept.push(event.clone());
        }
    }
}

/// The requests that a fault affects. `None` matches any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Affected {
    /// `get`, `list`, `watch`, …
    pub verb: Option<String>,
    /// The plural of the resource.
    pub resource: Option<String>,
}

impl Affected {
    /// All requests with `verb` for `resource`.
    pub fn verb_on(verb: impl Into<String>, resource: impl Into<String>) -> Self {
        Self {
            verb: Some(verb.into()),
            resource: Some(resource.into()),
        }
    }

    fn covers(&self, info: &RequestInfo) -> bool {
        let resource = info.target.as_ref().map(|target| &target.resource);
        self.verb.as_ref().is_none_or(|verb| verb == info.verb)
            && (self.resource.is_none() || self.resource.as_ref() == resource)
    }
}

/// A fault of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misbehaviour {
    /// Answer with `code` (429 or 5xx) and `Retry-After`. Requests are counted, not chosen at random, so each run of a
    /// test is the same.
    Fail {
        /// Which requests.
        affected: Affected,
        /// The HTTP status code.
        code: u16,
        /// Seconds for `Retry-After`.
        retry_after: Option<u32>,
        /// Every how many requests one fails. With 1, each fails.
        every: usize,
        /// The maximum number of failures.
        times: usize,
    },
    /// Delay answers, until [`Misbehaviour::Recover`].
    Delay {
        /// Which requests.
        affected: Affected,
        /// The delay.
        by: Duration,
    },
    /// End all open watches.
    DropWatches,
    /// End new watches after this many events, even within the initial list.
    DropWatchesAfter(usize),
    /// Hold back the events of new watches for this long, then send all of them in order.
    HoldEvents(Duration),
    /// Send no bookmarks on new watches, except those that end a streaming list.
    WithholdBookmarks,
    /// Compact the history before each such request.
    CompactBefore(Affected),
    /// Keep at most this many changes of each resource.
    Remember(usize),
    /// Compact the history: watches from older resourceVersions get 410.
    CompactHistory,
    /// Let the server's clock run ahead, or behind if negative.
    SkewClock(SignedDuration),
    /// End all lasting faults: failures, delays, faults of new watches, the skewed clock. Compacted history stays lost.
    Recover,
}

impl Misbehaviour {
    /// True for faults of single requests that affect this one.
    fn covers(&self, info: &RequestInfo) -> bool {
        match self {
            Self::Fail { affected, .. } | Self::Delay { affected, .. } | Self::CompactBefore(affected) => {
                affected.covers(info)
            }
            _ => false,
        }
    }
}

/// Active faults, oldest first, with the number of affected requests so far.
#[derive(Debug, Default)]
pub(crate) struct ActiveFaults(Mutex<Vec<(Misbehaviour, usize)>>);

/// Faults of new watches.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WatchFaults {
    pub(crate) hold: Duration,
    pub(crate) no_bookmarks: bool,
    pub(crate) drop_after: Option<usize>,
}

/// The effects of all faults on a request.
#[derive(Debug, Default)]
pub(crate) struct Fate {
    /// How long it waits first.
    pub(crate) latency: Duration,
    /// The error that it fails with.
    pub(crate) failure: Option<Box<StatusFailure>>,
    /// True if the history is compacted first.
    pub(crate) forgets: bool,
}

impl ActiveFaults {
    pub(crate) fn add(&self, misbehaviour: Misbehaviour) {
        self.0.lock().push((misbehaviour, 0));
    }

    pub(crate) fn recover(&self) {
        self.0.lock().clear();
    }

    /// The skew of the server's clock.
    pub(crate) fn skew(&self) -> SignedDuration {
        let faults = self.0.lock();
        let skew = faults.iter().rev().find_map(|(fault, _)| match fault {
            Misbehaviour::SkewClock(skew) => Some(*skew),
            _ => None,
        });
        skew.unwrap_or_default()
    }

    pub(crate) fn of_watches(&self) -> WatchFaults {
        let mut watches = WatchFaults::default();
        for (fault, _) in self.0.lock().iter() {
            match fault {
                Misbehaviour::HoldEvents(by) => watches.hold = *by,
                Misbehaviour::WithholdBookmarks => watches.no_bookmarks = true,
                Misbehaviour::DropWatchesAfter(events) => watches.drop_after = Some(*events),
                _ => {}
            }
        }
        watches
    }

    /// Returns the effects on this request. Of several due failures the oldest wins.
    pub(crate) fn befall(&self, info: &RequestInfo) -> Fate {
        let mut fate = Fate::default();
        for (fault, met) in self.0.lock().iter_mut().filter(|(fault, _)| fault.covers(info)) {
            match &*fault {
                Misbehaviour::Delay { by, .. } => fate.latency += *by,
                Misbehaviour::CompactBefore(_) => fate.forgets = true,
                &Misbehaviour::Fail {
                    code,
                    retry_after,
                    every,
                    times,
                    ..
                } if fate.failure.is_none() => {
                    *met += 1;
                    let every = every.max(1);
                    let is_due = met.is_multiple_of(every) && *met / every <= times;
                    fate.failure = is_due.then(|| failure(code, retry_after));
                }
                _ => {}
            }
        }
        fate
    }
}

/// The error of a request that fails on demand.
fn failure(code: u16, retry_after: Option<u32>) -> Box<StatusFailure> {
    let (reason, message) = match code {
        429 => ("TooManyRequests", "Too many requests, please try again later."),
        503 => (
            "ServiceUnavailable",
            "the server is currently unable to handle the request",
        ),
        504 => ("Timeout", "request did not complete within the requested timeout"),
        _ => ("InternalError", "Internal error occurred: misbehaving on demand"),
    };
    let failure = StatusFailure::new(code, reason, message);
    match retry_after {
        Some(seconds) => failure.with(json!({"retryAfterSeconds": seconds})),
        None => failure,
    }
}
