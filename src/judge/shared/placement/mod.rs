//! What the rules on PlacementDecisions share: decisions in their slices, and what was there at each moment.

mod decision_history;
mod lasting;
mod logical;
mod reasons;
mod related;

pub(crate) use decision_history::{DecisionChange, each_decision_change};
pub(crate) use lasting::{Moment, RESCHEDULE, faults_among};
pub(crate) use logical::{have_two_owners, numbered_name, owner_of, owner_uid, placement_key};
pub(crate) use reasons::{Profiles, Reason};
