//! Misbehaviour on demand: what hubs do to their clients on bad days.

use std::time::Duration;

use jiff::SignedDuration;
use parking_lot::Mutex;
use serde_json::json;

use crate::{http::request::RequestInfo, object::status::Failure};

/// Which requests misbehave. An absent part means any.
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

/// Something that the server shall do wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misbehaviour {
    /// Answer such requests with `code` (429 and 5xx), and a `Retry-After` in seconds. They are counted, not diced, so
    /// that a test plays the same each time.
    Fail {
        /// Which requests.
        affected: Affected,
        /// The HTTP status code.
        code: u16,
        /// Seconds for `Retry-After`.
        retry_after: Option<u32>,
        /// One fails of so many, the last of them: with 1, each.
        every: usize,
        /// How many requests fail at most.
        times: usize,
    },
    /// Answer such requests only after a while, until [`Misbehaviour::Recover`].
    Delay {
        /// Which requests.
        affected: Affected,
        /// How long they wait.
        by: Duration,
    },
    /// End all watches that are open now.
    DropWatches,
    /// End each watch that begins from now on after so many events, in the middle of whatever it tells.
    DropWatchesAfter(usize),
    /// Tell watches that begin from now on of changes only after a while, and then of all of them at once. Their order
    /// stays: no hub breaks that.
    HoldEvents(Duration),
    /// Send no bookmarks on watches that begin from now on, but those that end a streaming list.
    WithholdBookmarks,
    /// Forget the history before each such request.
    CompactBefore(Affected),
    /// Keep no more than so many changes of each resource in mind.
    Remember(usize),
    /// Forget the history: watches from older resourceVersions get 410.
    CompactHistory,
    /// Let the server's own clock run ahead (behind, when negative).
    SkewClock(SignedDuration),
    /// Stop failing and delaying, treat new watches well, and set the clock right. What is forgotten stays so.
    Recover,
}

impl Misbehaviour {
    /// Whether it befalls this request, of those that befall single ones.
    fn covers(&self, info: &RequestInfo) -> bool {
        match self {
            Self::Fail { affected, .. } | Self::Delay { affected, .. } | Self::CompactBefore(affected) => {
                affected.covers(info)
            }
            _ => false,
        }
    }
}

/// What is wrong with the server now, the oldest first, and how many requests each could have failed so far.
#[derive(Debug, Default)]
pub(crate) struct Faults(Mutex<Vec<(Misbehaviour, usize)>>);

/// How new watches are treated.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WatchFaults {
    pub(crate) hold: Duration,
    pub(crate) no_bookmarks: bool,
    pub(crate) drop_after: Option<usize>,
}

/// What befalls a request.
#[derive(Debug, Default)]
pub(crate) struct Fate {
    /// How long it has to wait.
    pub(crate) latency: Duration,
    /// What it then fails with.
    pub(crate) failure: Option<Box<Failure>>,
    /// Whether the history is forgotten before it.
    pub(crate) forgets: bool,
}

impl Faults {
    pub(crate) fn add(&self, misbehaviour: Misbehaviour) {
        self.0.lock().push((misbehaviour, 0));
    }

    pub(crate) fn recover(&self) {
        self.0.lock().clear();
    }

    /// How far the server's clock runs ahead.
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

    /// What befalls this request. Of several failures the oldest that is due counts.
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

/// The answer to a request that fails.
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
