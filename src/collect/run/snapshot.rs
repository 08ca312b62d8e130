//! The evidence of a run that goes on, with a gap for all that it lacks.

use evidence::{Asked, Evidence, Gap, Kind};
use jiff::{SignedDuration, Timestamp};

use super::state::Run;
use crate::{
    hub::wanted::Wish,
    progress::{SlicesSoFar, Snapshot, Watching},
    watch::timeline,
};

/// Why the evidence ends early.
const CUT_SHORT: &str = "it did not end by itself: this is the copy of its evidence that it kept on the way";
/// Why evidence that comes last is missing.
const NOT_READ: &str = "the run ended before it was read";
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

impl Run<'_> {
    /// The evidence so far, while the hub is watched. There are no slices where decisions are not judged.
    pub(crate) fn snapshot(
        &self,
        record: &timeline::Shared,
        slices: Option<&SlicesSoFar>,
        from: Timestamp,
    ) -> Snapshot {
        let observe = SignedDuration::try_from(self.plan.observe).unwrap_or(SignedDuration::MAX);
        let mut evidence = self.unfinished();
        lack(&mut evidence, &WITH_WINDOW);
        if evidence.namespaces.is_empty() {
            lack(&mut evidence, &[Kind::Namespaces]);
        }
        Snapshot::of_watch(Watching {
            evidence,
            record: record.clone(),
            slices: slices.cloned(),
            touched: self.touched.clone(),
            clock: self.clock,
            from,
            planned_end: from.saturating_add(observe).unwrap_or(Timestamp::MAX),
        })
    }

    /// Has a copy of the evidence kept now that the window is over, if somebody wants one.
    pub(super) fn keep_window(&self) {
        if self.progress.wants_snapshot(true) {
            self.progress.snapshot(Snapshot::of_window(self.unfinished()));
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
