//! One fault for each rule on placements, and further ones where a rule can be broken in several ways. The first failing
//! example of a rule on published slices is its fault; the faults in these files are about behavior.
//!
//! A fault has the id of the rule that it breaks (`suite/rule`, or `suite/rule:variant`). It breaks no other rule, except
//! those in [`FaultInfo::also`]; a comment there says why they cannot be separated.

mod fault;
mod labels;
mod lifecycle;
mod ownership;
mod references;
mod registry;
mod slices;
mod updates;

pub use fault::{Fault, FaultInfo};
pub use registry::{faults, hub_definitions};
