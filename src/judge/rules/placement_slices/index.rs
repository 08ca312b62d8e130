//! The place of a slice among those of its decision.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{
    Evidence, ObjectRef,
    api::{PlacementDecision, names},
};

use crate::rules::{
    finding::{Finding, Findings},
    placement::{
        LogicalDecision, RESCHEDULE, each_version, faults_that_last, logical_decisions, numbered_name,
    },
    text::ABSENT,
};

/// The reason for no verdict if order does not matter to the scheduler.
const NONE_SET: &str = "no slice of a decision key has an index";

/// The path of the label in findings.
fn path() -> String {
    format!("metadata.labels[{}]", names::LABEL_DECISION_INDEX)
}

/// An index: a decimal number of any length without sign or leading zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Index<'e> {
    digits: usize,
    text: &'e str,
}

impl<'e> Index<'e> {
    /// Reads the value of the label; none if it is no such number.
    pub(super) fn read(text: &'e str) -> Option<Self> {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let is_padded = text.len() > 1 && text.starts_with('0');
        (is_number && !is_padded).then_some(Self {
            digits: text.len(),
            text,
        })
    }

    /// The index of a slice; none if it has none, or one that is no number.
    pub(super) fn of(slice: &'e PlacementDecision) -> Option<Self> {
        Self::read(slice.label(names::LABEL_DECISION_INDEX)?)
    }

    /// Whether it is the place of the first slice.
    pub(super) fn is_first(self) -> bool {
        self.text == "0"
    }

    /// Whether it lies beyond the last of that many slices.
    fn is_beyond(self, count: usize) -> bool {
        // A number that does not fit is larger than any count.
        !self.text.parse().is_ok_and(|index: usize| index < count)
    }
}

/// `placement-slices/index-is-number`
///
/// A decision index that is set is a number from 0 on, without sign or leading zeros.
pub(in crate::rules) fn index_is_number(evidence: &Evidence, findings: &mut Findings) {
    each_version(evidence, findings, |slice| {
        let index = slice.label(names::LABEL_DECISION_INDEX)?;
        let finding = Index::read(index).is_none().then(|| {
            Finding::on(ObjectRef::from(slice), "the decision index is not a number")
                .at(path())
                .expected("a decimal number from 0 on")
                .observed(index)
        });
        Some(finding.into_iter().collect())
    });
    if findings.examined == 0 {
        findings.not_applicable("no slice has a decision index");
    }
}

/// `placement-slices/index-complete`
///
/// If one slice of a decision has an index, their indices are 0 to n-1, each once.
pub(in crate::rules) fn index_complete(evidence: &Evidence, findings: &mut Findings) {
    faults_that_last(evidence, findings, RESCHEDULE, |moment| {
        let decisions = logical_decisions(moment.slices.iter().copied());
        decisions.iter().filter_map(incomplete).collect()
    });
    unless_indexed(evidence, findings);
}

/// `placement-slices/index-all-or-none`
///
/// All slices of a decision have an index, or none has.
pub(in crate::rules) fn index_all_or_none(evidence: &Evidence, findings: &mut Findings) {
    faults_that_last(evidence, findings, RESCHEDULE, |moment| {
        let decisions = logical_decisions(moment.slices.iter().copied());
        decisions.iter().flat_map(without_index).collect()
    });
    unless_indexed(evidence, findings);
}

/// `placement-slices/name-deterministic`
///
/// If the names of a decision's slices are numbered, they have the numbers of the indices.
///
/// A change of order may give the slices each other's index, as names cannot change: that is no fault.
pub(in crate::rules) fn name_deterministic(evidence: &Evidence, findings: &mut Findings) {
    let mut is_any_numbered = false;
    faults_that_last(evidence, findings, RESCHEDULE, |moment| {
        let decisions = logical_decisions(moment.slices.iter().copied());
        let numbered = decisions.iter().filter_map(numbers);
        let found = numbered.filter_map(|(decision, names)| {
            is_any_numbered = true;
            misnumbered(decision, &names)
        });
        found.collect()
    });
    if !is_any_numbered {
        findings.examined = 0;
        findings.not_applicable("no decision has slices with both indices and numbered names");
    }
}

/// Without a key, the other slices of a decision are unknown: `placement-slices/key-shared` is about those.
fn unless_indexed(evidence: &Evidence, findings: &mut Findings) {
    let is_examined = |slice: &PlacementDecision| {
        let key = slice.label(names::LABEL_DECISION_KEY);
        key.is_some_and(|key| !key.is_empty()) && slice.label(names::LABEL_DECISION_INDEX).is_some()
    };
    let mut versions = evidence.slice_histories().flat_map(|history| &history.versions);
    if !versions.any(|version| is_examined(&version.object)) {
        findings.examined = 0;
        findings.not_applicable(NONE_SET);
    }
}

/// What is wrong with the indices of one decision. Slices without an index are for `placement-slices/index-all-or-none`.
fn incomplete(decision: &LogicalDecision) -> Option<Finding> {
    decision.key?;
    let mut of_index: BTreeMap<Index, Vec<&PlacementDecision>> = BTreeMap::new();
    for slice in &decision.slices {
        of_index.entry(Index::of(slice)?).or_default().push(slice);
    }
    let count = decision.slices.len();
    let repeated = of_index.iter().find(|(_, slices)| slices.len() > 1);
    let (slice, message) = match repeated {
        Some((_, slices)) => (slices[1], "two slices of one decision have the same index"),
        None => {
            let beyond = of_index.iter().find(|(index, _)| index.is_beyond(count));
            (beyond?.1[0], "the indices of a decision's slices have a gap")
        }
    };
    let indices: Vec<String> = of_index
        .iter()
        .flat_map(|(index, slices)| slices.iter().map(|_| index.text.to_owned()))
        .collect();
    Some(
        Finding::on(ObjectRef::from(slice), message)
            .at(path())
            .expected(match count {
                1 => "0".to_owned(),
                count => format!("0 to {}, each once, in {}", count - 1, decision.describe()),
            })
            .observed(shortened(&indices)),
    )
}

/// The slices without an index in a decision whose other slices have one.
fn without_index(decision: &LogicalDecision) -> Vec<Finding> {
    let has_index = |slice: &&&PlacementDecision| slice.label(names::LABEL_DECISION_INDEX).is_some();
    let Some(indexed) = decision.slices.iter().find(has_index) else {
        return Vec::new();
    };
    let others = decision.slices.iter().filter(|slice| !has_index(slice));
    others
        .map(|slice| {
            let message = "the slice has no index, and another of its decision has one";
            Finding::on(ObjectRef::from(*slice), message)
                .at(path())
                .expected(format!("an index, as slice {} has one", indexed.metadata.name))
                .observed(ABSENT)
        })
        .collect()
}

/// The names of a decision's slices as base and number, and their indices: none if it does not have both, each once.
fn numbers<'d, 'e>(
    decision: &'d LogicalDecision<'e>,
) -> Option<(&'d LogicalDecision<'e>, Vec<Numbered<'e>>)> {
    if decision.key.is_none() || decision.slices.len() < 2 {
        return None;
    }
    let named = decision.slices.iter().map(|slice| {
        // The hub numbers no names, but a generated end may look like a number.
        let is_generated = slice.metadata.generate_name.is_some();
        let (base, number) = numbered_name(slice).filter(|_| !is_generated)?;
        Some(Numbered {
            slice,
            base,
            number,
            index: Index::of(slice)?,
        })
    });
    let named: Vec<Numbered> = named.collect::<Option<_>>()?;
    let mut indices: Vec<Index> = named.iter().map(|one| one.index).collect();
    indices.sort_unstable();
    indices.dedup();
    let is_one_base = named.iter().all(|one| one.base == named[0].base);
    (is_one_base && indices.len() == named.len()).then_some((decision, named))
}

/// A slice whose name ends with a number.
struct Numbered<'e> {
    slice: &'e PlacementDecision,
    base: &'e str,
    number: &'e str,
    index: Index<'e>,
}

fn misnumbered(decision: &LogicalDecision, named: &[Numbered]) -> Option<Finding> {
    let indices: BTreeSet<&str> = named.iter().map(|one| one.index.text).collect();
    let odd = named.iter().find(|one| !indices.contains(one.number))?;
    Some(
        Finding::on(
            ObjectRef::from(odd.slice),
            "the number in the slice's name is no index of its decision",
        )
        .at("metadata.name")
        .expected(format!(
            "{}-{} in {}",
            odd.base,
            odd.index.text,
            decision.describe()
        ))
        .observed(&*odd.slice.metadata.name),
    )
}

/// The first entries of a list, and how many more there are.
fn shortened(list: &[String]) -> String {
    const SHOWN: usize = 10;
    let shown = list[..list.len().min(SHOWN)].join(", ");
    match list.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
