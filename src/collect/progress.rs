//! What a run reports while it watches, and copies of its evidence.

use std::{fmt, path::Path, time::Duration};

use evidence::{
    Asked, Awaited, Driver, Evidence, Kind, Tracked, Window,
    api::{ClusterProfile, ObjectKind, PlacementDecision},
    runs::of_other_runs,
};
use jiff::Timestamp;

use crate::{
    clock::Clock,
    driver::Touched,
    hub::missing::ONE_LOOK,
    watch::{
        record::Recorded,
        seen::{add_slices, asked_for_writers},
        timeline::{self, gap},
    },
};

/// Why the timeline ends where it does.
const NOT_WATCHED: &str = "the run did not end by itself: what came after its last copy is unknown";

/// The evidence that the first list gives.
const LISTED: [Kind; 3] = [Kind::Inventory, Kind::PlacementDecisions, Kind::Writers];

/// Receives the progress of a run.
pub trait Progress: Send + Sync {
    /// A phase begins, for example `listing profiles`.
    fn phase(&self, what: &str) {
        let _ = what;
    }

    /// The driver takes a step, for example `outage: break of conformance-r4n6d-2`.
    fn step(&self, what: &str) {
        let _ = what;
    }

    /// Reports a problem immediately, for example a change that could not be undone.
    fn warn(&self, what: &str) {
        let _ = what;
    }

    /// The run could not undo all changes. The write-ahead log at `journal` lists the rest.
    fn left_over(&self, journal: &Path) {
        self.warn(&format!(
            "the run could not undo everything: fix what is in the way, then clean up by {}",
            journal.display()
        ));
    }

    /// The first list is complete. The run watches for `observe` from now on.
    fn listed(&self, list: Snapshot, observe: Duration) {
        let _ = (list, observe);
    }

    /// Called once a second while the run watches: the elapsed and the planned time, and the number of profiles and of
    /// changes.
    fn tick(&self, elapsed: Duration, observe: Duration, profiles: usize, writes: u64) {
        let _ = (elapsed, observe, profiles, writes);
    }

    /// The objects with a violation that was open when the window ended, and that is not decided yet. The run waits until
    /// there are none. It calls this when the window has ended, and repeatedly while it waits.
    fn open(&self, so_far: &Evidence) -> Awaited {
        let _ = so_far;
        Awaited::default()
    }

    /// Called once a second while the run waits: the elapsed time, its limit, and the objects, for example `3 profiles`.
    fn settling(&self, elapsed: Duration, most: Duration, awaited: &str) {
        let _ = (elapsed, most, awaited);
    }

    /// Whether to copy the evidence, so that it survives a run that is killed. Called once a second while the run watches,
    /// and a last time when the window is over.
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

/// The evidence so far, still to be copied.
#[derive(Debug)]
pub struct Snapshot(Content);

enum Content {
    /// The window is over.
    Watched(Box<Evidence>),
    /// The run still watches.
    Watching(Box<Watching>),
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Content::Watched(_) => "Watched",
            Content::Watching(_) => "Watching",
        })
    }
}

/// What goes into the evidence, and the record that its profiles are copied from.
pub(crate) struct Watching {
    /// All but the profiles and slices.
    pub evidence: Evidence,
    pub record: timeline::Shared,
    pub slices: Option<SlicesSoFar>,
    /// What the run has written to.
    pub touched: Touched,
    pub clock: Clock,
    pub from: Timestamp,
    /// When the window is to end.
    pub planned_end: Timestamp,
}

/// What the watches of slices have seen.
#[derive(Clone)]
pub(crate) struct SlicesSoFar {
    pub record: timeline::Shared<PlacementDecision>,
    /// Why not all slices were listed.
    pub unlisted: Option<String>,
}

impl Snapshot {
    /// The snapshot of a run that still watches.
    pub(crate) fn of_watch(watching: Watching) -> Self {
        Self(Content::Watching(Box::new(watching)))
    }

    /// The snapshot of a run with a window that is over.
    pub(crate) fn of_window(evidence: Evidence) -> Self {
        Self(Content::Watched(Box::new(evidence)))
    }

    /// Copies the evidence, with a gap for what a run that ends now lacks. Returns `None` if the window has ended since.
    ///
    /// Call it on a thread that may block. The watch continues, and waits for the copy of one profile at most.
    pub fn take(self) -> Option<Evidence> {
        match self.0 {
            Content::Watched(evidence) => Some(*evidence),
            Content::Watching(watching) => watching.take(),
        }
    }

    /// Copies what the first list shows, as evidence of a run that lists once and reads nothing else.
    pub fn take_list(self) -> Option<Evidence> {
        let mut evidence = self.take()?;
        evidence.header.cut_short = None;
        for (kind, asked) in &mut evidence.header.asked {
            if !LISTED.contains(kind) {
                *asked = Asked::No(ONE_LOOK);
            }
        }
        evidence.gaps.retain(|gap| LISTED.contains(&gap.kind));
        Some(evidence)
    }
}

impl Watching {
    fn take(self) -> Option<Evidence> {
        let Self {
            mut evidence,
            record,
            slices,
            touched,
            clock,
            from,
            planned_end,
        } = self;
        let (recorded, known_until) = copy(&record)?;
        let copied_slices = match &slices {
            Some(slices) => match copy(&slices.record) {
                // Without a list there is nothing that would have to be whole.
                None if slices.unlisted.is_some() => Some((Recorded::default(), None)),
                None => return None,
                copied => copied,
            },
            None => None,
        };
        let until = clock.now();
        let window = Window { from, until };
        evidence.header.window = Some(window);
        // The driver's steps are not known yet: all that any run has touched is left out.
        let mut of_runs = of_other_runs(&recorded.histories, None);
        of_runs.extend(touched.of(ObjectKind::ClusterProfile));
        evidence.header.other_runs = of_runs;
        let touched_slices = touched.of(ObjectKind::PlacementDecision);
        evidence.driver = (!touched_slices.is_empty()).then(|| Driver {
            touched_slices,
            ..Driver::default()
        });
        let writers = asked_for_writers(&recorded.histories);
        evidence.header.asked.insert(Kind::Writers, writers);
        evidence.profiles = recorded.histories;
        evidence.unreadable.extend(recorded.unreadable);
        evidence.gaps.extend(recorded.gaps);
        let end = planned_end.max(until);
        // What a watch has not heard of by now is unknown: its connection may be dead.
        let since = known_until.unwrap_or(until);
        evidence.gaps.push(gap::<ClusterProfile>(since, end, NOT_WATCHED));
        if let (Some(slices), Some((recorded, known_until))) = (slices, copied_slices) {
            add_slices(&mut evidence, recorded, slices.unlisted.as_deref(), window);
            let since = known_until.unwrap_or(until);
            evidence
                .gaps
                .push(gap::<PlacementDecision>(since, end, NOT_WATCHED));
        }
        Some(evidence)
    }
}

/// Copies a record that goes on, and says until when it is known. Returns `None` if it was taken meanwhile.
fn copy<T: Tracked>(record: &timeline::Shared<T>) -> Option<(Recorded<T>, Option<Timestamp>)> {
    // Before the copy: it may lack what comes meanwhile.
    let known_until = record.lock().known_until();
    let next = |index: usize| record.lock().copy(index);
    let histories = (0..).map_while(next).collect();
    let recorded = record.lock().copied(histories)?;
    Some((recorded, known_until))
}
