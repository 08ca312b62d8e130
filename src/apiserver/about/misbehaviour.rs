//! Faults on demand, for testing how clients recover.

use std::time::Duration;

use jiff::SignedDuration;
use parking_lot::Mutex;
use serde_json::json;

use crate::{object::status::Failure, request::info::RequestInfo};

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
pub(crate) struct Faults(Mutex<Vec<(Misbehaviour, usize)>>);

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
    pub(crate) failure: Option<Box<Failure>>,
    /// True if the history is compacted first.
    pub(crate) forgets: bool,
}

impl Faults {
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
fn failure(code: u16, retry_after: Option<u32>) -> Box<Failure> {
    let (reason, message) = match code {
        429 => ("TooManyRequests", "Too many requests, please try again later."),
        503 => (
            "ServiceUnavailable",
            "the server is currently unable to handle the request",
        ),
        504 => ("Timeout", "request did not complete within the requested timeout"),
        _ => ("InternalError", "Internal error occurred: misbehaving on demand"),
    };
    let failure = Failure::new(code, reason, message);
    match retry_after {
        Some(seconds) => failure.with(json!({"retryAfterSeconds": seconds})),
        None => failure,
    }
}
