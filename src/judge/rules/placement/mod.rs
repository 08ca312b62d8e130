//! What the rules on PlacementDecisions share: decisions in their slices, and what was there at each moment.

mod logical;
mod moments;
mod versions;

pub(super) use logical::{LogicalDecision, logical_decisions};
pub(super) use moments::{faults_that_last, gaps_of};
pub(super) use versions::each_version;
