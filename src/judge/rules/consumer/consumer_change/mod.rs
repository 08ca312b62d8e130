//! The suite `consumer-change`: a consumer follows what profiles say, and nothing else.

mod address;
mod ended;
mod heartbeats;
mod restart;

pub(in crate::rules) use address::address_followed;
pub(in crate::rules) use ended::{access_revoked, profile_gone};
pub(in crate::rules) use heartbeats::heartbeats_harmless;
pub(in crate::rules) use restart::restart_no_orphans;
