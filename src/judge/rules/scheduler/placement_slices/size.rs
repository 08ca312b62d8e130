//! How many clusters a slice holds.

use evidence::{Evidence, ObjectRef, api::names::LARGEST_SLICE};

use crate::{
    shared::placement::each_version,
    subjects::{Finding, Findings},
};

/// `placement-slices/size`
///
/// No slice has more than 100 clusters.
///
/// The CRD refuses more, so only a hub with another CRD, or a dump, shows such a slice.
pub(in crate::rules) fn size(evidence: &Evidence, findings: &mut Findings) {
    each_version(evidence, findings, |slice| {
        let count = slice.clusters().len();
        let is_too_large = count > LARGEST_SLICE;
        let finding = is_too_large.then(|| {
            Finding::on(ObjectRef::from(slice), "the slice has too many clusters")
                .at("decisions")
                .expected(format!("at most {LARGEST_SLICE} clusters"))
                .observed(format!("{count} clusters"))
        });
        Some(finding.into_iter().collect())
    });
}

/// `placement-slices/decisions-present`
///
/// The list of clusters is there, and empty if no cluster is selected.
pub(in crate::rules) fn decisions_present(evidence: &Evidence, findings: &mut Findings) {
    each_version(evidence, findings, |slice| {
        let is_absent = slice.decisions.is_none();
        let finding = is_absent.then(|| {
            Finding::on(ObjectRef::from(slice), "the list of clusters is missing")
                .at("decisions")
                .expected("a list, which may be empty")
                .observed("(absent)")
        });
        Some(finding.into_iter().collect())
    });
}
