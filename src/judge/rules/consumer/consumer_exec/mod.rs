//! The suite `consumer-exec`: a consumer runs credential plugins as their protocol and the profile say.

mod additions;
mod config;
mod expiry;
mod failure;
mod isolated;
mod leaks;
mod malformed;
mod protocol;

pub(in crate::rules) use additions::{profile_args_as_told, profile_args_off_by_default};
pub(in crate::rules) use config::config_verbatim;
pub(in crate::rules) use expiry::expiry_renewed;
pub(in crate::rules) use failure::failure_isolated;
pub(in crate::rules) use leaks::nothing_leaks_between_profiles;
pub(in crate::rules) use malformed::malformed_isolated;
pub(in crate::rules) use protocol::protocol_as_configured;
