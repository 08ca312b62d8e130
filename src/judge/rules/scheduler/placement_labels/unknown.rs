//! Labels that the documents do not define.

use evidence::api::{
    PlacementDecision,
    names::{
        GROUP, LABEL_DECISION_GROUP_INDEX, LABEL_DECISION_GROUP_NAME, LABEL_DECISION_INDEX,
        LABEL_DECISION_KEY, LABEL_DECISION_REVISION, LABEL_MANAGER, LABEL_PLACEMENT_KEY,
    },
};

use crate::{
    engine::{Answer, Hub},
    shared::misspelling::meant,
    subjects::Finding,
};

/// The labels that the documents define for a slice.
const DEFINED: [&str; 3] = [LABEL_DECISION_KEY, LABEL_DECISION_INDEX, LABEL_PLACEMENT_KEY];

/// The labels that are proposed for a slice, or that a document mentions without a definition.
const PROPOSED: [&str; 3] = [
    LABEL_DECISION_REVISION,
    LABEL_DECISION_GROUP_INDEX,
    LABEL_DECISION_GROUP_NAME,
];

/// `placement-labels/no-unknown-multicluster-labels`
pub(in crate::rules) fn no_unknown_multicluster_labels(slice: &PlacementDecision, _: &Hub) -> Answer {
    let labels = slice.metadata.labels.iter().map(|(key, _)| key);
    Answer::all(labels.filter(|key| is_undefined(key)).map(|key| {
        let (message, expected) = match meant(key, &DEFINED) {
            Some(defined) => (
                "the label is a likely misspelling of one that is defined",
                defined.to_owned(),
            ),
            None => (
                "no document defines the label for PlacementDecisions",
                format!("no label but {} of this API", DEFINED.join(", ")),
            ),
        };
        Finding::at_path(format!("metadata.labels[{key}]"), message)
            .expected(expected)
            .observed(key)
    }))
}

/// Whether a label belongs to the group of the API, or to ClusterProfiles, and no document knows it for a slice.
fn is_undefined(key: &str) -> bool {
    let is_of_group = key.strip_prefix(GROUP).is_some_and(|rest| rest.starts_with('/'));
    (is_of_group || key == LABEL_MANAGER) && !DEFINED.contains(&key) && !PROPOSED.contains(&key)
}
