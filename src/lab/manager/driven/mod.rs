//! The part of the reference manager that does as it is told: members join it and leave it, as they do a real one.
//!
//! It is a small controller, built as a good one is. It keeps as little as it can: what a profile should say follows
//! from what the member says and from what stands on the hub already, each time anew. So a restart costs nothing, a
//! deleted profile comes back, and what somebody else wrote into a status is set right, all by the same comparison.
//!
//! * `remote`: how it is told;
//! * `controller`: the rounds, in each of which members are asked and profiles compared;
//! * `look`: what a member is asked;
//! * `mirror`: what there is on the hub;
//! * `publish`: what its profile should say;
//! * `credentials`: what consumers are given;
//! * `budget`: when a profile may be written;
//! * `lapses`: what it does wrong where a fault has it so, and `fault_hooks`: how.

mod budget;
mod controller;
mod credentials;
mod fault_hooks;
mod lapses;
mod look;
mod mirror;
mod publish;
mod remote;

pub(super) use controller::Controller;
pub(super) use lapses::{Lapse, Lapses};
pub(super) use remote::{Commands, channel};
pub use remote::{Remote, RemoteError};

#[cfg(test)]
mod tests;
