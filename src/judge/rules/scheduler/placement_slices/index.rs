//! The place of a slice among those of its decision.

use std::collections::BTreeMap;

use evidence::{
    Evidence, ObjectRef,
    api::{PlacementDecision, names},
};

use crate::{
    shared::placement::{
        Difference, LogicalDecision, Moment, RESCHEDULE, Reads, each_version, faults_that_last,
        logical_decisions,
    },
    subjects::{Finding, Findings},
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

    /// Its value; none if it does not fit.
    pub(super) fn number(self) -> Option<usize> {
        self.text.parse().ok()
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
    faults_that_last(evidence, findings, RESCHEDULE, Reads::Marks, |moment| {
        let decisions = logical_decisions(moment.slices());
        let found = decisions.iter().filter_map(|decision| {
            repeated(decision).or_else(|| {
                let may_be_whole = is_leaving(decision, moment) || may_be_unread(decision, evidence);
                gap(decision).filter(|_| !may_be_whole)
            })
        });
        found.collect()
    });
    unless_indexed(evidence, findings);
}

/// `placement-slices/index-all-or-none`
///
/// All slices of a decision have an index, or none has.
pub(in crate::rules) fn index_all_or_none(evidence: &Evidence, findings: &mut Findings) {
    faults_that_last(evidence, findings, RESCHEDULE, Reads::Marks, |moment| {
        let decisions = logical_decisions(moment.slices());
        decisions.iter().flat_map(without_index).collect()
    });
    unless_indexed(evidence, findings);
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

/// The slices of a decision by their index; none if one has no index, which is for `placement-slices/index-all-or-none`,
/// or one that is no number.
fn by_index<'e>(decision: &LogicalDecision<'e>) -> Option<BTreeMap<Index<'e>, Vec<&'e PlacementDecision>>> {
    decision.key?;
    let mut by_index: BTreeMap<Index, Vec<&PlacementDecision>> = BTreeMap::new();
    for slice in &decision.slices {
        by_index.entry(Index::of(slice)?).or_default().push(slice);
    }
    Some(by_index)
}

fn repeated(decision: &LogicalDecision) -> Option<Finding> {
    let by_index = by_index(decision)?;
    // Two decisions with one key are for `placement-slices/key-one-decision`.
    let is_repeated = |slices: &[&PlacementDecision]| {
        let mut others = slices.iter().skip(1);
        others.any(|other| Difference::of(slices[0], other).is_none())
    };
    let (_, slices) = by_index.iter().find(|(_, slices)| is_repeated(slices))?;
    let message = "two slices of one decision have the same index";
    Some(of_indices(decision, &by_index, slices[1], message))
}

fn gap(decision: &LogicalDecision) -> Option<Finding> {
    let by_index = by_index(decision)?;
    let count = decision.slices.len();
    let (_, slices) = by_index.iter().find(|(index, _)| index.is_beyond(count))?;
    let message = "the indices of a decision's slices have a gap";
    Some(of_indices(decision, &by_index, slices[0], message))
}

fn of_indices(
    decision: &LogicalDecision,
    by_index: &BTreeMap<Index, Vec<&PlacementDecision>>,
    slice: &PlacementDecision,
    message: &str,
) -> Finding {
    let indices: Vec<String> = by_index
        .iter()
        .flat_map(|(index, slices)| slices.iter().map(|_| index.text.to_owned()))
        .collect();
    Finding::on(ObjectRef::from(slice), message)
        .at(path())
        .expected(match decision.slices.len() {
            1 => "0".to_owned(),
            count => format!("0 to {}, each once, in {}", count - 1, decision.describe()),
        })
        .observed(shortened(&indices))
}

/// Whether a slice of the decision waits for its finalizers: consumers still read its index.
fn is_leaving(decision: &LogicalDecision, moment: &Moment<'_, '_>) -> bool {
    moment.slices().any(|slice| {
        slice.metadata.deletion_timestamp.is_some()
            && *slice.metadata.namespace == *decision.namespace
            && slice.label(names::LABEL_DECISION_KEY) == decision.key
    })
}

/// Whether a slice that could not be read may be of the decision.
fn may_be_unread(decision: &LogicalDecision, evidence: &Evidence) -> bool {
    let mut objects = evidence.unreadable.iter().map(|unreadable| &unreadable.object);
    objects.any(|object| {
        (object.kind.is_empty() || object.kind == names::PLACEMENT_KIND)
            && (object.namespace.is_empty() || object.namespace == decision.namespace)
    })
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

/// The first entries of a list, and how many more there are.
fn shortened(list: &[String]) -> String {
    const SHOWN: usize = 10;
    let shown = list[..list.len().min(SHOWN)].join(", ");
    match list.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use evidence::{Unreadable, api::Edition};
    use serde_json::json;

    use super::*;
    use crate::rules::example::Example;

    #[test]
    fn a_slice_that_could_not_be_read_may_fill_the_gap() {
        let world =
            json!({"observe": "5m", "slices": [{}, {"metadata": {"name": "web-2"}, "decisions": ["b"]}]});
        let example = json!({"name": "a slice is missing", "fails": world});
        let example = Example::parse(&example, Edition::Placement2025M09).expect("a world");
        let found = |evidence: &Evidence| {
            let mut findings = Findings::default();
            index_complete(evidence, &mut findings);
            findings.list().len()
        };
        let mut evidence = example.evidence().clone();
        assert_eq!(found(&evidence), 1);
        for (kind, namespace, expected) in [
            (names::PLACEMENT_KIND, "default", 0),
            ("", "", 0),
            (names::PLACEMENT_KIND, "other", 1),
            (names::KIND, "default", 1),
        ] {
            let object = ObjectRef {
                kind: kind.to_owned(),
                namespace: namespace.to_owned(),
                name: "web-1".to_owned(),
                ..ObjectRef::default()
            };
            evidence.unreadable = vec![Unreadable {
                object,
                message: "no object".to_owned(),
            }];
            assert_eq!(found(&evidence), expected, "{kind} in {namespace}");
        }
    }

    #[test]
    fn indices_are_ordered_as_numbers() {
        let read = |text| Index::read(text).expect(text);
        assert!(read("9") < read("10") && read("10") < read("99999999999999999999"));
        assert!(read("10").is_beyond(10) && !read("9").is_beyond(10));
        for text in ["", "00", "01", "-1", "+1", "1.0", " 1", "١"] {
            assert_eq!(Index::read(text), None, "{text}");
        }
    }
}
