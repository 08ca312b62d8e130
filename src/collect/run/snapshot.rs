//! The evidence of a run that goes on, with a gap for all that it lacks.

use evidence::{Asked, Evidence, Gap, Kind};
use jiff::{SignedDuration, Timestamp};

use super::state::Run;
use crate::{
    hub::wanted::Wish,
    progress::snapshot::{Snapshot, Watching},
    watch::timeline,
};

/// Why the evidence ends early.
const CUT_SHORT: &str = "it did not end by itself: this is the copy of its evidence that it kept on the way";
/// Why evidence that comes last is missing.
const NOT_READ: &str = "the run ended before it was read";

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
        Snapshot::of_watch(Watching {
            evidence,
            record: record.clone(),
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
