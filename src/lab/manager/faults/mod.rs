//! One fault for each rule, and a second where a rule can be broken in two ways.
//!
//! A fault is known by the id of the rule that it breaks (`suite/rule`, or `suite/rule:variant`). It breaks nothing
//! else, but for the rules that it lists in [`FaultInfo::also`], each with the reason why they cannot be told apart.

mod access;
mod clustersets;
mod conditions;
mod consumers;
mod fault;
mod identity;
mod lifecycle;
mod properties;
mod registry;
mod updates;
mod version;

pub use fault::{FaultInfo, HubChange};
pub use registry::{Fault, faults, hub_definitions};
