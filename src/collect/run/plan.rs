//! The plan of a run, and its progress.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use evidence::{Asked, Awaited, Claim, Evidence, Reason, Scope, api::Api};

use crate::{Members, driver::DriverPlan, progress::snapshot::Snapshot};

/// What to collect.
#[derive(Clone, Debug)]
pub struct Plan {
    /// By which documents to judge; goes into the evidence as it is.
    pub claim: Claim,
    /// Which profiles to look at.
    pub scope: Scope,
    /// The API version to read; none: the newest that the hub serves and the suite knows.
    pub api_version: Option<String>,
    /// How long to watch; zero: one look.
    pub observe: Duration,
    /// How long to look on after the window, at most, for faults that are open when it ends; zero: not.
    pub settle: Duration,
    /// Whether to go on although the scope names what has no object yet.
    pub wait: bool,
    /// Whether to read the labelled Secrets.
    pub secrets: Wish,
    /// Whether to try dry-run changes of a profile's manager.
    pub probe: Wish,
    /// The API server's audit logs, which are read elsewhere: here they only count as asked for.
    pub audit_logs: Vec<PathBuf>,
    /// The kind of workloads to look for placement keys on; none: none.
    pub workloads: Option<Workloads>,
    /// Which members to ask themselves.
    pub members: Members,
    /// What the implementation is to be made to do; none: nothing. Its answers are seen by the watch, without which
    /// nothing is done.
    pub driver: Option<DriverPlan>,
}

impl Plan {
    /// The APIs that are judged, and to whose objects a driver writes if it `may`.
    pub fn written(&self, may: bool) -> Vec<Api> {
        let mut apis = Api::ALL.to_vec();
        apis.retain(|api| may && self.claim.edition_of(*api).is_some());
        apis
    }

    /// What to say of evidence on the whole hub, if the runner of another share reads it.
    pub fn of_first_share(&self) -> Option<Asked> {
        let shard = self.scope.shard.filter(|shard| !shard.reads_hub())?;
        let reason = format!("the runner of share 0/{} reads it", shard.count);
        Some(Asked::No(reason.into()))
    }
}

/// A kind of workloads, as in request paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workloads {
    /// The API group; empty for the core group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The plural.
    pub resource: String,
}

/// How much a kind of evidence is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// It was asked for: what is unavailable is a gap.
    Asked,
    /// By default: what the runner may not have counts as not asked for.
    IfAllowed,
    /// It is not wanted, and why.
    No(Reason),
}

/// Gets the progress of a run.
pub trait Progress: Send + Sync {
    /// Something new begins, such as `listing profiles`.
    fn phase(&self, what: &str) {
        let _ = what;
    }

    /// The driver takes a step, such as `outage: break of conformance-r4n6d-2`.
    fn step(&self, what: &str) {
        let _ = what;
    }

    /// Something went wrong that a person should know of at once, such as what could not be undone.
    fn warn(&self, what: &str) {
        let _ = what;
    }

    /// The run could not undo everything: what is left stands in the write-ahead log at `journal`.
    fn left_over(&self, journal: &Path) {
        self.warn(&format!(
            "the run could not undo everything: fix what is in the way, then clean up by {}",
            journal.display()
        ));
    }

    /// Once a second while the hub is watched: how long it was and is to be, how many profiles there are, how many
    /// changes were seen.
    fn tick(&self, elapsed: Duration, observe: Duration, profiles: usize, writes: u64) {
        let _ = (elapsed, observe, profiles, writes);
    }

    /// Which objects have a fault that was open when the window ended, and that is not yet decided. The run looks on until
    /// there are none: it is asked when the window has ended, and then again and again with what was seen since.
    fn open(&self, so_far: &Evidence) -> Awaited {
        let _ = so_far;
        Awaited::default()
    }

    /// Once a second while the run looks on: how long it has and will at most, and what for, such as `3 profiles`.
    fn settling(&self, elapsed: Duration, most: Duration, awaited: &str) {
        let _ = (elapsed, most, awaited);
    }

    /// Whether somebody wants to see, every few seconds while the hub is watched, the inventory as it is then. Only
    /// for those is it put together.
    fn wants_glances(&self) -> bool {
        false
    }

    /// The inventory as it is now: of each profile the last version, and nothing else. Later evidence may tell otherwise.
    fn glance(&self, inventory: Evidence) {
        let _ = inventory;
    }

    /// Whether somebody wants a copy of the evidence so far, which survives a run that is killed. Asked once a second while
    /// the hub is watched; then once more when the window is over, after which no other copy follows.
    fn wants_snapshot(&self, is_over: bool) -> bool {
        let _ = is_over;
        false
    }

    /// The evidence so far.
    fn snapshot(&self, so_far: Snapshot) {
        let _ = so_far;
    }
}

/// Reports no progress.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quiet;

impl Progress for Quiet {}
