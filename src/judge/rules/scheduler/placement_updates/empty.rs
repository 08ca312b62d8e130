//! Writes of slices that change nothing.

use evidence::{Request, api::PlacementDecision};

use crate::{
    engine::{Answer, Hub, Writes},
    subjects::Finding,
};

/// `placement-updates/no-empty-writes`
///
/// The scheduler sends no two updates of a slice that leave it as it was.
pub(in crate::rules) fn no_empty_writes(writes: &Writes<'_, '_, PlacementDecision>, _: &Hub) -> Answer {
    let finding = Finding::at_path(
        "metadata.resourceVersion",
        "the slice is written without a change",
    );
    let finding = finding.expected("writes only if the slice changed");
    match writes.of_updates().each_changes_something(finding) {
        Answer::Warning(_) => Answer::Kept,
        answer => answer,
    }
}

/// Whether the audit log shows if an update changed anything.
pub(in crate::rules) fn shows_effect(request: &Request) -> bool {
    !matches!(&*request.verb, "update" | "patch") || request.changed.is_some()
}
