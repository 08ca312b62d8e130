//! The suite `placement-lifecycle`: decisions from their request to their end.

mod owners;

pub(super) use owners::owner_collects;
