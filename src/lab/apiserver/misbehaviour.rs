//! Misbehaviour on demand: what hubs do to their clients on bad days.

use std::sync::Mutex;
use std::time::Duration;

use jiff::SignedDuration;

use super::request::RequestInfo;
use super::server::lock;
use super::status::{Failure, Outcome};

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
    /// Answer the next `times` such requests with `code` (429 and 5xx), and a `Retry-After` in seconds.
    Fail {
        /// Which requests.
        affected: Affected,
        /// The HTTP status code.
        code: u16,
        /// Seconds for `Retry-After`.
        retry_after: Option<u32>,
        /// How many requests fail.
        times: usize,
    },
    /// Answer every `nth` such request with `code`, beginning with the `nth`, until [`Misbehaviour::Recover`]. It is
    /// counted, not diced, so that a test plays the same each time.
    FailEvery {
        /// Which requests.
        affected: Affected,
        /// The HTTP status code.
        code: u16,
        /// Seconds for `Retry-After`.
        retry_after: Option<u32>,
        /// One fails of so many.
        nth: usize,
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

/// What is wrong with the server now, the oldest first, and how many requests each failure could have met so far.
#[derive(Debug, Default)]
pub(super) struct Faults(Mutex<Vec<(Misbehaviour, usize)>>);

/// How new watches are treated.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WatchFaults {
    pub(super) hold: Duration,
    pub(super) no_bookmarks: bool,
    pub(super) drop_after: Option<usize>,
}

impl Faults {
    pub(super) fn add(&self, misbehaviour: Misbehaviour) {
        lock(&self.0).push((misbehaviour, 0));
    }

    pub(super) fn recover(&self) {
        lock(&self.0).clear();
    }

    /// What `tell` makes of those faults that it knows.
    fn told<T>(&self, tell: impl Fn(&Misbehaviour) -> Option<T>) -> Vec<T> {
        lock(&self.0)
            .iter()
            .filter_map(|(fault, _)| tell(fault))
            .collect()
    }

    pub(super) fn of_watches(&self) -> WatchFaults {
        let mut watches = WatchFaults::default();
        for (fault, _) in lock(&self.0).iter() {
            match fault {
                Misbehaviour::HoldEvents(by) => watches.hold = *by,
                Misbehaviour::WithholdBookmarks => watches.no_bookmarks = true,
                Misbehaviour::DropWatchesAfter(events) => watches.drop_after = Some(*events),
                _ => {}
            }
        }
        watches
    }

    /// How far the server's clock runs ahead.
    pub(super) fn skew(&self) -> SignedDuration {
        let skews = self.told(|fault| match fault {
            Misbehaviour::SkewClock(skew) => Some(*skew),
            _ => None,
        });
        skews.last().copied().unwrap_or_default()
    }

    /// How long this request has to wait.
    pub(super) fn latency(&self, info: &RequestInfo) -> Duration {
        let delays = self.told(|fault| match fault {
            Misbehaviour::Delay { affected, by } if affected.covers(info) => Some(*by),
            _ => None,
        });
        delays.iter().sum()
    }

    /// Whether the history is to be forgotten before this request.
    pub(super) fn is_to_be_forgotten(&self, info: &RequestInfo) -> bool {
        let forgetting = self.told(|fault| match fault {
            Misbehaviour::CompactBefore(affected) if affected.covers(info) => Some(()),
            _ => None,
        });
        !forgetting.is_empty()
    }

    /// Fails this request if it is its turn.
    pub(super) fn check(&self, info: &RequestInfo) -> Outcome<()> {
        use Misbehaviour::{Fail, FailEvery};
        for (fault, met) in lock(&self.0).iter_mut() {
            let fault = &*fault;
            let (Fail {
                affected,
                code,
                retry_after,
                ..
            }
            | FailEvery {
                affected,
                code,
                retry_after,
                ..
            }) = fault
            else {
                continue;
            };
            if !affected.covers(info) {
                continue;
            }
            *met += 1;
            let is_its_turn = match fault {
                Fail { times, .. } => *met <= *times,
                FailEvery { nth, .. } => met.is_multiple_of((*nth).max(1)),
                _ => false,
            };
            if is_its_turn {
                return Err(failure(*code, *retry_after));
            }
        }
        Ok(())
    }
}

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
    match retry_after {
        Some(seconds) => Failure::retry(code, reason, message, seconds),
        None => Failure::new(code, reason, message),
    }
}
