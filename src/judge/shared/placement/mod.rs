//! What the rules on PlacementDecisions share: decisions in their slices, and what was there at each moment.

mod decision_history;
mod logical;
mod reasons;

pub(crate) use decision_history::{DecisionChange, RESCHEDULE, each_decision_change};
pub(crate) use logical::{have_two_owners, owner_of, owner_uid};
pub(crate) use reasons::{Profiles, Reason};
