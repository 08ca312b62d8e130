//! Evaluates a function on the history of a decision: which clusters left its slices, and which came back.
//!
//! An interruption of the watch ends a history and begins another one.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{
    SliceHistory,
    api::{DecisionId, PlacementDecision},
};

use super::{
    Answer, Evaluate, Hub, Judged,
    decisions::{ProfileName, naming_entries},
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

#[derive(Debug)]
pub(crate) struct Histories(fn(&DecisionHistory) -> Answer);

pub(crate) fn history(check: fn(&DecisionHistory) -> Answer) -> Histories {
    Histories(check)
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
    fn begin(id: DecisionId<'e>, slices: &[&'e PlacementDecision], at: Micros) -> Self {
        let mut progress = Self {
            clusters: clusters(slices),
            terminating: HashMap::default(),
            absent: BTreeMap::new(),
            history: DecisionHistory {
                id,
                changes: 0,
                absences: Vec::new(),
                end: Micros::MAX,
            },
        };
        progress.note_terminating(slices, at);
        progress
    }

    fn advance(&mut self, slices: &[&'e PlacementDecision], at: Micros) {
        self.note_terminating(slices, at);
        let now = clusters(slices);
        let is_same = self.clusters.len() == now.len()
            && self
                .clusters
                .iter()
                .zip(&now)
                .all(|(one, other)| one.0 == other.0 && one.1.0 == other.1.0);
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

    fn note_terminating(&mut self, slices: &[&'e PlacementDecision], at: Micros) {
        for slice in slices.iter().filter(|slice| slice.is_terminating()) {
            self.terminating.entry(&slice.metadata.uid).or_insert(at);
        }
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
        match &mut progress {
            Some(progress) => progress.advance(&present, moment.seen_at),
            None => progress = Some(DecisionProgress::begin(id, &present, moment.seen_at)),
        }
    }
    histories.extend(progress.map(|progress| progress.finish(timeline.end())));
    let window_end = end(hub.evidence).unwrap_or(Micros::MAX);
    for history in &mut histories {
        history.absences.retain(|absence| absence.since <= window_end);
    }
    histories
}

impl Evaluate for Histories {
    fn evaluate(&self, hub: &Hub, findings: &mut Findings) {
        let mut decisions: BTreeMap<DecisionId, Vec<&SliceHistory>> = BTreeMap::new();
        for life in hub.slices().iter().flat_map(|object| &object.lives) {
            let ids = life
                .versions
                .iter()
                .map(|version| DecisionId::of(&version.object));
            for id in ids.collect::<BTreeSet<DecisionId>>() {
                decisions.entry(id).or_default().push(life);
            }
        }
        for (id, lives) in decisions {
            let timeline = Timeline::of_group(hub.evidence, &lives, |_, _| false);
            let histories = histories(hub, id, &timeline);
            let mut answer = Answer::each(&histories, self.0);
            let mut lives_of = lives.iter();
            if lives_of.any(|life| has_unknown_publisher(hub.slice_authors(), life)) {
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
