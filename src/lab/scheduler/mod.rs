//! The reference scheduler: a small, honest scheduler that plays the implementation under test of PlacementDecision.
//!
//! It publishes an inventory of simulated clusters, and selects some of them for each of a few workloads: none, a few,
//! exactly a slice, more than a slice. Then a cluster is deleted, another fails, a workload grows past 100 clusters and
//! shrinks again, one comes and one goes. It uses only a [`kube::Client`], so it works on the API server in this process
//! and on any real one.
//!
//! A `World` holds what it does, before it does anything. A [`Fault`] is a narrow edit of that world: it breaks one rule
//! and keeps the others.
//!
//! * `world`: workloads, inventory and script; `script`: what happens, and when;
//! * `inventory`: the profiles, and what consumers may do;
//! * `workload`: the objects for which the scheduler decides;
//! * `selection`: which clusters a workload gets; `slices`: how they are published, one `slice` after the other;
//! * `controller`: the rounds; `remote`: the remote control, and `hooks`: how a driver uses it; `events`: what it and the script ask for;
//! * `misbehaviours`: misbehaviour that faults ask for, and `fault_hooks`: how it acts on the slices of others.

mod controller;
mod events;
mod fault_hooks;
mod faults;
mod hooks;
mod inventory;
mod lifetime;
mod misbehaviours;
mod names;
mod placement;
mod remote;
mod script;
mod selection;
mod slice;
mod slices;
mod workload;
mod world;

pub use faults::{Fault, FaultInfo, faults, hub_definitions};
pub use hooks::SchedulerHooks;
pub use lifetime::Scheduler;
pub use placement::Clusters;
pub use remote::{Remote, RemoteError};

pub use crate::client::RequestError as SchedulerError;

#[cfg(test)]
mod tests;
