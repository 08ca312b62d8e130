//! The suite `conditions`.

mod driven;
mod flapping;
mod form;
mod joined;
mod member;
mod pairs;
mod reported;
mod transitions;

pub(super) use driven::{healthy_follows_outage, joined_follows_leave};
pub(super) use flapping::not_flapping;
pub(super) use form::{observed_generation_not_ahead, well_formed};
pub(super) use joined::{healthy_needs_joined, status_follows_joined};
pub(super) use member::healthy_agrees_with_member;
pub(super) use reported::{control_plane_healthy_reported, joined_reported};
pub(super) use transitions::{transition_time_kept, transition_time_moves};
