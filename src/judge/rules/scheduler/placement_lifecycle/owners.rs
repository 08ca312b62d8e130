//! The owners with which slices are deleted.

use evidence::{
    Evidence, ObjectRef,
    api::{PlacementDecision, names},
};

use crate::subjects::{Finding, Findings};

/// `placement-lifecycle/owner-collects`
///
/// An owner reference ties each slice to its request, so that the hub deletes them together.
///
/// Which kind a request has, the scheduler chooses. A ClusterProfile is none: with it, the decision on other clusters
/// would go too.
pub(in crate::rules) fn owner_collects(evidence: &Evidence, findings: &mut Findings) {
    for slice in evidence.slices() {
        // Nothing is left to collect of a slice that waits for its finalizers.
        if slice.metadata.deletion_timestamp.is_some() {
            continue;
        }
        findings.examine();
        if let Some(finding) = untied(slice) {
            findings.report(finding);
        }
    }
}

fn untied(slice: &PlacementDecision) -> Option<Finding> {
    let owners = &slice.metadata.owner_references;
    let is_profile =
        |kind: &str, version: &str| kind == names::KIND && version.split('/').next() == Some(names::GROUP);
    let mut profiles = owners
        .iter()
        .filter(|owner| is_profile(&owner.kind, &owner.api_version));
    let finding = |message: &str| {
        Finding::on(ObjectRef::from(slice), message)
            .at("metadata.ownerReferences")
            .expected("the request that the slice answers")
    };
    match (profiles.next(), owners.len()) {
        (_, 0) => Some(finding("no owner reference ties the slice to its request").observed("no owner")),
        (Some(profile), _) => Some(
            finding("the slice is deleted with one of the clusters").observed(format!(
                "{} {}",
                names::KIND,
                profile.name
            )),
        ),
        (None, _) => None,
    }
}
