//! The reference consumer: a small, honest consumer that reads ClusterProfiles and calls their members.
//!
//! It watches the profiles of two namespaces, runs the credential plugin of the provider that it knows, connects to the
//! member, and checks its health from time to time. Of several profiles of one member it acts on the oldest. A [`Fault`]
//! makes it break one rule; [`Habits`] make it another honest consumer.
//!
//! * `selection`: the profiles on which it acts; `placements`: those that its decision names;
//! * `access`: a profile's access to its member;
//! * `controller`: the rounds; `connect`: the plugin and the connections; `log`: its log;
//! * `outputs`: a Secret for each profile; `finalizers`: its finalizer on profiles;
//! * `world`: habits and misbehaviour; `faults`: each with the rule that it breaks;
//! * `lifetime`: sets it up and runs it; `hooks`: stops and starts it.

mod access;
mod connect;
mod controller;
mod faults;
mod finalizers;
mod hooks;
mod lifetime;
mod log;
mod names;
mod outputs;
mod placements;
mod selection;
mod world;

pub use faults::{Fault, FaultInfo, faults};
pub use lifetime::{Consumer, hub_definitions};
pub use world::{Crash, Habits, Polling};

pub use crate::client::RequestError as ConsumerError;
