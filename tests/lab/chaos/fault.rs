//! What a hub, or the network before it, may do to requests.

use std::{fmt, time::Duration};

use serde_json::Value;

/// Requests of the suite, by what they are for.
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

/// What is done to a request. In a text, `VERSION` is the resourceVersion that the request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// A failure with that code, which may ask to be left alone for some seconds. A redirect leads to another host.
    Code(u16, Option<u32>),
    /// An answer with that code and that text. `COUNT` is the number of requests so far.
    Says(u16, &'static str),
    /// Success, the first text, and then the second one without end, each half second. `PROFILE` is ever another profile.
    Repeats(&'static str, &'static str),
    /// Success, then bookmarks without end as fast as they are read, and a profile now and then.
    Floods,
    Hangs,
    /// No connection, or none that lasts.
    Resets,
    /// The certificate has changed, and no known CA has signed it.
    Untrusted,
    /// The answer, later.
    Delays(Duration),
    /// The answer without its end: the connection breaks off after so many bytes.
    Cuts(usize),
    /// The answer without its end, ended in good order after so many bytes, so many lines, or that time.
    Stops(usize),
    Lines(usize),
    Lasts(Duration),
    /// The answer, one byte each half second.
    Drips,
    /// Each line twice.
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
    /// Nothing is done to requests, but this happens on the hub.
    Happens(Event),
}

/// What may happen to the CRD during a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// It is deleted, and all profiles with it.
    DeletesDefinition,
    /// No version is served any more.
    WithdrawsVersion,
    /// It gets another printer column.
    AddsColumn,
    /// It has the subresource `status` no more.
    LosesStatus,
}

/// An act upon some requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    pub on: On,
    pub act: Act,
    /// Seconds since the start of the run before which nothing happens.
    pub from: u16,
    /// Every how many requests one is hit.
    pub every: u16,
    /// How many are hit at most.
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

    /// Whether it shows profiles that the hub does not have, or keeps the manager from writing. Then verdicts may differ.
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
