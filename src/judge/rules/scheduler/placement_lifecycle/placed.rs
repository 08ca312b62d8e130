//! What comes of a request: clusters, or none.

use evidence::{api::PlacementDecision, clusters_of};

use super::limit::well_members;
use crate::{
    engine::{Answer, PlacementStep},
    subjects::Finding,
    text::counted,
};

/// `placement-lifecycle/placed`
///
/// The scheduler publishes slices with as many clusters as the run asked for. It may have reasons to select others.
pub(in crate::rules) fn placed(step: &PlacementStep) -> Answer {
    let expected = counted(step.request.clusters, "cluster");
    let is_met = |slices: &[&PlacementDecision]| step.request.is_met_by(slices);
    step.expect(&expected, is_met, |slices| match slices {
        [] if well_members(step).next().is_none() => {
            Err("no member was joined and healthy after the request".into())
        }
        [] => Ok(Finding::on(step.object(slices), "a request for clusters has no decision").at("decisions")),
        _ => {
            let message = "a decision has other clusters than were asked for";
            Ok(Finding::on(step.object(slices), message)
                .at("decisions")
                .advisory())
        }
    })
}

/// `placement-lifecycle/none-selected`
///
/// A decision names no cluster if none is requested.
pub(in crate::rules) fn none_selected(step: &PlacementStep) -> Answer {
    let is_met = |slices: &[&PlacementDecision]| clusters_of(slices).is_empty();
    step.expect("no cluster", is_met, |slices| {
        let message = "a decision keeps clusters though none is asked for";
        Ok(Finding::on(step.object(slices), message).at("decisions"))
    })
}
