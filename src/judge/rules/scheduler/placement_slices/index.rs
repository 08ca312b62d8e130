//! The place of a slice among those of its decision.

use std::iter::zip;

use evidence::{
    ObjectRef, Reason, ReasonId,
    api::{DecisionId, PlacementDecision, names::LABEL_DECISION_INDEX},
};

use crate::{
    engine::{Answer, DecisionKey, Hub},
    shared::placement::have_two_owners,
    subjects::Finding,
    text::ABSENT,
};

/// How many indices a finding shows.
const SHOWN: usize = 10;

const UNREADABLE: Reason = Reason::known(
    ReasonId::Unknown,
    "a slice that could not be read may belong to the decision",
);

/// Reads an index: a decimal number without sign or leading zeros.
pub(super) fn parse_index(text: &str) -> Option<u64> {
    let is_decimal = text.bytes().all(|byte| byte.is_ascii_digit());
    let is_padded = text.len() > 1 && text.starts_with('0');
    text.parse().ok().filter(|_| is_decimal && !is_padded)
}

/// The index of a slice; none if it has none, or an invalid one.
pub(super) fn index_of(slice: &PlacementDecision) -> Option<u64> {
    parse_index(slice.label(LABEL_DECISION_INDEX)?)
}

fn path() -> String {
    format!("metadata.labels[{LABEL_DECISION_INDEX}]")
}

/// `placement-slices/index-is-number`
pub(in crate::rules) fn index_is_number(slice: &PlacementDecision, _: &Hub) -> Answer {
    let Some(index) = slice.label(LABEL_DECISION_INDEX) else {
        return Answer::NotApplicable;
    };
    Answer::broken_if(parse_index(index).is_none(), || {
        Finding::at_path(path(), "the decision index is not a number")
            .expected("a decimal number from 0 on")
            .observed(index)
    })
}

/// `placement-slices/index-complete`
pub(in crate::rules) fn index_complete(
    key: &DecisionKey,
    slices: &[&PlacementDecision],
    hub: &Hub,
) -> Answer {
    let labels: Vec<&str> = slices
        .iter()
        .filter_map(|slice| slice.label(LABEL_DECISION_INDEX))
        .collect();
    let are_numbers = labels.iter().all(|label| parse_index(label).is_some());
    if key.key.is_none() || labels.is_empty() || !are_numbers || have_two_owners(slices) {
        return Answer::NotApplicable;
    }
    if hub.has_unreadable_slice(&key.namespace) {
        return Answer::Unknown(UNREADABLE);
    }
    let mut ordered = slices.to_vec();
    ordered.sort_by(|one, other| order(one).cmp(&order(other)));
    let Some((place, slice)) = zip(0.., &ordered).find(|(place, slice)| index_of(slice) != Some(*place))
    else {
        return Answer::Kept;
    };
    let message = match index_of(slice) {
        None => "the slice has no index, and another of its decision has one",
        index
            if ordered[..place as usize]
                .iter()
                .any(|other| index_of(other) == index) =>
        {
            "two slices of one decision have the same index"
        }
        Some(_) => "the indices of a decision's slices have a gap",
    };
    Answer::broken(
        Finding::on(ObjectRef::from(*slice), message)
            .at(path())
            .expected(match slices.len() {
                1 => "0".to_owned(),
                count => format!(
                    "0 to {}, each once, in {}",
                    count - 1,
                    DecisionId::of(slice).describe()
                ),
            })
            .observed(shown(&ordered)),
    )
}

/// Slices without an index come first.
fn order(slice: &PlacementDecision) -> (Option<u64>, &str) {
    (index_of(slice), &slice.metadata.name)
}

/// The indices of slices, without those that are too many for a finding.
fn shown(slices: &[&PlacementDecision]) -> String {
    let indices = slices
        .iter()
        .map(|slice| slice.label(LABEL_DECISION_INDEX).unwrap_or(ABSENT));
    let shown: Vec<&str> = indices.take(SHOWN).collect();
    match slices.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use evidence::{
        Unreadable,
        api::{Edition, names},
    };
    use serde_json::json;

    use super::*;
    use crate::rules::{self, example::Example};

    #[test]
    fn an_unreadable_slice_may_fill_the_gap() {
        let world =
            json!({"observe": "10m", "slices": [{}, {"metadata": {"name": "web-2"}, "decisions": ["b"]}]});
        let example = json!({"name": "a slice is missing", "fails": world});
        let example = Example::parse(&example, Edition::Placement2025M09).expect("a world");
        let rule = rules::find("placement-slices/index-complete").expect("the rule");
        let mut evidence = example.evidence().clone();
        assert_eq!(rule.findings(&evidence).list().len(), 1);
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
            assert_eq!(
                rule.findings(&evidence).list().len(),
                expected,
                "{kind} in {namespace}"
            );
        }
    }

    #[test]
    fn an_index_is_a_plain_decimal() {
        assert_eq!(parse_index("0"), Some(0));
        assert_eq!(parse_index("10"), Some(10));
        for text in [
            "",
            "00",
            "01",
            "-1",
            "+1",
            "1.0",
            " 1",
            "١",
            "99999999999999999999",
        ] {
            assert_eq!(parse_index(text), None, "{text}");
        }
    }
}
