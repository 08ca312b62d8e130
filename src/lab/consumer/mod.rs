//! The reference consumer: a small, honest consumer that reads ClusterProfiles and goes to their members.
//!
//! It watches the profiles of two namespaces, runs the credential plugin of the provider that it knows, connects to the
//! member, and asks it from time to time whether it is well. Of several profiles of one member it acts on the oldest. A [`Fault`] makes it break one rule; [`Habits`] make it another
//! honest consumer.
//!
//! * `selection`: which profiles it acts on;
//! * `placements`: which profiles its decision names, if it reads those;
//! * `access`: what a profile says of the way to its member;
//! * `controller`: the rounds; `connect`: the plugin and the connection; `log`: what it says of that;
//! * `outputs`: makes a Secret for each profile;
//! * `finalizers`: holds profiles until it has left their members, if it does that;
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
pub use world::Habits;

pub use crate::client::RequestError as ConsumerError;
