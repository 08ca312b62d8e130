//! The driven part of the reference manager: members join and leave it by remote control.
//!
//! It is a small level-triggered controller. In each round it computes every profile from its member's answers and from
//! the profile on the hub. So a restart costs no write, a deleted profile is restored, and foreign edits of a status
//! are corrected.
//!
//! * `remote`: the remote control;
//! * `state`: what the manager knows; `controller`: the rounds;
//! * `look`: members' health and inventory;
//! * `publish`: the profile that a member should have;
//! * `credentials`: consumers' Secrets;
//! * `budget`: the limit of status writes;
//! * `misbehaviours`: misbehaviour that faults ask for, and `fault_hooks`: how it acts.

mod budget;
mod controller;
mod credentials;
mod fault_hooks;
mod look;
mod misbehaviours;
mod publish;
mod remote;
mod state;

pub(super) use misbehaviours::{Misbehaviour, Misbehaviours};
pub(super) use remote::{Commands, channel};
pub use remote::{Remote, RemoteError};
pub(super) use state::Controller;
