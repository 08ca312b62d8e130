//! The slices of a decision (KEP-5313 › Slicing): their keys, indices, and clusters, and what a reschedule does to them.

use std::{cmp::Reverse, iter::zip};

use evidence::{
    api::{ClusterProfileReference, DecisionId},
    clusters_of,
};

use crate::{
    engine::{
        Absence, DecisionHistory, DecisionKey, PlacementStep,
        decisions::{have_two_owners, owner_of, owner_uid},
    },
    rules::prelude::*,
    text::first_of,
};

pub(crate) fn namespace_and_key(slice: &PlacementDecision, _: &Hub) -> Vec<(String, String)> {
    let id = DecisionId::of(slice);
    let key = id.key.map(|key| (id.namespace.to_owned(), key.to_owned()));
    key.into_iter().collect()
}

/// `placement-slices/key-one-decision`
pub(crate) fn key_one_decision(_: &(String, String), slices: &[&PlacementDecision], _: &Hub) -> Answer {
    let scheduler = |slice: &PlacementDecision| Some(slice.scheduler().to_owned());
    let owner = |slice: &PlacementDecision| {
        let owner = owner_of(slice)?;
        Some(format!("{} {} (uid {})", owner.kind, owner.name, owner.uid))
    };
    let message = "two schedulers use one decision key";
    match differing(slices, scheduler, message, "schedulerName") {
        Answer::Kept => {
            let message = "slices of one decision key have different owners";
            differing(slices, owner, message, "metadata.ownerReferences")
        }
        // Two schedulers have two owners, too.
        answer => answer,
    }
}

/// A finding for each value other than that of the first slice that has one, by name.
fn differing(
    slices: &[&PlacementDecision],
    value: impl Fn(&PlacementDecision) -> Option<String>,
    message: &str,
    path: &str,
) -> Answer {
    let slices = by_name(slices);
    let values = slices.iter().filter_map(|slice| Some((value(slice)?, *slice)));
    let values: Vec<_> = values.filter(|(value, _)| !value.is_empty()).collect();
    let Some((expected, first)) = values.first() else {
        return Answer::Kept;
    };
    // The first slice with each value: later entries of a map replace earlier ones.
    let last_first = values.iter().rev().map(|(value, slice)| (value, *slice));
    let first_with: BTreeMap<&String, &PlacementDecision> = last_first.collect();
    let different = first_with.into_iter().filter(|(value, _)| *value != expected);
    Answer::all(different.map(|(value, slice)| {
        Finding::on(slice, message)
            .at(path)
            .expected(format!("{expected}, as in slice {}", first.metadata.name))
            .observed(value)
    }))
}

fn by_name<'s>(slices: &[&'s PlacementDecision]) -> Vec<&'s PlacementDecision> {
    let mut slices = slices.to_vec();
    slices.sort_by(|one, other| one.metadata.name.cmp(&other.metadata.name));
    slices
}

/// `placement-slices/key-shared`: all slices of a placement that the limit has cut have a decision key.
pub(crate) fn key_shared(step: &PlacementStep) -> Answer {
    let from = step.driver_step.from.as_microsecond();
    let mut cut = step
        .states_until_next(from)
        .filter(|state| is_cut(&state.slices))
        .peekable();
    match step.lasted(from, |slices| is_cut(slices) && without_key(slices).is_some()) {
        Certainty::Yes => {}
        Certainty::Unknown(reason) => return Answer::Unknown(reason),
        Certainty::No if cut.peek().is_none() => return Answer::NotApplicable,
        Certainty::No => return Answer::Kept,
    }
    let wrong = cut.find_map(|state| Some((without_key(&state.slices)?, state.slices.len())));
    wrong.map_or(Answer::Kept, |(slice, count)| {
        let finding = Finding::at_field_of(slice, label_path(LABEL_DECISION_KEY), ABSENT);
        Answer::broken(finding.expected(format!("one key for all {}", counted(count, "slice"))))
    })
}

/// Whether one slice is full and has others next to it, so that the limit has cut the decision.
///
/// A scheduler may answer in several namespaces, or with several decisions for the same clusters. Those need no key.
fn is_cut(slices: &[&PlacementDecision]) -> bool {
    let sizes = slices.iter().map(|slice| slice.clusters().len());
    let is_full = sizes.clone().any(|size| size == LARGEST_SLICE);
    let namespaces: BTreeSet<&str> = slices.iter().map(|slice| &*slice.metadata.namespace).collect();
    let is_listed_once = sizes.sum::<usize>() == clusters_of(slices).len();
    slices.len() > 1 && is_full && namespaces.len() == 1 && is_listed_once
}

/// A slice without a key. An empty one is not a key.
fn without_key<'s>(slices: &[&'s PlacementDecision]) -> Option<&'s PlacementDecision> {
    let mut slices = slices.iter().copied();
    slices.find(|slice| slice.label(LABEL_DECISION_KEY).unwrap_or_default().is_empty())
}

const UNREADABLE: Reason = Reason::unknown("a slice that could not be read may belong to the decision");

/// Reads an index: a decimal number without sign or leading zeros.
pub(super) fn parse_index(text: &str) -> Option<u64> {
    let index: u64 = text.parse().ok()?;
    (index.to_string() == text).then_some(index)
}

/// The index of a slice; none if it has none, or an invalid one.
fn index_of(slice: &PlacementDecision) -> Option<u64> {
    parse_index(slice.label(LABEL_DECISION_INDEX)?)
}

/// `placement-slices/index-complete`
pub(crate) fn index_complete(key: &DecisionKey, slices: &[&PlacementDecision], hub: &Hub) -> Answer {
    let labels = slices
        .iter()
        .filter_map(|slice| slice.label(LABEL_DECISION_INDEX));
    let labels: Vec<&str> = labels.collect();
    let are_numbers = labels.iter().all(|label| parse_index(label).is_some());
    if key.key.is_none() || labels.is_empty() || !are_numbers || have_two_owners(slices) {
        return Answer::NotApplicable;
    }
    if hub.has_unreadable_slice(&key.namespace) {
        return Answer::Unknown(UNREADABLE);
    }
    // Slices without an index come first.
    let mut ordered = by_name(slices);
    ordered.sort_by_key(|slice| index_of(slice));
    let wrong = zip(0.., &ordered).find(|(place, slice)| index_of(slice) != Some(*place));
    let Some((place, slice)) = wrong else {
        return Answer::Kept;
    };
    let mut before = ordered[..place as usize].iter();
    let message = match index_of(slice) {
        None => "the slice has no index, and another of its decision has one",
        index if before.any(|other| index_of(other) == index) => {
            "two slices of one decision have the same index"
        }
        Some(_) => "the indices of a decision's slices have a gap",
    };
    let decision = DecisionId::of(slice).describe();
    Answer::broken(
        Finding::on(*slice, message)
            .at(label_path(LABEL_DECISION_INDEX))
            .expected(match slices.len() {
                1 => "0".to_owned(),
                count => format!("0 to {}, each once, in {decision}", count - 1),
            })
            .observed(listed_indices(&ordered)),
    )
}

/// The indices of slices, at most 10 of them.
fn listed_indices(slices: &[&PlacementDecision]) -> String {
    let index = |slice: &&PlacementDecision| slice.label(LABEL_DECISION_INDEX).unwrap_or(ABSENT).to_owned();
    first_of(slices.iter().map(index), 10)
}

/// `placement-slices/no-needless-slices`
pub(crate) fn no_needless_slices(_: &DecisionKey, slices: &[&PlacementDecision], _: &Hub) -> Answer {
    if have_two_owners(slices) {
        return Answer::NotApplicable;
    }
    let clusters: usize = slices.iter().map(|slice| slice.clusters().len()).sum();
    let mut empty = by_name(slices);
    empty.retain(|slice| slice.clusters().is_empty());
    // A decision without clusters keeps one slice.
    let needed = (slices.len() - empty.len()).max(1);
    let needless = empty.iter().rev().take(slices.len() - needed);
    Answer::all(needless.map(|slice| {
        let decision = DecisionId::of(slice).describe();
        let (count, clusters) = (slices.len(), counted(clusters, "cluster"));
        Finding::at_field_of(*slice, "decisions", format!("{count} slices for {clusters}"))
            .expected(format!("{} in {decision}", counted(needed, "slice")))
    }))
}

/// `placement-slices/cluster-once`: a slice lists no cluster twice.
pub(crate) fn cluster_once_in_slice(slice: &PlacementDecision, _: &Hub) -> Answer {
    let mut unique = HashSet::default();
    let repeated = clusters(slice).filter(|(_, cluster)| !unique.insert(cluster.clone()));
    let scope = format!("slice {}/{}", slice.metadata.namespace, slice.metadata.name);
    Answer::all(repeated.map(|(place, cluster)| listed_twice((slice, place), &cluster, slice, &scope)))
}

/// The clusters of a keyed decision: a group has the slices that list one of them.
pub(crate) fn cluster_of_decision(
    slice: &PlacementDecision,
    _: &Hub,
) -> Vec<(DecisionKey, ClusterProfileReference)> {
    let key = DecisionKey::of(slice);
    let is_keyed = key.key.is_some();
    let clusters = clusters(slice).filter(|_| is_keyed);
    clusters.map(|(_, cluster)| (key.clone(), cluster)).collect()
}

/// `placement-slices/cluster-once`: no two slices of a decision list a cluster.
pub(crate) fn cluster_in_one_slice(
    (_, cluster): &(DecisionKey, ClusterProfileReference),
    slices: &[&PlacementDecision],
    _: &Hub,
) -> Answer {
    let [first, second, ..] = by_name(slices)[..] else {
        return Answer::Kept;
    };
    if have_two_owners(slices) {
        return Answer::NotApplicable;
    }
    let place = clusters(second).find(|(_, reference)| reference == cluster);
    let place = place.map_or(0, |(place, _)| place);
    let scope = DecisionId::of(second).describe();
    // It stays one violation if the cluster moves within the list.
    Answer::broken(listed_twice((second, place), cluster, first, &scope).about(&*cluster.name))
}

/// The clusters of a slice with their places. An absent reference or an empty name is for `placement-references/name-valid`.
fn clusters(slice: &PlacementDecision) -> impl Iterator<Item = (usize, ClusterProfileReference)> {
    let decisions = slice.clusters().iter().enumerate();
    let references = decisions.filter_map(|(place, decision)| {
        let reference = decision.cluster_profile_ref.as_ref()?;
        Some((place, slice.resolved(reference)))
    });
    references.filter(|(_, cluster)| !cluster.name.is_empty())
}

fn listed_twice(
    (slice, place): (&PlacementDecision, usize),
    cluster: &ClusterProfileReference,
    first: &PlacementDecision,
    scope: &str,
) -> Finding {
    let (namespace, name) = (&cluster.namespace, &cluster.name);
    let path = format!("decisions[{place}].clusterProfileRef");
    let observed = format!("{namespace}/{name}, as in slice {}", first.metadata.name);
    Finding::at_field_of(slice, path, observed).expected(format!("each cluster once in {scope}"))
}

/// The longest absence that a reschedule explains: 10 s. A cluster that is absent for longer was dropped.
const SHORT: Micros = 10 * SECOND;

/// The longest time between two changes of one reschedule: 30 s.
const RESCHEDULE: Micros = 30 * SECOND;

const TOO_EARLY: &str =
    "too early to tell: a cluster left the decision less than 10 s before the end of the watch";

/// `placement-updates/no-torn-reschedule`
pub(crate) fn no_torn_reschedule(history: &DecisionHistory) -> Answer {
    if history.changes == 0 {
        return Answer::NotApplicable;
    }
    let mut torn: Vec<Torn> = history.absences.iter().filter_map(Torn::of).collect();
    torn.sort_by_key(|torn| torn.at);
    let mut reschedules = torn.chunk_by(|one, next| next.at - one.at < RESCHEDULE);
    if let Some(first) = reschedules.next() {
        return Answer::all([torn_finding(history, first, reschedules.count())]);
    }
    let is_open = |absence: &Absence| absence.back.is_none() && history.end - absence.since <= SHORT;
    if history.absences.iter().any(is_open) {
        return Answer::unknown(TOO_EARLY);
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
        let owner = owner_uid(absence.slice);
        let is_move = absence.slice.metadata.uid != slice.metadata.uid && owner == owner_uid(slice);
        (is_move && at - absence.since <= SHORT).then_some(Self {
            absence,
            slice: &slice.metadata.name,
            at,
            is_warning: owner.is_none() && absence.was_without_slices,
        })
    }

    fn length(&self) -> Micros {
        self.at - self.absence.since
    }
}

/// One finding for all reschedules, about the longest absence in the first one.
fn torn_finding(history: &DecisionHistory, first: &[Torn], more_reschedules: usize) -> Finding {
    let longest = first
        .iter()
        .min_by_key(|torn| (Reverse(torn.length()), torn.absence.cluster));
    let longest = longest.unwrap_or(&first[0]);
    let Absence {
        cluster: (namespace, name),
        slice,
        since,
        ..
    } = longest.absence;
    let clusters: BTreeSet<_> = first.iter().map(|torn| torn.absence.cluster).collect();
    let more_clusters = match clusters.len() - 1 {
        0 => String::new(),
        more => format!(" and {}", counted(more, "more cluster")),
    };
    let again = match more_reschedules {
        0 => String::new(),
        more => format!("; so in {} reschedules", more + 1),
    };
    let length = match longest.length() / SECOND {
        0 => format!("{} ms", longest.length() / 1000),
        seconds => format!("{seconds} s"),
    };
    let (decision, since) = (history.id.describe(), timestamp(*since));
    let (from, to) = (&slice.metadata.name, longest.slice);
    let observed = format!(
        "{namespace}/{name}{more_clusters} left slice {from} at {since}, back in slice {to} after {length}{again}"
    );
    let finding = Finding::at_field_of(*slice, "decisions", observed);
    let finding = finding.expected(format!(
        "each kept cluster in a slice all the time, in {decision}"
    ));
    finding.advisory_unless(first.iter().any(|torn| !torn.is_warning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_a_plain_decimal() {
        assert_eq!(parse_index("0"), Some(0));
        assert_eq!(parse_index("10"), Some(10));
        for text in "|00|01|-1|+1|1.0| 1|١|99999999999999999999".split('|') {
            assert_eq!(parse_index(text), None, "{text}");
        }
    }
}
