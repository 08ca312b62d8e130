//! The suite `lifecycle`: profiles when members join, fail and leave, after tampering, and after a restart of the manager.

mod foreign;
mod heal;
mod join;
mod kept;
mod tampering;

pub(in crate::rules) use foreign::foreign_profiles_untouched;
pub(in crate::rules) use heal::heal_restores_status;
pub(in crate::rules) use join::{join_creates_profile, join_fills_status};
pub(in crate::rules) use kept::{cut_off_keeps_profiles, restart_keeps_profiles};
pub(in crate::rules) use tampering::{deleted_profile_restored, label_restored, status_restored};
