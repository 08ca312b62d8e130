//! Slices of one decision that do not share its key.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use evidence::{
    Evidence, ObjectRef,
    api::{PlacementDecision, names::LABEL_DECISION_KEY},
};

use super::{
    index::{index_of, parse_index},
    key::path,
};
use crate::{
    shared::placement::{Moment, RESCHEDULE, faults_among, numbered_name, owner_uid, placement_key},
    subjects::{Finding, Findings},
    text::ABSENT,
};

/// `placement-slices/key-shared`
///
/// The slices of one decision have one decision key.
///
/// Nothing but the key says for certain that two slices are of one decision. An owner may have several decisions of one
/// slice each, and such a slice needs no key. So the finding is more than a warning only if indices count the slices. Full
/// slices with numbered names are none: an owner may cut a fleet into shards of 100 clusters, each a decision by itself.
/// Two keys are two decisions, by the word of their scheduler.
pub(in crate::rules) fn key_shared(evidence: &Evidence, findings: &mut Findings) {
    let mut is_any_tied = false;
    faults_among(evidence, findings, RESCHEDULE, Tie::of, |moment| {
        let groups = tied(moment);
        is_any_tied |= !groups.is_empty();
        let mut found = Vec::new();
        for (tie, slices) in &groups {
            found.extend(without_key(tie, slices));
            found.extend(with_own_key(tie, slices));
        }
        found
    });
    if !is_any_tied {
        findings.examined = 0;
        findings.nothing_happened("no decision has more than one slice");
    }
}

/// What two slices of one decision have in common beside their key. Slices that differ in one of these are of two
/// decisions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Tie<'e> {
    namespace: &'e str,
    scheduler: &'e str,
    owner: Option<&'e str>,
    placement_key: Option<&'e str>,
    /// The base of the names, if there is neither an owner nor a placement key.
    base: Option<&'e str>,
}

impl<'e> Tie<'e> {
    fn of(slice: &'e PlacementDecision) -> Option<Self> {
        let owner = owner_uid(slice);
        let placement_key = placement_key(slice);
        let base = match (owner, placement_key) {
            (None, None) => Some(numbered_name(slice)?.0),
            _ => None,
        };
        Some(Self {
            namespace: &slice.metadata.namespace,
            scheduler: slice.scheduler(),
            owner,
            placement_key,
            base,
        })
    }

    fn describe(&self) -> &'static str {
        match (self.owner, self.placement_key) {
            (Some(_), Some(_)) => "the same owner and placement key",
            (Some(_), None) => "the same owner",
            (None, Some(_)) => "the same placement key",
            (None, None) => "the same name but for its number",
        }
    }
}

/// The groups of slices that may be of one decision: at least two in each, by name. A slice that waits for its finalizers
/// is in none.
fn tied<'e>(moment: &Moment<'_, 'e>) -> BTreeMap<Tie<'e>, Vec<&'e PlacementDecision>> {
    let mut groups: BTreeMap<Tie, Vec<&PlacementDecision>> = BTreeMap::new();
    let judged = moment
        .slices()
        .filter(|slice| slice.metadata.deletion_timestamp.is_none());
    for slice in judged {
        if let Some(tie) = Tie::of(slice) {
            groups.entry(tie).or_default().push(slice);
        }
    }
    groups.retain(|_, slices| slices.len() > 1);
    for slices in groups.values_mut() {
        slices.sort_by(|one, other| one.metadata.name.cmp(&other.metadata.name));
    }
    groups
}

fn key_of(slice: &PlacementDecision) -> Option<&str> {
    slice.label(LABEL_DECISION_KEY).filter(|key| !key.is_empty())
}

/// The slices of a group that have no key.
fn without_key(tie: &Tie, slices: &[&PlacementDecision]) -> Vec<Finding> {
    let unkeyed = || slices.iter().filter(|slice| key_of(slice).is_none());
    // One decision names no cluster twice, so slices that share one are of two.
    let mut named = BTreeSet::new();
    let is_one_list = slices
        .iter()
        .flat_map(|slice| slice.references())
        .all(|reference| named.insert(reference));
    // Names alone prove nothing: `wave-1` and `wave-2` may be two decisions.
    let keys: BTreeSet<&str> = slices.iter().filter_map(|slice| key_of(slice)).collect();
    let is_counted = tie.base.is_none()
        && (are_counted(unkeyed().copied()) || (keys.len() == 1 && are_counted(slices.iter().copied())));
    let rival = |own: &PlacementDecision| {
        let others = || slices.iter().filter(|slice| !std::ptr::eq(**slice, own));
        let keyed = others().find(|slice| key_of(slice).is_some());
        keyed.or_else(|| others().next())
    };
    unkeyed()
        .filter_map(|slice| {
            let rival = rival(slice)?;
            let is_sure = is_one_list && is_counted;
            let message = if is_sure {
                "slice has no decision key, and its decision has several slices"
            } else {
                "slice has no decision key, and its decision may have several slices"
            };
            let finding = Finding::on(ObjectRef::from(*slice), message)
                .at(path())
                .expected(match key_of(rival) {
                    Some(key) => format!("{key}, as in slice {}", rival.metadata.name),
                    None => format!("one key for it and slice {}", rival.metadata.name),
                })
                .observed(format!(
                    "{ABSENT}, with {} as slice {}",
                    tie.describe(),
                    rival.metadata.name
                ));
            Some(if is_sure { finding } else { finding.advisory() })
        })
        .collect()
}

/// Whether slices have the indices 0 to n-1, each once, and are several.
fn are_counted<'e>(slices: impl Iterator<Item = &'e PlacementDecision>) -> bool {
    let indices: Option<Vec<u64>> = slices.map(index_of).collect();
    let Some(mut indices) = indices else { return false };
    indices.sort_unstable();
    indices.len() > 1 && indices.iter().zip(0..).all(|(index, place)| *index == place)
}

/// The slices whose names and indices continue those of a slice with another key, while their own key has no first slice.
/// The scheduler may mean two decisions, so this is a warning.
fn with_own_key(tie: &Tie, slices: &[&PlacementDecision]) -> Vec<Finding> {
    if tie.base.is_some() {
        return Vec::new();
    }
    let keyed = || slices.iter().filter_map(|slice| Some((slice, key_of(slice)?)));
    let mut with_first: BTreeSet<&str> = BTreeSet::new();
    let mut first_of_base: HashMap<&str, &PlacementDecision> = HashMap::new();
    for (slice, key) in keyed() {
        if index_of(slice) == Some(0) {
            with_first.insert(key);
            if let Some((base, "0")) = numbered_name(slice) {
                first_of_base.insert(base, slice);
            }
        }
    }
    keyed()
        .filter(|(_, key)| !with_first.contains(key))
        .filter_map(|(slice, key)| {
            let (base, number) = numbered_name(slice)?;
            let first = first_of_base.get(base)?;
            let index = index_of(slice);
            let continues = index.is_some() && index == parse_index(number);
            continues.then(|| {
                Finding::on(
                    ObjectRef::from(*slice),
                    "slices that continue each other have different keys",
                )
                .at(path())
                .expected(format!(
                    "{}, as in slice {}",
                    key_of(first).unwrap_or_default(),
                    first.metadata.name
                ))
                .observed(key)
                .advisory()
            })
        })
        .collect()
}
