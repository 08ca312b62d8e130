//! Slices that the run deleted or emptied.

use evidence::{DriverAction, Reason, api::PlacementDecision, clusters_of};

use crate::{
    engine::{Answer, PlacementStep, SliceState, describe},
    subjects::Finding,
};

/// `placement-lifecycle/restored`
///
/// A slice that the run deleted or emptied is there again with a cluster. The cluster may be another one than before.
pub(in crate::rules) fn restored(step: &PlacementStep) -> Answer {
    let written = match own_write(step) {
        Ok(written) => written,
        Err(reason) => return Answer::Unknown(reason),
    };
    let left = clusters_without_slice(step, written);
    step.expect_since(
        written.seen_at,
        "the clusters of the slice",
        |slices| clusters_of(slices).len() > left,
        |slices| Ok(Finding::on(step.object(slices), message(step.taken.action)).at("decisions")),
    )
}

fn message(action: DriverAction) -> &'static str {
    match action {
        DriverAction::DeleteSlice => "a slice that somebody else deleted is not restored",
        _ => "a slice that somebody else emptied is not restored",
    }
}

/// How many clusters the decision had in its other slices before the run's write.
fn clusters_without_slice(step: &PlacementStep, written: &SliceState) -> usize {
    let Some(before) = step.state_before(written) else {
        return 0;
    };
    let name = step.taken.slice.as_ref().map(|slice| slice.name.as_str());
    let others = before.slices.iter().copied();
    let others: Vec<&PlacementDecision> = others
        .filter(|slice| Some(&*slice.metadata.name) != name)
        .collect();
    clusters_of(&others).len()
}

/// The first state that shows what the run wrote.
///
/// # Errors
/// The reason why there is none.
fn own_write<'h, 's>(step: &'h PlacementStep<'s, '_>) -> Result<&'h SliceState<'s>, Reason> {
    let action = describe(step.taken);
    let unseen = || Reason::from(format!("the watch did not show what {action} wrote"));
    let slice = step.taken.slice.as_ref().ok_or_else(unseen)?;
    let is_deletion = step.taken.action == DriverAction::DeleteSlice;
    if is_deletion {
        let mut histories = step.histories.iter();
        let history = histories.find(|history| *history.last().metadata.uid == *slice.uid);
        let history = history.ok_or_else(unseen)?;
        let is_terminating = history.last().metadata.deletion_timestamp.is_some();
        match history.deleted {
            None if is_terminating => {
                return Err(format!("a finalizer keeps the slice after {action}").into());
            }
            None => return Err(unseen()),
            Some(_) => {}
        }
    }
    let is_written = |state: &&SliceState| {
        let mut slices = state.slices.iter();
        if is_deletion {
            !slices.any(|present| *present.metadata.uid == *slice.uid)
        } else {
            slices.any(|present| *present.metadata.name == *slice.name && present.clusters().is_empty())
        }
    };
    let from = step.taken.from.as_microsecond();
    let mut states = step.states_until_next(from).filter(|state| state.seen_at >= from);
    states.find(is_written).ok_or_else(unseen)
}
