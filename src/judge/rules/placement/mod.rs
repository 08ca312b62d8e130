//! What the rules on PlacementDecisions share: decisions in their slices, and what was there at each moment.

mod course;
mod lasting;
mod logical;
mod moments;
mod reasons;
mod related;
mod segments;
mod versions;

pub(super) use course::{DecisionId, News, each_news};
pub(super) use lasting::{LastingFault, RESCHEDULE, Reads, faults_among, faults_that_last};
pub(super) use logical::{
    Difference, LogicalDecision, logical_decisions, numbered_name, owner_uid, placement_key,
};
pub(super) use moments::{Moment, gaps_of};
pub(super) use reasons::{Profiles, Reason};
pub(super) use versions::each_version;
