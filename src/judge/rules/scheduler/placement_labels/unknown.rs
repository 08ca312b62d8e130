//! Labels that the documents do not define.

use std::collections::HashMap;

use evidence::{
    Evidence, ObjectRef,
    api::names::{
        GROUP, LABEL_DECISION_GROUP_INDEX, LABEL_DECISION_GROUP_NAME, LABEL_DECISION_INDEX,
        LABEL_DECISION_KEY, LABEL_DECISION_REVISION, LABEL_MANAGER, LABEL_PLACEMENT_KEY,
    },
};

use crate::{
    shared::{misspelling::meant, placement::each_version},
    subjects::{Finding, Findings},
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
///
/// A slice has no label of the API's group that the documents do not define for it.
pub(in crate::rules) fn no_unknown_multicluster_labels(evidence: &Evidence, findings: &mut Findings) {
    // All slices have the same few labels.
    let mut known: HashMap<&str, Option<Unknown>> = HashMap::new();
    each_version(evidence, findings, |slice| {
        let mut found = Vec::new();
        for (key, _) in slice.metadata.labels.iter() {
            if let Some(unknown) = known.entry(key).or_insert_with(|| Unknown::of(key)) {
                found.push(
                    Finding::on(ObjectRef::from(slice), unknown.message())
                        .at(format!("metadata.labels[{key}]"))
                        .expected(unknown.expected())
                        .observed(key),
                );
            }
        }
        Some(found)
    });
}

/// Why a label is unknown.
#[derive(Clone, Copy)]
enum Unknown {
    /// It is almost the one that is defined.
    Misspelt(&'static str),
    /// It is of the group, or of another kind of the inventory.
    Undefined,
}

impl Unknown {
    /// None for a label that is defined or proposed, and for labels of other groups.
    fn of(key: &str) -> Option<Self> {
        if DEFINED.contains(&key) || PROPOSED.contains(&key) {
            return None;
        }
        let is_of_group = key.strip_prefix(GROUP).is_some_and(|rest| rest.starts_with('/'));
        match meant(key, &DEFINED) {
            Some(defined) => Some(Self::Misspelt(defined)),
            None => (is_of_group || key == LABEL_MANAGER).then_some(Self::Undefined),
        }
    }

    fn message(self) -> &'static str {
        match self {
            Self::Misspelt(_) => "the label is a likely misspelling of one that is defined",
            Self::Undefined => "no document defines the label for PlacementDecisions",
        }
    }

    fn expected(self) -> String {
        match self {
            Self::Misspelt(defined) => defined.to_owned(),
            Self::Undefined => format!("no label but {} of this API", DEFINED.join(", ")),
        }
    }
}
