//! The suite `conditions`.

mod driven;
mod flapping;
mod form;
mod joined;
mod member;
mod pairs;
mod reported;
mod transitions;

pub(in crate::rules) use driven::{
    healthy_after_heal, joined_follows_leave, reports_health, unhealthy_after_break,
};
pub(in crate::rules) use flapping::not_flapping;
pub(in crate::rules) use form::{observed_generation_not_ahead, well_formed};
pub(in crate::rules) use joined::{healthy_needs_joined, status_follows_joined};
pub(in crate::rules) use member::healthy_agrees_with_member;
pub(in crate::rules) use reported::{control_plane_healthy_reported, joined_reported};
pub(in crate::rules) use transitions::{transition_time_kept, transition_time_moves};
