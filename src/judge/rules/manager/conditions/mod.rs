//! The suite `conditions`.

mod driven;
mod flapping;
mod form;
mod member;
mod pairs;
mod reported;
mod transitions;

pub(in crate::rules) use driven::{
    healthy_after_heal, joined_follows_leave, reports_health, unhealthy_after_break,
};
pub(in crate::rules) use flapping::not_flapping;
pub(in crate::rules) use form::{
    observed_generation_current, observed_generation_not_ahead, transition_time_not_ahead, well_formed,
};
pub(in crate::rules) use member::healthy_agrees_with_member;
pub(in crate::rules) use reported::{
    control_plane_healthy_reported, healthy_needs_joined, joined_reported, status_follows_joined,
};
pub(in crate::rules) use transitions::{transition_time_kept, transition_time_moves};
