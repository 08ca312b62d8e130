//! Rules on the profiles that decisions refer to (KEP-5313 › Relationship to other SIG-Multicluster APIs).

mod doubts;
mod faults;
mod fleet;
mod naming;
mod resolve;
mod spans;

pub(super) use resolve::{resolve, resolve_across_time};
