//! The reference manager: a small, honest cluster manager that plays the implementation under test.
//!
//! It publishes a fleet of 20 clusters that live nowhere but here, gives two consumers their credentials, and lives:
//! clusters join, grow, fail, heal, are upgraded and leave. Some of them can be asked themselves, and say what their
//! profiles do. It talks to the hub through a [`kube::Client`] alone, so
//! it works on the lab's API server and on any real one.
//!
//! All that it will do stands in a `World` before it does anything. A [`Fault`] is an edit of that world, as narrow
//! as can be: it breaks one rule and leaves the others be.

mod access;
mod address;
mod certificates;
mod driven;
mod faults;
mod fleet;
mod hub;
mod kubeconfig;
mod lifetime;
mod members;
mod objects;
mod script;
mod status;
mod world;

pub use driven::{Remote, RemoteError};
pub use faults::{Fault, FaultInfo, HubChange, faults, hub_definitions};
pub use fleet::FleetMember;
pub use hub::ManagerError;
pub use lifetime::Manager;

#[cfg(test)]
mod recorder;
#[cfg(test)]
mod tests;
