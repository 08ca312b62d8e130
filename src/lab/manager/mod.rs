//! The reference manager: a small, honest cluster manager that plays the implementation under test.
//!
//! It publishes a fleet of 20 simulated clusters and gives two consumers their credentials. Then clusters join, grow,
//! fail, heal, are upgraded and leave. Some of them are stand-in members, which agree with their profiles. The manager
//! uses only a [`kube::Client`], so it works on the API server in this process and on any real one.
//!
//! A `World` holds all that it will do, before it does anything. A [`Fault`] is a narrow edit of that world: it breaks
//! one rule and keeps the others.

mod access;
mod address;
mod certificates;
mod driven;
mod faults;
mod fleet;
mod hooks;
mod kubeconfig;
mod lifetime;
mod members;
mod objects;
mod script;
mod status;
mod world;

pub(crate) use certificates::new_ca_data;
pub use driven::{Remote, RemoteError};
pub use faults::{Fault, FaultInfo, adapt_definitions, faults, hub_definitions};
pub use fleet::FleetMember;
pub use hooks::ReferenceHooks;
pub use lifetime::Manager;

pub use crate::client::RequestError as ManagerError;

#[cfg(test)]
mod tests;
