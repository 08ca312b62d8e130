//! Copies of the evidence of a run that goes on, with a gap for all that they lack.

use evidence::{
    Driver, Evidence, Gap, Kind, Requested, Window,
    api::{ClusterProfile, ObjectKind, PlacementDecision},
    runs::of_other_runs,
};
use jiff::Timestamp;

use super::Run;
use crate::{
    clock::later,
    hub::SINGLE_SNAPSHOT,
    watch::{add_watched, gap, timeline},
};

const CUT_SHORT: &str = "it did not end by itself: this is the copy of its evidence that it kept on the way";
const NOT_WATCHED: &str = "the run did not end by itself: what came after its last copy is unknown";
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

pub(super) struct Watched {
    pub from: Timestamp,
    pub profiles: timeline::Shared,
    pub slices: timeline::Shared<PlacementDecision>,
    /// Why not all slices were listed.
    pub unlisted_slices: Option<String>,
}

impl Run<'_> {
    /// A copy of the evidence so far, with a gap for what a run that ends now lacks.
    pub(super) fn copy(&self, watched: &Watched) -> Evidence {
        let mut evidence = self.unfinished();
        lack(&mut evidence, &WITH_WINDOW);
        if evidence.namespaces.is_empty() {
            lack(&mut evidence, &[Kind::Namespaces]);
        }
        let window = Window {
            from: watched.from,
            until: self.context.clock.now(),
        };
        let end = later(window.from, self.plan.observe).max(window.until);
        let (profiles, last) = {
            let record = watched.profiles.lock();
            (record.copy(), record.known_until().unwrap_or(window.until))
        };
        // The driver's steps are not known yet: all that any run has touched is left out.
        let mut of_runs = of_other_runs(&profiles.histories, None);
        of_runs.extend(self.context.touched.of(ObjectKind::ClusterProfile));
        evidence.header.other_runs = of_runs;
        let written_slices = self.context.touched.of(ObjectKind::PlacementDecision);
        evidence.driver = (!written_slices.is_empty()).then(|| Driver {
            written_slices,
            ..Driver::default()
        });
        // Later changes are unknown: the connection of a watch may be dead.
        evidence.gaps.push(gap::<ClusterProfile>(last, end, NOT_WATCHED));
        let slices = self.context.target.has_placements().then(|| {
            let record = watched.slices.lock();
            let last = record.known_until().unwrap_or(window.until);
            evidence
                .gaps
                .push(gap::<PlacementDecision>(last, end, NOT_WATCHED));
            (record.copy(), watched.unlisted_slices.as_deref())
        });
        add_watched(&mut evidence, profiles, slices, window);
        evidence
    }

    /// A copy of what the first list shows, as evidence of a run that lists once and reads nothing else.
    pub(super) fn first_list(&self, watched: &Watched) -> Evidence {
        let mut evidence = self.copy(watched);
        evidence.header.cut_short = None;
        for (kind, requested) in &mut evidence.header.requested {
            if !LISTED.contains(kind) {
                *requested = Requested::No(SINGLE_SNAPSHOT);
            }
        }
        evidence.gaps.retain(|gap| LISTED.contains(&gap.kind));
        evidence
    }

    /// Hands over a copy of the evidence now that the window is over, if the caller wants one.
    pub(super) fn keep_window(&self) {
        if self.context.progress.wants_snapshot(true) {
            self.context.progress.snapshot(self.unfinished());
        }
    }

    /// The evidence, without what is read when the window is over.
    fn unfinished(&self) -> Evidence {
        let mut evidence = self.evidence.clone();
        evidence.header.cut_short = Some(CUT_SHORT.to_owned());
        evidence.header.permissions = self.context.permissions.clone().into_inner();
        let secrets = self.plan.secrets.requested_if_explicit(NOT_READ.into());
        let probe = self.plan.probe.requested_if_explicit(NOT_READ.into());
        evidence.header.requested.extend([
            (Kind::Secrets, secrets.clone()),
            (Kind::UnlabelledSecrets, secrets),
            (Kind::Probe, probe),
        ]);
        lack(&mut evidence, &READ_LAST);
        evidence
    }
}

/// Notes that these kinds are not there, if they were requested.
fn lack(evidence: &mut Evidence, kinds: &[Kind]) {
    for &kind in kinds {
        if *evidence.requested(kind) == Requested::Yes {
            evidence.gaps.push(Gap::of(kind, NOT_READ));
        }
    }
}
