//! Evaluates a function on the history of a decision: which clusters left its slices, and which came back.
//!
//! An interruption of the watch ends a history and begins another one.

use std::{collections::BTreeMap, mem, ptr};

use evidence::{
    SliceHistory, Version,
    api::{DecisionId, PlacementDecision},
};

use super::{
    Answer, Evaluate, Hub, Judged, judged::has_unknown_publisher, named_profiles::ProfileName,
    naming_entries::naming_entries,
};
use crate::{
    hash::{HashMap, HashSet},
    subjects::Findings,
    time::Micros,
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
    /// The number of changes of its clusters.
    pub(crate) changes: usize,
    /// In the order in which the clusters came back; those that did not are at the end.
    pub(crate) absences: Vec<Absence<'e>>,
    /// When the history ended.
    pub(crate) end: Micros,
}

/// A rule on the history of each decision.
#[derive(Debug)]
pub(crate) struct Histories(fn(&DecisionHistory) -> Answer);

/// A rule on the history of each decision.
pub(crate) fn history(check: fn(&DecisionHistory) -> Answer) -> Histories {
    Histories(check)
}

/// How one moment changes the number of slices with a cluster.
#[derive(Clone, Copy, Default)]
struct Move<'e> {
    difference: isize,
    added: Option<&'e PlacementDecision>,
    removed: Option<&'e PlacementDecision>,
}

/// A decision from moment to moment.
struct Progress<'e> {
    present: Vec<&'e Version<PlacementDecision>>,
    /// In how many slices each cluster is.
    counts: HashMap<ProfileName<'e>, isize>,
    /// When slices were first seen to wait for their finalizers, by uid.
    terminating: HashMap<&'e str, Micros>,
    absent: BTreeMap<ProfileName<'e>, Absence<'e>>,
    history: DecisionHistory<'e>,
}

impl<'e> Progress<'e> {
    fn new(id: DecisionId<'e>) -> Self {
        Self {
            present: Vec::new(),
            counts: HashMap::default(),
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

    /// Begins with the slices that a list shows.
    fn begin(&mut self, present: Vec<&'e Version<PlacementDecision>>, at: Micros) {
        for entry in present.iter().flat_map(|version| naming_entries(&version.object)) {
            *self.counts.entry(entry.name).or_default() += 1;
        }
        self.note_terminating(&present, at);
        self.present = present;
    }

    /// Takes the slices of the next moment.
    fn advance(&mut self, present: Vec<&'e Version<PlacementDecision>>, at: Micros) {
        self.note_terminating(&present, at);
        let moves = moves(&self.present, &present);
        self.history.changes += usize::from(!moves.is_empty());
        if present.is_empty() {
            self.absent
                .values_mut()
                .for_each(|absence| absence.was_without_slices = true);
        }
        for (cluster, step) in moves {
            let count = self.counts.entry(cluster).or_default();
            let before = mem::replace(count, *count + step.difference);
            match (before, *count, step.added, step.removed) {
                (0, _, Some(slice), _) => {
                    let absence = self.absent.remove(&cluster).map(|absence| Absence {
                        back: Some((slice, at)),
                        ..absence
                    });
                    self.history.absences.extend(absence);
                }
                (_, 0, _, Some(left)) => {
                    let terminating = self.terminating.get(&*left.metadata.uid);
                    let absence = Absence {
                        cluster,
                        left,
                        since: terminating.copied().unwrap_or(at),
                        back: None,
                        was_without_slices: present.is_empty(),
                    };
                    self.absent.insert(cluster, absence);
                }
                _ => {}
            }
        }
        self.present = present;
    }

    fn note_terminating(&mut self, present: &[&'e Version<PlacementDecision>], at: Micros) {
        for slice in present.iter().map(|version| &version.object) {
            if slice.is_terminating() {
                self.terminating.entry(&slice.metadata.uid).or_insert(at);
            }
        }
    }

    fn finish(mut self, end: Micros) -> DecisionHistory<'e> {
        self.history.absences.extend(self.absent.into_values());
        self.history.end = end;
        self.history
    }
}

/// The clusters that more, or fewer, slices have than before.
fn moves<'e>(
    before: &[&'e Version<PlacementDecision>],
    after: &[&'e Version<PlacementDecision>],
) -> BTreeMap<ProfileName<'e>, Move<'e>> {
    let pointers =
        |versions: &[&'e Version<PlacementDecision>]| -> HashSet<*const Version<PlacementDecision>> {
            versions.iter().map(|version| ptr::from_ref(*version)).collect()
        };
    let (old, new) = (pointers(before), pointers(after));
    let mut moves: BTreeMap<ProfileName, Move> = BTreeMap::new();
    for version in after
        .iter()
        .filter(|version| !old.contains(&ptr::from_ref(**version)))
    {
        for entry in naming_entries(&version.object) {
            let step = moves.entry(entry.name).or_default();
            step.difference += 1;
            step.added = Some(&version.object);
        }
    }
    for version in before
        .iter()
        .filter(|version| !new.contains(&ptr::from_ref(**version)))
    {
        for entry in naming_entries(&version.object) {
            let step = moves.entry(entry.name).or_default();
            step.difference -= 1;
            step.removed = Some(&version.object);
        }
    }
    moves.retain(|_, step| step.difference != 0);
    moves
}

/// The histories of a decision, one for each time without an interruption. What begins after the window does not count.
fn histories<'e>(
    hub: &Hub<'e>,
    id: DecisionId<'e>,
    timeline: &Timeline<'e, PlacementDecision>,
) -> Vec<DecisionHistory<'e>> {
    let mut histories = Vec::new();
    let mut progress: Option<Progress> = None;
    let mut objects = timeline.walk();
    for (place, moment) in timeline.moments().iter().enumerate() {
        let Some(slices) = objects.at(place) else {
            histories.extend(progress.take().map(|progress| progress.finish(moment.seen_at)));
            continue;
        };
        let slices = slices.iter().copied();
        let present = slices
            .filter(|version| DecisionId::of(&version.object) == id)
            .collect();
        match &mut progress {
            Some(progress) => progress.advance(present, moment.seen_at),
            None => progress.insert(Progress::new(id)).begin(present, moment.seen_at),
        }
    }
    histories.extend(progress.map(|progress| progress.finish(timeline.end())));
    let window_end = hub
        .evidence
        .header
        .window
        .map_or(Micros::MAX, |window| window.until.as_microsecond());
    for history in &mut histories {
        history.absences.retain(|absence| absence.since <= window_end);
    }
    histories
}

impl Evaluate for Histories {
    fn evaluate(&self, hub: &Hub, findings: &mut Findings) {
        let mut decisions: BTreeMap<DecisionId, Vec<&SliceHistory>> = BTreeMap::new();
        for life in hub.slices().iter().flat_map(|object| &object.lives) {
            let mut ids: Vec<DecisionId> = life
                .versions
                .iter()
                .map(|version| DecisionId::of(&version.object))
                .collect();
            ids.sort_unstable();
            ids.dedup();
            for id in ids {
                decisions.entry(id).or_default().push(life);
            }
        }
        for (id, lives) in decisions {
            let timeline = Timeline::of_group(hub.evidence, &lives);
            let histories = histories(hub, id, &timeline);
            let mut answer = Answer::each(&histories, self.0);
            if lives
                .iter()
                .any(|life| has_unknown_publisher(hub.slice_authors(), life))
            {
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
