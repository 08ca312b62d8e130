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
    /// Answer such requests only after a while, until [`Misbehaviour::Recover`].
    Delay {
        /// Which requests.
        affected: Affected,
        /// How long they wait.
        by: Duration,
    },
    /// End all watches that are open now.
    DropWatches,
    /// Forget the history: watches from older resourceVersions get 410.
    CompactHistory,
    /// Let the server's own clock run ahead (behind, when negative).
    SkewClock(SignedDuration),
    /// Stop failing and delaying, and set the clock right.
    Recover,
}

/// What is wrong with the server now.
#[derive(Debug, Default)]
pub(super) struct Faults(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    failures: Vec<(Affected, u16, Option<u32>, usize)>,
    delays: Vec<(Affected, Duration)>,
    skew: SignedDuration,
}

impl Faults {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn fail(&self, affected: Affected, code: u16, retry_after: Option<u32>, times: usize) {
        self.state().failures.push((affected, code, retry_after, times));
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
        let turn = state
            .failures
            .iter_mut()
            .find(|(affected, _, _, times)| *times > 0 && affected.covers(info));
        let Some((_, code, retry_after, times)) = turn else {
            return Ok(());
        };
        *times -= 1;
        let (reason, message) = match *code {
            429 => ("TooManyRequests", "Too many requests, please try again later."),
            503 => (
                "ServiceUnavailable",
                "the server is currently unable to handle the request",
            ),
            504 => ("Timeout", "request did not complete within the requested timeout"),
            _ => ("InternalError", "Internal error occurred: misbehaving on demand"),
        };
        let mut failure = Failure::new(*code, reason, message);
        if let Some(seconds) = *retry_after {
            failure = Failure::retry(*code, reason, message, seconds);
        }
        Err(failure)
    }
}
