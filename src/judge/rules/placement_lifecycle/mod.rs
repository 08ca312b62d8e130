//! The suite `placement-lifecycle`: decisions from their request to their end, after tampering, and after a restart of the
//! scheduler.

mod answer;
mod limit;
mod owners;
mod placed;
mod restart;
mod restored;

pub(super) use limit::crosses_the_limit;
pub(super) use owners::owner_collects;
pub(super) use placed::{none_selected, placed, unplaced};
pub(super) use restart::restart_keeps;
pub(super) use restored::restored;
