//! The suite `consumer-health`: what a consumer makes of what profiles tell of their members.

mod tolerance;
mod unhealthy;

pub(in crate::rules) use tolerance::unknown_values_tolerated;
pub(in crate::rules) use unhealthy::unhealthy_not_dispatched;
