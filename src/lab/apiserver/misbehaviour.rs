//! Misbehaviour on demand: what hubs do to their clients on bad days.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::SignedDuration;

use super::request::RequestInfo;
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
        let resource = info.target.as_ref().map(|target| target.resource.as_str());
        self.verb.as_deref().is_none_or(|verb| verb == info.verb)
            && self
                .resource
                .as_deref()
                .is_none_or(|wanted| Some(wanted) == resource)
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

/// What is wrong with the server now.
#[derive(Debug, Default)]
pub(super) struct Faults(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    failures: Vec<Failing>,
    delays: Vec<(Affected, Duration)>,
    forgetting: Vec<Affected>,
    skew: SignedDuration,
    watches: WatchFaults,
}

#[derive(Debug)]
struct Failing {
    affected: Affected,
    code: u16,
    retry_after: Option<u32>,
    turns: Turns,
}

/// Which of the affected requests fail.
#[derive(Debug)]
pub(super) enum Turns {
    /// The next ones.
    Next(usize),
    /// One of so many.
    Every { nth: usize, seen: usize },
}

impl Turns {
    /// Whether it is this request's turn.
    fn is_next(&mut self) -> bool {
        match self {
            Turns::Next(0) => false,
            Turns::Next(times) => {
                *times -= 1;
                true
            }
            Turns::Every { nth, seen } => {
                *seen += 1;
                seen.is_multiple_of((*nth).max(1))
            }
        }
    }
}

/// How new watches are treated.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WatchFaults {
    pub(super) hold: Duration,
    pub(super) no_bookmarks: bool,
    pub(super) drop_after: Option<usize>,
}

impl Faults {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn fail(&self, affected: Affected, code: u16, retry_after: Option<u32>, turns: Turns) {
        self.state().failures.push(Failing {
            affected,
            code,
            retry_after,
            turns,
        });
    }

    pub(super) fn forget_before(&self, affected: Affected) {
        self.state().forgetting.push(affected);
    }

    /// Whether the history is to be forgotten before this request.
    pub(super) fn is_to_be_forgotten(&self, info: &RequestInfo) -> bool {
        self.state()
            .forgetting
            .iter()
            .any(|affected| affected.covers(info))
    }

    pub(super) fn watches(&self, change: impl FnOnce(&mut WatchFaults)) {
        change(&mut self.state().watches);
    }

    pub(super) fn of_watches(&self) -> WatchFaults {
        self.state().watches
    }

    pub(super) fn delay(&self, affected: Affected, by: Duration) {
        self.state().delays.push((affected, by));
    }

    pub(super) fn set_skew(&self, skew: SignedDuration) {
        self.state().skew = skew;
    }

    pub(super) fn skew(&self) -> SignedDuration {
        self.state().skew
    }

    pub(super) fn recover(&self) {
        *self.state() = State::default();
    }

    /// How long this request has to wait.
    pub(super) fn latency(&self, info: &RequestInfo) -> Option<Duration> {
        let state = self.state();
        let delays = state.delays.iter();
        delays
            .filter(|(affected, _)| affected.covers(info))
            .map(|(_, by)| *by)
            .reduce(|a, b| a + b)
    }

    /// Fails this request if it is its turn.
    pub(super) fn check(&self, info: &RequestInfo) -> Outcome<()> {
        let mut state = self.state();
        let mut failures = state
            .failures
            .iter_mut()
            .filter(|failing| failing.affected.covers(info));
        let failing = failures.find_map(|failing| {
            let is_next = failing.turns.is_next();
            is_next.then_some((failing.code, failing.retry_after))
        });
        let Some((code, retry_after)) = failing else {
            return Ok(());
        };
        let (reason, message) = match code {
            429 => ("TooManyRequests", "Too many requests, please try again later."),
            503 => (
                "ServiceUnavailable",
                "the server is currently unable to handle the request",
            ),
            504 => ("Timeout", "request did not complete within the requested timeout"),
            _ => ("InternalError", "Internal error occurred: misbehaving on demand"),
        };
        let mut failure = Failure::new(code, reason, message);
        if let Some(seconds) = retry_after {
            failure = Failure::retry(code, reason, message, seconds);
        }
        Err(failure)
    }
}
