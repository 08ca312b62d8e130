//! The clusters that one slice lists.

use evidence::api::{PlacementDecision, names::LARGEST_SLICE};

use crate::{
    engine::{Answer, Hub},
    subjects::Finding,
    text::ABSENT,
};

/// `placement-slices/size`
pub(in crate::rules) fn size(slice: &PlacementDecision, _: &Hub) -> Answer {
    let count = slice.clusters().len();
    Answer::broken_if(count > LARGEST_SLICE, || {
        Finding::at_path("decisions", "the slice has too many clusters")
            .expected(format!("at most {LARGEST_SLICE} clusters"))
            .observed(format!("{count} clusters"))
    })
}

/// `placement-slices/decisions-present`
pub(in crate::rules) fn decisions_present(slice: &PlacementDecision, _: &Hub) -> Answer {
    Answer::broken_if(slice.decisions.is_none(), || {
        Finding::at_path("decisions", "the list of clusters is missing")
            .expected("a list, which may be empty")
            .observed(ABSENT)
    })
}
