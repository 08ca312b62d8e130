//! Copies of the evidence of a run that goes on, with a gap for all that they lack.

use std::fmt;

use evidence::{
    Asked, Driver, Evidence, Gap, Kind, Tracked, Window,
    api::{ClusterProfile, ObjectKind, PlacementDecision},
    runs::of_other_runs,
};
use jiff::{SignedDuration, Timestamp};

use super::{state::Run, watches::Watches};
use crate::{
    clock::Clock,
    driver::Touched,
    hub::{missing::ONE_LOOK, wanted::Wish},
    watch::{
        record::Recorded,
        seen::{add_slices, asked_for_writers},
        timeline::{self, gap},
    },
};

/// Why the evidence ends early.
const CUT_SHORT: &str = "it did not end by itself: this is the copy of its evidence that it kept on the way";
/// Why the timeline ends where it does.
const NOT_WATCHED: &str = "the run did not end by itself: what came after its last copy is unknown";
/// Why evidence that comes last is missing.
const NOT_READ: &str = "the run ended before it was read";
/// The evidence that the first list gives.
const LISTED: [Kind; 3] = [Kind::Inventory, Kind::PlacementDecisions, Kind::Writers];
/// What a run reads when its window is over.
const READ_LAST: [Kind; 6] = [
    Kind::Secrets,
    Kind::UnlabelledSecrets,
    Kind::Probe,
    Kind::Members,
    Kind::Plugins,
    Kind::Requests,
];
/// What a run puts into its evidence when its window ends.
const WITH_WINDOW: [Kind; 6] = [
    Kind::Driver,
    Kind::Testbed,
    Kind::MemberCalls,
    Kind::PluginCalls,
    Kind::Mentions,
    Kind::Outputs,
];

/// What the watches of a run have brought so far, to be copied.
#[derive(Clone)]
pub(super) struct Snapshots {
    profiles: timeline::Shared,
    /// The slices, and why not all of them were listed; none if decisions are not judged.
    slices: Option<(timeline::Shared<PlacementDecision>, Option<String>)>,
    /// What the run has written to.
    touched: Touched,
    clock: Clock,
    from: Timestamp,
    /// When the window is to end.
    planned_end: Timestamp,
}

/// The evidence so far, still to be copied.
pub struct Snapshot {
    evidence: Evidence,
    /// What the watches go on to bring; none if the window is over.
    watched: Option<Snapshots>,
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").finish_non_exhaustive()
    }
}

impl Run<'_> {
    /// What is copied while these watches go on.
    pub(super) fn snapshots(
        &self,
        profiles: &timeline::Shared,
        slices: &Watches<PlacementDecision>,
        from: Timestamp,
    ) -> Snapshots {
        let observe = SignedDuration::try_from(self.plan.observe).unwrap_or(SignedDuration::MAX);
        let are_judged = self.target.placements.is_some();
        Snapshots {
            profiles: profiles.clone(),
            slices: are_judged.then(|| (slices.record.clone(), slices.unlisted.clone())),
            touched: self.touched.clone(),
            clock: self.clock,
            from,
            planned_end: from.saturating_add(observe).unwrap_or(Timestamp::MAX),
        }
    }

    /// Hands over a copy of the evidence now that the window is over, if the caller wants one.
    pub(super) fn keep_window(&self) {
        if self.progress.wants_snapshot(true) {
            self.progress.snapshot(Snapshot {
                evidence: self.unfinished(),
                watched: None,
            });
        }
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
        let secrets = wished(&self.plan.secrets);
        evidence.header.asked.extend([
            (Kind::Secrets, secrets.clone()),
            (Kind::UnlabelledSecrets, secrets),
            (Kind::Probe, wished(&self.plan.probe)),
        ]);
        lack(&mut evidence, &READ_LAST);
        evidence
    }
}

/// Notes that these kinds, as far as they were requested, are not there.
fn lack(evidence: &mut Evidence, kinds: &[Kind]) {
    for &kind in kinds {
        if *evidence.asked(kind) == Asked::Yes {
            evidence.gaps.push(Gap::of(kind, NOT_READ));
        }
    }
}

impl Snapshots {
    /// The evidence of the run so far.
    pub fn snapshot(&self, run: &Run) -> Snapshot {
        let mut evidence = run.unfinished();
        lack(&mut evidence, &WITH_WINDOW);
        if evidence.namespaces.is_empty() {
            lack(&mut evidence, &[Kind::Namespaces]);
        }
        Snapshot {
            evidence,
            watched: Some(self.clone()),
        }
    }

    /// Adds copies of what the watches have brought. Returns `None` if the window has ended since.
    fn add_to(self, mut evidence: Evidence) -> Option<Evidence> {
        let (recorded, known_until) = copy(&self.profiles)?;
        let slices = match self.slices {
            Some((record, unlisted)) => match copy(&record) {
                // Without a list there is nothing to copy as a whole.
                None if unlisted.is_some() => Some((Recorded::default(), None, unlisted)),
                copied => copied.map(|(recorded, known)| Some((recorded, known, unlisted)))?,
            },
            None => None,
        };
        let until = self.clock.now();
        let window = Window {
            from: self.from,
            until,
        };
        evidence.header.window = Some(window);
        // The driver's steps are not known yet: all that any run has touched is left out.
        let mut of_runs = of_other_runs(&recorded.histories, None);
        of_runs.extend(self.touched.of(ObjectKind::ClusterProfile));
        evidence.header.other_runs = of_runs;
        let touched_slices = self.touched.of(ObjectKind::PlacementDecision);
        evidence.driver = (!touched_slices.is_empty()).then(|| Driver {
            touched_slices,
            ..Driver::default()
        });
        let writers = asked_for_writers(&recorded.histories);
        evidence.header.asked.insert(Kind::Writers, writers);
        evidence.profiles = recorded.histories;
        evidence.unreadable.extend(recorded.unreadable);
        evidence.gaps.extend(recorded.gaps);
        let end = self.planned_end.max(until);
        // What a watch has not heard of by now is unknown: its connection may be dead.
        let since = known_until.unwrap_or(until);
        evidence.gaps.push(gap::<ClusterProfile>(since, end, NOT_WATCHED));
        if let Some((recorded, known_until, unlisted)) = slices {
            add_slices(&mut evidence, recorded, unlisted.as_deref(), window);
            let since = known_until.unwrap_or(until);
            let lost = gap::<PlacementDecision>(since, end, NOT_WATCHED);
            evidence.gaps.push(lost);
        }
        Some(evidence)
    }
}

/// Copies a record that goes on, and returns until when it is known; `None` if it was taken meanwhile.
fn copy<T: Tracked>(record: &timeline::Shared<T>) -> Option<(Recorded<T>, Option<Timestamp>)> {
    // Before the copy: it may lack what comes meanwhile.
    let known_until = record.lock().known_until();
    let next = |index: usize| record.lock().copy(index);
    let histories = (0..).map_while(next).collect();
    let recorded = record.lock().copied(histories)?;
    Some((recorded, known_until))
}

impl Snapshot {
    /// Copies the evidence, with a gap for what a run that ends now lacks. Returns `None` if the window has ended since.
    ///
    /// Call it on a thread that may block. The watch continues, and waits for the copy of one profile at most.
    pub fn take(self) -> Option<Evidence> {
        match self.watched {
            Some(watched) => watched.add_to(self.evidence),
            None => Some(self.evidence),
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
