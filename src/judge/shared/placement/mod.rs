//! What the rules on PlacementDecisions share: decisions in their slices, and what was there at each moment.

mod decision_history;
mod lasting;
mod logical;
mod reasons;
mod related;
mod versions;

pub(crate) use decision_history::{DecisionChange, each_decision_change};
pub(crate) use lasting::{LastingFault, Moment, RESCHEDULE, Reads, faults_among, faults_that_last};
pub(crate) use logical::{
    Difference, LogicalDecision, logical_decisions, numbered_name, owner_uid, placement_key,
};
pub(crate) use reasons::{Profiles, Reason};
pub(crate) use versions::each_version;
