//! One fault for each rule, and further ones where a rule can be broken in several ways. The first failing example of a rule
//! on published objects is its fault; the faults in these files are about behavior.
//!
//! A fault has the id of the rule that it breaks (`suite/rule`, or `suite/rule:variant`). It breaks no other rule, except
//! those in [`FaultInfo::also`]; a comment there says why they cannot be separated.

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

pub use fault::{Fault, FaultInfo};
pub use registry::{adapt_definitions, faults, hub_definitions};
