//! Clusters that a reschedule leaves in no slice for a moment.

use std::{cmp::Reverse, collections::BTreeSet};

use evidence::Reason;

use crate::{
    engine::{Absence, Answer, DecisionHistory},
    shared::placement::owner_uid,
    subjects::Finding,
    time::{Micros, SECOND, timestamp},
};

/// The longest absence that a reschedule explains: 10 s. A cluster that is absent for longer was dropped.
const SHORT: Micros = 10 * SECOND;

/// The longest time between two changes of one reschedule: 30 s.
const RESCHEDULE: Micros = 30 * SECOND;

const TOO_EARLY: &str =
    "too early to tell: a cluster left the decision less than 10 s before the end of the watch";

/// `placement-updates/no-torn-reschedule`
pub(in crate::rules) fn no_torn_reschedule(history: &DecisionHistory) -> Answer {
    if history.changes == 0 {
        return Answer::NotApplicable;
    }
    let mut torn: Vec<Torn> = history.absences.iter().filter_map(Torn::of).collect();
    torn.sort_by_key(|torn| torn.at);
    let mut reschedules = torn.chunk_by(|one, next| next.at - one.at < RESCHEDULE);
    if let Some(first) = reschedules.next() {
        return Answer::all([finding(history, first, reschedules.count())]);
    }
    let is_open = |absence: &Absence| absence.back.is_none() && history.end - absence.since <= SHORT;
    if history.absences.iter().any(is_open) {
        return Answer::Unknown(Reason::from(TOO_EARLY));
    }
    Answer::Kept
}

/// A cluster that was in no slice while it moved from one slice to another.
struct Torn<'a, 'e> {
    absence: &'a Absence<'e>,
    slice: &'e str,
    at: Micros,
    /// Whether the slices may belong to two requests.
    is_warning: bool,
}

impl<'a, 'e> Torn<'a, 'e> {
    fn of(absence: &'a Absence<'e>) -> Option<Self> {
        let (slice, at) = absence.back?;
        let owner = owner_uid(absence.left);
        let is_move = absence.left.metadata.uid != slice.metadata.uid && owner == owner_uid(slice);
        (is_move && at - absence.since <= SHORT).then_some(Self {
            absence,
            slice: &slice.metadata.name,
            at,
            is_warning: owner.is_none() && absence.was_without_slices,
        })
    }
}

/// One finding for all reschedules, about the longest absence in the first one.
fn finding(history: &DecisionHistory, first: &[Torn], more_reschedules: usize) -> Finding {
    let length = |torn: &Torn| torn.at - torn.absence.since;
    let longest = first
        .iter()
        .min_by_key(|torn| (Reverse(length(torn)), torn.absence.cluster));
    let longest = longest.unwrap_or(&first[0]);
    let Absence {
        cluster: (namespace, name),
        left,
        since,
        ..
    } = longest.absence;
    let clusters: BTreeSet<_> = first.iter().map(|torn| torn.absence.cluster).collect();
    let others = match clusters.len() - 1 {
        0 => String::new(),
        1 => " and 1 more cluster".to_owned(),
        more => format!(" and {more} more clusters"),
    };
    let again = match more_reschedules {
        0 => String::new(),
        more => format!("; so in {} reschedules", more + 1),
    };
    let finding = Finding::on(*left, "a reschedule leaves a cluster in no slice for a time")
        .at("decisions")
        .expected(format!(
            "each kept cluster in a slice all the time, in {}",
            history.id.describe()
        ))
        .observed(format!(
            "{namespace}/{name}{others} left slice {} at {}, back in slice {} after {}{again}",
            left.metadata.name,
            timestamp(*since),
            longest.slice,
            in_words(length(longest))
        ));
    if first.iter().all(|torn| torn.is_warning) {
        finding.advisory()
    } else {
        finding
    }
}

fn in_words(time: Micros) -> String {
    match time / SECOND {
        0 => format!("{} ms", time / 1000),
        seconds => format!("{seconds} s"),
    }
}
