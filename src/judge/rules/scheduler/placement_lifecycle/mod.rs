//! The suite `placement-lifecycle`: decisions from their request to their end, after tampering, and after a restart of the
//! scheduler.

mod limit;
mod owners;
mod placed;
mod restart;
mod restored;
mod unplaced;

pub(in crate::rules) use limit::crosses_the_limit;
pub(in crate::rules) use owners::owner_collects;
pub(in crate::rules) use placed::{none_selected, placed};
pub(in crate::rules) use restart::restart_keeps;
pub(in crate::rules) use restored::restored;
pub(in crate::rules) use unplaced::unplaced;
