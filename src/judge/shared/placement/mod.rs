//! What the rules on PlacementDecisions share.

mod logical;

pub(crate) use logical::{have_two_owners, owner_of, owner_uid};
