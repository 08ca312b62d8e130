//! Faults: ways in which a reference implementation breaks a rule. [`manager`](crate::manager) and
//! [`scheduler`](crate::scheduler) list theirs.

mod hub_change;
mod info;

pub use hub_change::HubChange;
pub use info::{Fault, FaultInfo};
pub(crate) use info::{adapt, definitions_for, faults_by_example, sort_by_rule};
