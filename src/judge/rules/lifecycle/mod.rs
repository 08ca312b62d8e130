//! The suite `lifecycle`: profiles when members join, fail and leave, after tampering, and after a restart of the manager.

mod foreign;
mod heal;
mod join;
mod restart;
mod tampering;

pub(super) use foreign::foreign_profiles_untouched;
pub(super) use heal::heal_restores_status;
pub(super) use join::{join_creates_profile, join_fills_status};
pub(super) use restart::restart_keeps_profiles;
pub(super) use tampering::{deleted_profile_restored, label_restored, status_restored};
