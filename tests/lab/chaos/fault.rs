//! Faults of a hub, or of the network before it.

use std::{fmt, time::Duration};

use serde_json::Value;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    Everything,
    Version,
    Group,
    Resources,
    Definition,
    Reviews,
    Namespaces,
    /// Plain lists of profiles.
    List,
    /// Streaming lists of profiles, which go on as a watch.
    Stream,
    /// Watches that go on from a resourceVersion.
    Resume,
    Profiles,
    Secrets,
    /// Writes that store nothing.
    DryRuns,
}

impl On {
    pub fn holds(self, uri: &str) -> bool {
        let path = uri.split('?').next().unwrap_or_default();
        let is_profiles = path.ends_with("/clusterprofiles");
        let is_watch = uri.contains("watch=true");
        let is_stream = uri.contains("sendInitialEvents");
        match self {
            On::Everything => true,
            On::Version => path == "/version",
            On::Group => path == "/apis/multicluster.x-k8s.io",
            On::Resources => {
                path.starts_with("/apis/multicluster.x-k8s.io/v1alpha") && path.matches('/').count() == 3
            }
            On::Definition => path.contains("customresourcedefinitions"),
            On::Reviews => path.ends_with("reviews"),
            On::Namespaces => path == "/api/v1/namespaces",
            On::List => is_profiles && !is_watch,
            On::Stream => is_profiles && is_stream,
            On::Resume => is_profiles && is_watch && !is_stream,
            On::Profiles => is_profiles,
            On::Secrets => path.ends_with("/secrets"),
            On::DryRuns => uri.contains("dryRun="),
        }
    }
}

/// An act upon a request. In a text, `VERSION` is the resourceVersion in the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// A failure with that code, perhaps with `Retry-After` in seconds. A redirect leads to another host.
    Code(u16, Option<u32>),
    /// An answer with that code and that text. `COUNT` is the number of requests so far.
    Says(u16, &'static str),
    /// Success, the first text, and then the second one endlessly, each half second. `PROFILE` is a new profile each time.
    Repeats(&'static str, &'static str),
    /// Success, then endless bookmarks as fast as the client reads, and sometimes a profile.
    Floods,
    Hangs,
    /// No connection, or a broken one.
    Resets,
    /// The certificate has changed, and no known CA has signed it.
    Untrusted,
    Delays(Duration),
    /// The answer without its end: the connection breaks off after so many bytes.
    Cuts(usize),
    /// The answer without its end, ended in good order after so many bytes, so many lines, or that time.
    Stops(usize),
    Lines(usize),
    Lasts(Duration),
    /// The answer, one byte each half second.
    Drips,
    Twice,
    /// The `Date` of the answer, later or earlier by minutes.
    Skews(i8),
    /// A list of two pages, the second of which is compacted away before it is asked for.
    Expires,
    /// The first list of profiles that the hub has given, as after a restore from a backup.
    Restored,
    /// An object with so many arrays within each other.
    Nests(usize),
    /// An object of so many bytes.
    Large(usize),
    /// No act upon requests, but this event on the hub.
    Happens(Event),
}

/// What may happen to the CRD during a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    DeletesDefinition,
    WithdrawsVersion,
    AddsColumn,
    LosesStatus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    pub on: On,
    pub act: Act,
    /// Seconds from the start of the run until it begins.
    pub from: u16,
    /// It affects every nth request.
    pub every: u16,
    /// It affects at most so many requests.
    pub times: u16,
}

impl Fault {
    pub const fn always(on: On, act: Act) -> Self {
        Self {
            on,
            act,
            from: 0,
            every: 1,
            times: u16::MAX,
        }
    }

    pub const fn from(self, from: u16) -> Self {
        Self { from, ..self }
    }

    pub const fn every(self, every: u16) -> Self {
        Self { every, ..self }
    }

    pub const fn times(self, times: u16) -> Self {
        Self { times, ..self }
    }

    /// Whether it shows profiles that the hub does not have, or prevents writes of the manager. Then verdicts may differ.
    pub fn is_lie(&self) -> bool {
        match self.act {
            Act::Repeats(_, text) => text.contains("PROFILE"),
            Act::Floods | Act::Nests(_) | Act::Large(_) | Act::Happens(Event::LosesStatus) => true,
            _ => false,
        }
    }
}

/// The message of a status; of another body, the beginning.
fn short(body: &str) -> String {
    const SHOWN: usize = 80;
    let status: Value = serde_json::from_str(body).unwrap_or_default();
    let text = status["message"].as_str().unwrap_or(body);
    let text: String = text.chars().filter(|char| *char != '\n').take(SHOWN).collect();
    text.escape_debug().to_string()
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.act {
            Act::Says(code, text) => write!(f, "{:?} Says({code}, {})", self.on, short(text))?,
            Act::Repeats(_, text) => write!(f, "{:?} Repeats({})", self.on, short(text))?,
            Act::Happens(event) => write!(f, "{event:?}")?,
            act => write!(f, "{:?} {act:?}", self.on)?,
        }
        if self.from > 0 {
            write!(f, " from {} s", self.from)?;
        }
        if self.every > 1 {
            write!(f, " every {}", self.every)?;
        }
        if self.times < u16::MAX {
            write!(f, " times {}", self.times)?;
        }
        Ok(())
    }
}
