//! Clusters that a reschedule leaves in no slice for a moment.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use evidence::{
    Evidence, ObjectRef,
    api::{ClusterProfileReference, DecisionId, PlacementDecision, names},
};

use crate::{
    shared::placement::{DecisionChange, Profiles, RESCHEDULE, Reason, each_decision_change},
    subjects::{Finding, Findings},
    time::{Micros, SECOND, is_surely_later, timestamp},
};

/// `placement-updates/no-torn-reschedule`
///
/// A cluster that a decision holds before and after a reschedule is in one of its slices all the time between.
///
/// A reschedule begins with a change after the decision has rested for the grace, and ends when it rests again. A cluster
/// that was away in between may have been dropped on purpose: if the decision paused without it for longer than 10 s, or
/// if it left and rejoined a slice that lived on, that is only a hint. If its profile shows a reason, it is none.
pub(in crate::rules) fn no_torn_reschedule(evidence: &Evidence, findings: &mut Findings) {
    findings.not_applicable("no decision changed while it was watched");
    let mut states: HashMap<DecisionId, Reschedule> = HashMap::new();
    let mut judge = Judge::of(evidence);
    let mut unfinished = 0;
    each_decision_change(evidence, |id, at, change| {
        let state = states.entry(id).or_default();
        match change {
            DecisionChange::Changed => state.change(at),
            DecisionChange::Came { cluster, slice } => state.come(cluster, slice, at),
            DecisionChange::Left {
                cluster,
                slice,
                keeps_others,
                was_announced,
            } => {
                let absence = Absence {
                    slice,
                    at,
                    keeps_others,
                };
                state.leave(cluster, absence, was_announced);
            }
            DecisionChange::Gone => state.gone = Some(at),
            DecisionChange::Settled => {
                if state.has_changed {
                    findings.examine();
                    judge.settled(id, state);
                }
                *state = Reschedule {
                    is_known: true,
                    ..Reschedule::default()
                };
            }
            DecisionChange::Lost => *state = Reschedule::default(),
            DecisionChange::Unfinished => unfinished += usize::from(state.has_begun),
        }
    });
    judge.report(findings);
    if unfinished > 0 {
        let why = format!(
            "reschedules are judged only between rests of {} s, which {unfinished} of the decisions did not take at the end",
            RESCHEDULE / SECOND
        );
        match findings.examined {
            0 => findings.cannot_tell(format!("too early to tell: {why}")),
            _ => findings.note(why),
        }
    }
}

/// A cluster's way out.
#[derive(Clone, Copy)]
struct Absence<'e> {
    /// The last slice that had it, as it was.
    slice: &'e PlacementDecision,
    at: Micros,
    /// Whether that slice kept other clusters.
    keeps_others: bool,
}

/// A cluster's way back.
struct Return<'e> {
    absence: Absence<'e>,
    slice: &'e PlacementDecision,
    at: Micros,
    /// Whether the decision paused without it, so that it may have been dropped on purpose.
    has_paused: bool,
    /// Whether no slice was left meanwhile.
    was_gone: bool,
}

/// What a decision has gone through since it last rested.
#[derive(Default)]
struct Reschedule<'e> {
    /// Whether it rested before, so that its old clusters are known.
    is_known: bool,
    has_begun: bool,
    /// The same, of a decision that rested before.
    has_changed: bool,
    /// The clusters that it did not hold before.
    new: HashSet<ClusterProfileReference>,
    /// The old clusters that are in no slice.
    away: HashMap<ClusterProfileReference, Absence<'e>>,
    /// The old clusters that came back.
    back: HashMap<ClusterProfileReference, Return<'e>>,
    changed: Option<Micros>,
    /// When the last pause began.
    paused: Option<Micros>,
    /// When the last slice went.
    gone: Option<Micros>,
}

impl<'e> Reschedule<'e> {
    fn change(&mut self, at: Micros) {
        self.has_begun = true;
        self.has_changed = self.is_known;
        if let Some(last) = self.changed.filter(|last| is_surely_later(*last, at)) {
            self.paused = Some(last);
        }
        self.changed = Some(at);
    }

    fn come(&mut self, cluster: ClusterProfileReference, slice: &'e PlacementDecision, at: Micros) {
        if !self.is_known {
            return;
        }
        let Some(absence) = self.away.remove(&cluster) else {
            self.new.insert(cluster);
            return;
        };
        let since = |time: Option<Micros>| time.is_some_and(|time| time >= absence.at);
        let back = Return {
            absence,
            slice,
            at,
            has_paused: since(self.paused),
            was_gone: since(self.gone),
        };
        self.back.insert(cluster, back);
    }

    fn leave(&mut self, cluster: ClusterProfileReference, absence: Absence<'e>, was_announced: bool) {
        if !self.is_known || self.new.contains(&cluster) {
            return;
        }
        if was_announced {
            self.new.insert(cluster);
        } else {
            self.away.insert(cluster, absence);
        }
    }
}

/// How sure it is that a cluster's absence was no decision.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Certainty {
    Hint,
    Sure,
}

impl Return<'_> {
    /// None if it was a decision.
    fn certainty(&self) -> Option<Certainty> {
        let (left, back) = (self.absence.slice, self.slice);
        let is_same_slice =
            left.metadata.uid == back.metadata.uid && left.metadata.name == back.metadata.name;
        let owners = (left.controller(), back.controller());
        match owners {
            // Another request: the old one was over.
            (Some(old), Some(new)) if self.was_gone && old.uid != new.uid => None,
            (None, _) | (_, None) if self.was_gone => Some(Certainty::Hint),
            _ if is_same_slice && self.has_paused => None,
            _ if is_same_slice && self.absence.keeps_others => Some(Certainty::Hint),
            _ if self.has_paused => Some(Certainty::Hint),
            _ => Some(Certainty::Sure),
        }
    }
}

/// The torn reschedules of one decision.
struct Torn {
    count: usize,
    certainty: Certainty,
    /// The first of the surest.
    finding: Finding,
}

struct Judge<'e> {
    evidence: &'e Evidence,
    profiles: Profiles<'e>,
    /// The namespaces with slices that could not be read; empty for one that is unknown.
    unread: BTreeSet<&'e str>,
    torn: BTreeMap<DecisionId<'e>, Torn>,
    excused: usize,
}

impl<'e> Judge<'e> {
    fn of(evidence: &'e Evidence) -> Self {
        let unread = evidence.unreadable.iter().map(|unreadable| &unreadable.object);
        let unread = unread.filter(|object| object.kind.is_empty() || object.kind == names::PLACEMENT_KIND);
        Self {
            evidence,
            profiles: Profiles::of(evidence),
            unread: unread.map(|object| &*object.namespace).collect(),
            torn: BTreeMap::new(),
            excused: 0,
        }
    }

    /// Judges a reschedule that is over.
    fn settled(&mut self, id: DecisionId<'e>, state: &Reschedule<'e>) {
        let mut found: Vec<(Certainty, &ClusterProfileReference, &Return)> = Vec::new();
        for (cluster, back) in &state.back {
            if state.away.contains_key(cluster) {
                continue;
            }
            let Some(certainty) = back.certainty() else {
                continue;
            };
            let certainty = match self.profiles.reason(cluster, back.absence.at, back.at) {
                Reason::Seen => {
                    self.excused += 1;
                    continue;
                }
                Reason::Unknown => Certainty::Hint,
                Reason::None if self.may_be_unread(id) => Certainty::Hint,
                Reason::None => certainty,
            };
            found.push((certainty, cluster, back));
        }
        // The surest first, and of those the longest.
        found.sort_by_key(|(certainty, cluster, back)| {
            (std::cmp::Reverse(*certainty), back.absence.at - back.at, *cluster)
        });
        let Some((certainty, cluster, back)) = found.first() else {
            return;
        };
        let finding = finding(id, cluster, back, found.len() - 1);
        match self.torn.get_mut(&id) {
            None => {
                let torn = Torn {
                    count: 1,
                    certainty: *certainty,
                    finding,
                };
                self.torn.insert(id, torn);
            }
            Some(torn) => {
                torn.count += 1;
                if *certainty > torn.certainty {
                    torn.certainty = *certainty;
                    torn.finding = finding;
                }
            }
        }
    }

    fn may_be_unread(&self, id: DecisionId<'_>) -> bool {
        self.unread.contains("") || self.unread.contains(id.namespace)
    }

    fn report(self, findings: &mut Findings) {
        for torn in self.torn.into_values() {
            let mut finding = torn.finding;
            if torn.count > 1 {
                let observed = format!("{}; so in {} reschedules", finding.observed, torn.count);
                finding = finding.observed(observed);
            }
            findings.report(match torn.certainty {
                Certainty::Sure => finding,
                Certainty::Hint => finding.advisory(),
            });
        }
        if self.excused > 0 {
            findings.note(format!(
                "{} clusters were dropped and taken back while their profiles showed a reason",
                self.excused
            ));
        }
        if !self.unread.is_empty() && !self.evidence.slices.is_empty() {
            findings.note("some slices could not be read: clusters that seem to be in none may be in those");
        }
    }
}

fn finding(id: DecisionId, cluster: &ClusterProfileReference, back: &Return, more: usize) -> Finding {
    let (left, slice) = (back.absence.slice, back.slice);
    let others = match more {
        0 => String::new(),
        1 => " and 1 more cluster".to_owned(),
        more => format!(" and {more} more clusters"),
    };
    Finding::on(
        ObjectRef::from(left),
        "a reschedule leaves a cluster in no slice for a time",
    )
    .at("decisions")
    .expected(format!(
        "each kept cluster in a slice all the time, in {}",
        id.describe()
    ))
    .observed(format!(
        "{}/{}{others} left slice {} at {}, back in slice {} after {}",
        cluster.namespace,
        cluster.name,
        left.metadata.name,
        timestamp(back.absence.at),
        slice.metadata.name,
        span(back.at - back.absence.at)
    ))
}

/// A short time in words.
fn span(time: Micros) -> String {
    match time / SECOND {
        0 => format!("{} ms", time / 1000),
        seconds => format!("{seconds} s"),
    }
}
