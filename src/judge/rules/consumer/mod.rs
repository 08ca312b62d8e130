//! The suites of rules on consumers, by what they do with profiles and with members.

pub(super) mod consumer_access;
pub(super) mod consumer_change;
pub(super) mod consumer_exec;
pub(super) mod consumer_health;
pub(super) mod consumer_hub;
pub(super) mod consumer_identity;
pub(super) mod consumer_placement;
pub(super) mod consumer_scope;
pub(super) mod consumer_secrets;
pub(crate) mod support;
