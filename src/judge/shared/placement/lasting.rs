//! Faults of several slices together, by how long they lasted.
//!
//! A scheduler changes slices one after the other, so a set of slices may have a fault for a moment that no slice has by
//! itself.

use std::{collections::BTreeMap, hash::Hash};

use evidence::{
    Asked, Evidence, Kind,
    api::{PlacementDecision, names},
};

use super::related::related;
use crate::{
    subjects::{Finding, Findings},
    time::{Change, Known, Lasting, Micros, SECOND, Together, While, timestamp},
    who::publisher::publishers_of,
};

/// How long a scheduler may take to change the slices of a decision one after the other.
pub(crate) const RESCHEDULE: Micros = 30 * SECOND;

/// The slices that are there at a moment, each at a place that it keeps.
type Slices<'e> = BTreeMap<usize, &'e PlacementDecision>;

/// The slices in scope between two changes of any of them.
pub(crate) struct Moment<'a, 'e> {
    present: &'a Slices<'e>,
}

impl<'e> Moment<'_, 'e> {
    /// The slices, in the order of their first appearance.
    pub(crate) fn slices(&self) -> impl Iterator<Item = &'e PlacementDecision> {
        self.present.values().copied()
    }
}

/// Whether a change may be the beginning or the end of a fault, with the slices that it leaves: one of labels, owners, or
/// field managers, or of the clusters where a slice has no key.
fn concerns(change: &Change<'_, PlacementDecision>, beside: &Slices) -> bool {
    let (Some(before), Some(after)) = (change.before, change.after) else {
        return true;
    };
    let has_key = |slice: &&PlacementDecision| {
        let key = slice.label(names::LABEL_DECISION_KEY);
        key.is_some_and(|key| !key.is_empty())
    };
    let (was, is) = (&before.metadata, &after.metadata);
    (before.decisions != after.decisions && !beside.values().all(has_key))
        || was.labels != is.labels
        || was.owner_references != is.owner_references
        || was.deletion_timestamp != is.deletion_timestamp
        || before.scheduler_name != after.scheduler_name
        || publishers_of(before) != publishers_of(after)
}

/// What a fault has in common with the same fault at another moment: its object, path and message.
fn key_of(finding: &Finding) -> String {
    format!("{} {} {}", finding.object.path(), finding.path, finding.message)
}

/// How long a fault lasts that counts though its slices are written all the time: longer than a scheduler that sends 20
/// requests a second takes for two writes of each of 1,000 slices. It is also longer than the restart of a scheduler that
/// was stopped between two writes.
const RESTLESS: Micros = 300 * SECOND;

/// What to make of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weight {
    /// It lasted.
    Violation,
    /// It lasted, but a scheduler that restarted just then may have left it for a while.
    Warning,
    /// Whether it lasted, the evidence does not tell.
    Unsure,
    /// It passed in time.
    Passed,
}

/// Judges the slices that have the same `tie` at any time, at each moment, and reports faults that lasted for longer than
/// `grace` while no slice was written.
///
/// A fault of a single look may be about to pass, so it is only a warning. So is one that was seen for 5 min at most, unless
/// it was there from the first list to the end of the window: a scheduler may restart between two writes. If the window was
/// too short to tell, there is no verdict.
pub(crate) fn faults_among<'e, T: Eq + Hash>(
    evidence: &'e Evidence,
    findings: &mut Findings,
    grace: Micros,
    tie: impl Fn(&'e PlacementDecision) -> Option<T>,
    mut faults: impl FnMut(&Moment<'_, 'e>) -> Vec<Finding>,
) {
    let is_watched = *evidence.asked(Kind::PlacementTimeline) == Asked::Yes;
    let mut judged = Judged::default();
    for group in related(evidence, tie) {
        let slices = Together::settled(evidence, &group.histories, &group.later);
        let found = slices.whiles(|present, changes| {
            // Most changes are of clusters alone, and a decision may have a thousand slices.
            let is_concerned = changes.iter().any(|change| concerns(change, present));
            let moment = Moment { present };
            let found = is_concerned.then(|| faults(&moment))?;
            Some(
                found
                    .into_iter()
                    .map(|finding| (key_of(&finding), finding))
                    .collect(),
            )
        });
        // Nearly no decision has any.
        if found.is_empty() {
            continue;
        }
        let at_rest = slices.at_rest(grace);
        for (key, state) in &found {
            let Lasting { when, last, .. } = state;
            if is_watched {
                let weight = weigh(&slices, state, &at_rest, grace);
                if weight == Weight::Unsure && when.is_open() {
                    findings.wait_for_slice(&last.object);
                }
                judged.add(key, weight, when, last, grace);
            } else if when.is_open() {
                findings.report(last.clone().advisory());
            }
        }
    }
    judged.report(findings, grace);
    evidence.slice_histories().for_each(|_| findings.examine());
}

/// Weighs a fault by how long it lasted in all, and at rest: a scheduler that still writes may be about to mend it.
fn weigh(
    slices: &Together<'_, PlacementDecision>,
    state: &Lasting<Finding>,
    at_rest: &While,
    grace: Micros,
) -> Weight {
    let when = &state.when;
    let in_all = when.lasting_beyond_sight(RESTLESS);
    let rested = when.and(at_rest).lasting_beyond_sight(grace);
    match (in_all, rested) {
        (Known::Yes, _) => Weight::Violation,
        // What the first list showed counts as older, if nobody mended it.
        (_, Known::Yes) if slices.is_all_along(state) => Weight::Violation,
        (_, Known::Yes) => Weight::Warning,
        (Known::No, Known::No) => Weight::Passed,
        _ => Weight::Unsure,
    }
}

/// The faults by what is made of them.
#[derive(Default)]
struct Judged {
    found: Vec<(String, Finding)>,
    /// The first fault with each message, how many there are, and for how long the longest was there.
    passed: BTreeMap<String, (Finding, usize, Micros)>,
    is_any_unsure: bool,
}

impl Judged {
    fn add(&mut self, key: &str, weight: Weight, when: &While, last: &Finding, grace: Micros) {
        let finding = || {
            let observed = format!("{}; for {}", last.observed, describe(when, weight, grace));
            last.clone().observed(observed)
        };
        match weight {
            Weight::Violation => self.found.push((key.to_owned(), finding())),
            Weight::Warning => self.found.push((key.to_owned(), finding().advisory())),
            Weight::Unsure => self.is_any_unsure = true,
            Weight::Passed => {
                let longest = when.told().iter().map(|(from, until)| until - from).max();
                let passed = self.passed.entry(last.message.clone());
                let passed = passed.or_insert_with(|| (last.clone(), 0, 0));
                passed.1 += 1;
                passed.2 = passed.2.max(longest.unwrap_or_default());
            }
        }
    }

    fn report(mut self, findings: &mut Findings, grace: Micros) {
        self.found.sort_by(|(one, _), (other, _)| one.cmp(other));
        self.found
            .into_iter()
            .for_each(|(_, finding)| findings.report(finding));
        let grace = grace / SECOND;
        for (message, (first, count, longest)) in self.passed {
            let others = match count {
                1 => String::new(),
                count => format!(" and {} more", count - 1),
            };
            findings.note(format!(
                "{}{others}: {message}, for at most {} s, and no longer than the grace of {grace} s without a write",
                first.object,
                longest / SECOND
            ));
        }
        if self.is_any_unsure {
            findings.cannot_tell(format!(
                "too early to tell: the run did not see for longer than the grace of {grace} s whether a fault lasts"
            ));
        }
    }
}

/// Says for how long a fault lasted, and since when: in all, if that is why it counts, and else the longest time.
fn describe(when: &While, weight: Weight, grace: Micros) -> String {
    let long = when.stretches(RESTLESS).pop();
    let length = |span: &(Micros, Micros)| span.1 - span.0;
    let last = when.told().last();
    let (length, since, is_last, times) = match long {
        Some(stretch) if weight == Weight::Violation && stretch.times > 1 => {
            let times = format!(" in all, {} times", stretch.times);
            (
                stretch.total,
                Some(stretch.from),
                when.ends_with(Some(&stretch)),
                times,
            )
        }
        _ => {
            let longest = when.told().iter().max_by_key(|span| length(span));
            let count = when.told().iter().filter(|span| length(span) > grace).count();
            let times = match count {
                0 | 1 => String::new(),
                count => format!(", the longest of {count} times"),
            };
            let since = longest.map(|(from, _)| *from);
            (longest.map_or(0, length), since, longest == last, times)
        }
    };
    let is_open = is_last && when.is_open();
    let end = if is_open { " when the window ended" } else { "" };
    let since = since.map_or_else(String::new, |since| format!(", since {}", timestamp(since)));
    format!(
        "{} s{end}{times} (grace: {} s){since}",
        length / SECOND,
        grace / SECOND
    )
}
