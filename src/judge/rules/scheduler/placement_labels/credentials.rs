//! Credentials in a slice.

use evidence::api::PlacementDecision;

use crate::{
    engine::{Answer, Hub},
    shared::leaks::LeakFindings,
};

/// `placement-labels/reason-is-public`
pub(in crate::rules) fn reason_is_public(slice: &PlacementDecision, _: &Hub) -> Answer {
    let mut leaks = LeakFindings::of("slice");
    leaks.map("metadata.labels", &slice.metadata.labels);
    leaks.map("metadata.annotations", &slice.metadata.annotations);
    leaks.text(slice.scheduler(), || "schedulerName".to_owned());
    for (place, decision) in slice.clusters().iter().enumerate() {
        let reason = decision.reason.as_deref().unwrap_or_default();
        leaks.text(reason, || format!("decisions[{place}].reason"));
    }
    leaks.answer()
}
