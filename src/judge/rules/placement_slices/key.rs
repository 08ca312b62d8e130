//! The key that the slices of one decision share.

use evidence::{Evidence, ObjectRef, api::names};

use crate::rules::{
    finding::{Finding, Findings},
    placement::each_version,
};

/// `placement-slices/key-valid`
///
/// A decision key that is set is not empty.
///
/// The hub checks the syntax of labels, which allows an empty value.
pub(in crate::rules) fn key_valid(evidence: &Evidence, findings: &mut Findings) {
    each_version(evidence, findings, |slice| {
        let key = slice.label(names::LABEL_DECISION_KEY)?;
        let finding = key.is_empty().then(|| {
            Finding::on(ObjectRef::from(slice), "the decision key is empty")
                .at(format!("metadata.labels[{}]", names::LABEL_DECISION_KEY))
                .expected("the name of the decision, or no such label")
                .observed(key)
        });
        Some(finding.into_iter().collect())
    });
    if findings.examined == 0 {
        findings.not_applicable("no slice has a decision key");
    }
}
