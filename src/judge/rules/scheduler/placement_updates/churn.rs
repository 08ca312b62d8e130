//! Clusters that leave a decision and come back again and again.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use evidence::{
    Evidence, ObjectRef,
    api::{ClusterProfileReference, DecisionId, PlacementDecision},
};

use crate::{
    shared::placement::{DecisionChange, Profiles, Reason, each_decision_change},
    subjects::{Finding, Findings},
    time::{Micros, SECOND, is_surely_later},
};

/// A cluster that comes back later than this was dropped and selected anew.
const SOON: Micros = 300 * SECOND;

/// How often a cluster may come back.
const TIMES: usize = 3;

/// `placement-updates/not-churning`
///
/// No cluster leaves a decision and comes back within 5 min more than three times.
///
/// It does not count if the cluster's profile shows a reason, if another request got the same key, or if a cluster is in
/// no slice for at most 10 s while it moves: that is the matter of `placement-updates/no-torn-reschedule`.
pub(in crate::rules) fn not_churning(evidence: &Evidence, findings: &mut Findings) {
    let profiles = Profiles::of(evidence);
    let mut away: HashMap<(DecisionId, ClusterProfileReference), (Micros, &PlacementDecision)> =
        HashMap::new();
    let mut returns: BTreeMap<(DecisionId, ClusterProfileReference), (usize, &PlacementDecision)> =
        BTreeMap::new();
    let mut seen: BTreeSet<DecisionId> = BTreeSet::new();
    each_decision_change(evidence, |id, at, change| match change {
        DecisionChange::Came { cluster, slice } => {
            seen.insert(id);
            let key = (id, cluster);
            if let Some((left, old)) = away.remove(&key)
                && at - left <= SOON
                && !is_move((left, old), (at, slice))
                && !is_other_request(old, slice)
                && profiles.reason(&key.1, left, at) != Reason::Seen
            {
                let (count, last) = returns.entry(key).or_insert((0, slice));
                *count += 1;
                *last = slice;
            }
        }
        DecisionChange::Left { cluster, slice, .. } => _ = away.insert((id, cluster), (at, slice)),
        DecisionChange::Lost => away.retain(|(decision, _), _| *decision != id),
        _ => {}
    });
    let mut worst: BTreeMap<DecisionId, Worst> = BTreeMap::new();
    for ((id, cluster), (count, slice)) in returns.into_iter().filter(|(_, (count, _))| *count > TIMES) {
        let worst = worst.entry(id).or_default();
        worst.clusters += 1;
        if count > worst.count {
            (worst.count, worst.cluster, worst.slice) = (count, cluster, Some(slice));
        }
    }
    for (id, worst) in worst {
        findings.report(worst.finding(id));
    }
    findings.examined = seen.len();
    let seconds = evidence.header.window.map_or(0, |window| window.seconds());
    if seconds < SOON / SECOND {
        findings.cannot_tell(format!(
            "too early to tell: the watch lasted for {seconds} s only"
        ));
    }
}

/// The clusters of a decision that come back too often, and the one that does most often.
#[derive(Default)]
struct Worst<'e> {
    clusters: usize,
    count: usize,
    cluster: ClusterProfileReference,
    slice: Option<&'e PlacementDecision>,
}

impl Worst<'_> {
    fn finding(&self, id: DecisionId) -> Finding {
        let others = match self.clusters {
            1 => String::new(),
            clusters => format!(", the most of {clusters} clusters"),
        };
        Finding::on(
            self.slice.map(ObjectRef::from).unwrap_or_default(),
            "a cluster leaves the decision and comes back again and again",
        )
        .at("decisions")
        .expected(format!(
            "at most {TIMES} returns within {} min each, in {}",
            SOON / (60 * SECOND),
            id.describe()
        ))
        .observed(format!(
            "{}/{}: {} returns{others}",
            self.cluster.namespace, self.cluster.name, self.count
        ))
    }
}

/// Whether a cluster may have been on its way from one slice to another.
fn is_move(
    (left_at, left): (Micros, &PlacementDecision),
    (back_at, back): (Micros, &PlacementDecision),
) -> bool {
    !is_surely_later(left_at, back_at) && left.metadata.uid != back.metadata.uid
}

/// Whether a decision of the same key answers another request.
fn is_other_request(left: &PlacementDecision, back: &PlacementDecision) -> bool {
    let owners = left.controller().zip(back.controller());
    owners.is_some_and(|(old, new)| old.uid != new.uid)
}
