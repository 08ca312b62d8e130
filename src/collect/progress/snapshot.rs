//! The evidence of a run that goes on: a copy of it survives the runner.

use evidence::{Asked, Evidence, Gap, Kind, Window, runs::of_other_runs};
use jiff::{SignedDuration, Timestamp};

use crate::{
    clock::Clock,
    run::{
        plan::Wish,
        profiles::{Run, asked_for_writers},
        share::share,
    },
    watch::timeline,
};

/// Why the evidence ends early.
const CUT_SHORT: &str = "it did not end by itself: this is the copy of its evidence that it kept on the way";
/// Why the timeline ends where it does.
const NOT_WATCHED: &str = "the run did not end by itself: what came after its last copy is unknown";
/// Why evidence that comes last is missing.
const NOT_READ: &str = "the run ended before it was read";

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
struct Watching {
    /// All but the profiles.
    evidence: Evidence,
    record: timeline::Shared,
    clock: Clock,
    from: Timestamp,
    /// When the window is to end.
    planned_end: Timestamp,
}

impl Snapshot {
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

impl Run<'_> {
    /// The evidence so far, while the hub is watched.
    pub(crate) fn snapshot(&self, record: &timeline::Shared, from: Timestamp) -> Snapshot {
        let observe = SignedDuration::try_from(self.plan.observe).unwrap_or(SignedDuration::MAX);
        let mut evidence = self.unfinished();
        let is_asked = |kind: Kind| *evidence.asked(kind) == Asked::Yes;
        let lacks_namespaces = is_asked(Kind::Namespaces) && evidence.namespaces.is_empty();
        let lacking = [
            (Kind::Namespaces, lacks_namespaces),
            (Kind::Driver, is_asked(Kind::Driver)),
        ];
        let lacking = lacking.into_iter().filter(|(_, lacks)| *lacks);
        let gaps: Vec<Gap> = lacking.map(|(kind, _)| Gap::of(kind, NOT_READ)).collect();
        evidence.gaps.extend(gaps);
        Snapshot(Content::Watching(Box::new(Watching {
            evidence,
            record: record.clone(),
            clock: self.clock,
            from,
            planned_end: from.saturating_add(observe).unwrap_or(Timestamp::MAX),
        })))
    }

    /// The evidence when the window is over.
    pub(crate) fn snapshot_of_window(&self) -> Snapshot {
        Snapshot(Content::Watched(Box::new(self.unfinished())))
    }

    /// The evidence, without what is read when the window is over.
    fn unfinished(&self) -> Evidence {
        let mut evidence = self.evidence.clone();
        evidence.header.cut_short = Some(CUT_SHORT.to_owned());
        evidence.header.permissions = self.permissions.clone().into_inner();
        let wished = |wish: &Wish| match wish {
            Wish::Asked => Asked::Yes,
            Wish::IfAllowed => Asked::No(NOT_READ.into()),
            Wish::No(reason) => Asked::No(reason.clone()),
        };
        let of_secrets = self.plan.of_first_share();
        let of_secrets = of_secrets.unwrap_or_else(|| wished(&self.plan.secrets));
        evidence.header.asked.extend([
            (Kind::Secrets, of_secrets.clone()),
            (Kind::UnlabelledSecrets, of_secrets),
            (Kind::Probe, wished(&self.plan.probe)),
        ]);
        for kind in [
            Kind::Secrets,
            Kind::UnlabelledSecrets,
            Kind::Probe,
            Kind::Members,
            Kind::Plugins,
            Kind::Requests,
        ] {
            if *evidence.asked(kind) == Asked::Yes {
                evidence.gaps.push(Gap::of(kind, NOT_READ));
            }
        }
        evidence
    }
}
