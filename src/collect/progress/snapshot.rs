//! The evidence of a run that goes on: a copy of it survives the runner.

use evidence::{Evidence, Gap, Kind, Window, runs::of_other_runs};
use jiff::Timestamp;

use crate::{
    clock::Clock,
    watch::{
        seen::{asked_for_writers, share},
        timeline,
    },
};

/// Why the timeline ends where it does.
const NOT_WATCHED: &str = "the run did not end by itself: what came after its last copy is unknown";

/// The evidence so far, still to be copied.
#[derive(Debug)]
pub struct Snapshot(Content);

enum Content {
    /// The window is over.
    Watched(Box<Evidence>),
    /// The watch goes on beside.
    Watching(Box<Watching>),
}

impl std::fmt::Debug for Content {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Content::Watched(_) => "Watched",
            Content::Watching(_) => "Watching",
        })
    }
}

/// What goes into the evidence, and the record that its profiles are copied from.
pub(crate) struct Watching {
    /// All but the profiles.
    pub evidence: Evidence,
    pub record: timeline::Shared,
    pub clock: Clock,
    pub from: Timestamp,
    /// When the window is to end.
    pub planned_end: Timestamp,
}

impl Snapshot {
    /// That of a run whose watch goes on beside.
    pub(crate) fn of_watch(watching: Watching) -> Self {
        Self(Content::Watching(Box::new(watching)))
    }

    /// That of a run whose window is over.
    pub(crate) fn of_window(evidence: Evidence) -> Self {
        Self(Content::Watched(Box::new(evidence)))
    }

    /// Copies the evidence, with a gap for all that a run which ends now lacks. Returns `None` if the window ended
    /// meanwhile.
    ///
    /// Call it on a thread that may block. The watch goes on beside: it waits for the copy of one profile at most.
    pub fn take(self) -> Option<Evidence> {
        match self.0 {
            Content::Watched(evidence) => Some(*evidence),
            Content::Watching(watching) => watching.take(),
        }
    }
}

impl Watching {
    fn take(self) -> Option<Evidence> {
        let Self {
            mut evidence,
            record,
            clock,
            from,
            planned_end,
        } = self;
        // Before the copy: it may lack what comes meanwhile.
        let known_until = record.lock().known_until();
        let next = |index: usize| record.lock().copy(index);
        let profiles = (0..).map_while(next).collect();
        let recorded = record.lock().copied(profiles)?;
        let until = clock.now();
        evidence.header.window = Some(Window { from, until });
        // The driver's steps are not known yet: all that any run has touched is left out.
        evidence.header.other_runs = of_other_runs(&recorded.histories, None);
        let writers = asked_for_writers(&recorded.histories);
        evidence.header.asked.insert(Kind::Writers, writers);
        evidence.profiles = recorded.histories;
        evidence.unreadable.extend(recorded.unreadable);
        evidence.gaps.extend(recorded.gaps);
        if let Some(shard) = evidence.header.scope.shard {
            evidence.header.shares = vec![share(shard, &evidence)];
        }
        // What the watch has not heard of by now is unknown: its connection may be dead.
        let known_until = known_until.unwrap_or(until);
        evidence.gaps.push(Gap {
            from: Some(known_until),
            until: Some(planned_end.max(until)),
            ..Gap::of(Kind::Timeline, NOT_WATCHED)
        });
        Some(evidence)
    }
}
