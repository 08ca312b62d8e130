//! Evaluates a function on the history of a decision: which clusters left its slices, and which came back.
//!
//! An interruption of the watch ends a history and begins another one.

use std::collections::BTreeMap;

use evidence::api::{DecisionId, PlacementDecision};

use super::{
    Answer, Evaluate, Hub, Judged,
    decisions::{ProfileName, lives_by, naming_entries},
    judged::has_unknown_publisher,
};
use crate::{
    hash::HashMap,
    subjects::Findings,
    time::{Micros, end},
    timeline::Timeline,
};

/// The time in which a cluster was in no slice of its decision.
pub(crate) struct Absence<'e> {
    /// Namespace and name of the cluster's profile.
    pub(crate) cluster: ProfileName<'e>,
    /// The last slice that had the cluster, in its last version with it.
    pub(crate) left: &'e PlacementDecision,
    /// When that slice lost the cluster, or began to wait for its finalizers.
    pub(crate) since: Micros,
    /// The slice that has the cluster again, and since when.
    pub(crate) back: Option<(&'e PlacementDecision, Micros)>,
    /// Whether the decision had no slice at some time in between.
    pub(crate) was_without_slices: bool,
}

/// The history of a decision between two interruptions of the watch.
pub(crate) struct DecisionHistory<'e> {
    pub(crate) id: DecisionId<'e>,
    pub(crate) changes: usize,
    /// In the order in which the clusters came back; those that did not are at the end.
    pub(crate) absences: Vec<Absence<'e>>,
    pub(crate) end: Micros,
}

/// A rule on each history of a decision.
pub(crate) fn history(check: fn(&DecisionHistory) -> Answer) -> impl Evaluate {
    move |hub: &Hub, findings: &mut Findings| {
        for (id, lives) in lives_by(hub, DecisionId::of) {
            let timeline = Timeline::of_group(hub.evidence, &lives, |_, _| false);
            let mut answer = Answer::each(&histories(hub, id, &timeline), check);
            let authors = hub.slice_authors();
            if lives.iter().any(|life| has_unknown_publisher(authors, life)) {
                answer = answer.as_warning();
            }
            if matches!(answer, Answer::Unknown(_)) {
                let slices = lives.iter().filter_map(|life| life.current());
                slices.for_each(|slice| slice.wait_for(findings));
            }
            findings.count(answer);
        }
    }
}

/// In how many slices each cluster is, and one of them.
type SlicesOfClusters<'e> = BTreeMap<ProfileName<'e>, (usize, &'e PlacementDecision)>;

fn clusters<'e>(slices: &[&'e PlacementDecision]) -> SlicesOfClusters<'e> {
    let mut clusters = SlicesOfClusters::new();
    for slice in slices {
        for entry in naming_entries(slice) {
            let known = clusters.entry(entry.name).or_insert((0, *slice));
            *known = (known.0 + 1, *slice);
        }
    }
    clusters
}

/// A decision from moment to moment.
struct DecisionProgress<'e> {
    clusters: SlicesOfClusters<'e>,
    /// When slices were first seen to wait for their finalizers, by uid.
    terminating: HashMap<&'e str, Micros>,
    absent: BTreeMap<ProfileName<'e>, Absence<'e>>,
    history: DecisionHistory<'e>,
}

impl<'e> DecisionProgress<'e> {
    fn begin(id: DecisionId<'e>, slices: &[&'e PlacementDecision]) -> Self {
        Self {
            clusters: clusters(slices),
            terminating: HashMap::default(),
            absent: BTreeMap::new(),
            history: DecisionHistory {
                id,
                changes: 0,
                absences: Vec::new(),
                end: Micros::MAX,
            },
        }
    }

    fn advance(&mut self, slices: &[&'e PlacementDecision], at: Micros) {
        for slice in slices.iter().filter(|slice| slice.is_terminating()) {
            self.terminating.entry(&slice.metadata.uid).or_insert(at);
        }
        let now = clusters(slices);
        let before = self.clusters.iter().map(|(cluster, (count, _))| (cluster, count));
        let is_same = before.eq(now.iter().map(|(cluster, (count, _))| (cluster, count)));
        self.history.changes += usize::from(!is_same);
        if slices.is_empty() {
            let absent = self.absent.values_mut();
            absent.for_each(|absence| absence.was_without_slices = true);
        }
        for (cluster, (_, slice)) in &now {
            let absence = self.absent.remove(cluster).map(|absence| Absence {
                back: Some((slice, at)),
                ..absence
            });
            self.history.absences.extend(absence);
        }
        let gone = self
            .clusters
            .iter()
            .filter(|(cluster, _)| !now.contains_key(*cluster));
        for (cluster, (_, left)) in gone {
            let terminating = self.terminating.get(&*left.metadata.uid);
            let absence = Absence {
                cluster: *cluster,
                left,
                since: terminating.copied().unwrap_or(at),
                back: None,
                was_without_slices: slices.is_empty(),
            };
            self.absent.insert(*cluster, absence);
        }
        self.clusters = now;
    }

    fn finish(mut self, end: Micros) -> DecisionHistory<'e> {
        self.history.absences.extend(self.absent.into_values());
        self.history.end = end;
        self.history
    }
}

/// The histories of a decision, one for each time without an interruption. What begins after the window does not count.
fn histories<'e>(
    hub: &Hub<'e>,
    id: DecisionId<'e>,
    timeline: &Timeline<'e, PlacementDecision>,
) -> Vec<DecisionHistory<'e>> {
    let mut histories = Vec::new();
    let mut progress: Option<DecisionProgress> = None;
    for (place, moment) in timeline.moments().iter().enumerate() {
        let Some(slices) = timeline.objects(place) else {
            histories.extend(progress.take().map(|progress| progress.finish(moment.seen_at)));
            continue;
        };
        let slices = slices.iter().map(|version| &version.object);
        let present: Vec<&PlacementDecision> = slices.filter(|slice| DecisionId::of(slice) == id).collect();
        let progress = progress.get_or_insert_with(|| DecisionProgress::begin(id, &present));
        progress.advance(&present, moment.seen_at);
    }
    histories.extend(progress.map(|progress| progress.finish(timeline.end())));
    let window_end = end(hub.evidence).unwrap_or(Micros::MAX);
    for history in &mut histories {
        history.absences.retain(|absence| absence.since <= window_end);
    }
    histories
}
