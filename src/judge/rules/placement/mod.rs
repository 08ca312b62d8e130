//! What the rules on PlacementDecisions share: decisions in their slices, and what was there at each moment.

mod decision_history;
mod lasting;
mod logical;
mod reasons;
mod related;
mod versions;

pub(super) use decision_history::{DecisionChange, DecisionId, each_decision_change};
pub(super) use lasting::{LastingFault, Moment, RESCHEDULE, Reads, faults_among, faults_that_last};
pub(super) use logical::{
    Difference, LogicalDecision, logical_decisions, numbered_name, owner_uid, placement_key,
};
pub(super) use reasons::{Profiles, Reason};
pub(super) use versions::each_version;
