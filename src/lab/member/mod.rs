//! Stand-in members: clusters that live in this process, for managers to manage and for the suite to ask.
//!
//! A [`StandIn`] is an API server in this process, with what a manager reads from a member cluster: a version, health
//! checks that can fail one by one, nodes, custom resource definitions, ClusterProperties and the leases of its control
//! plane. [`StandIn::alter`] changes its state, and can make the member unreachable.
//!
//! In process it answers under tokio's paused clock; [`StandIn::serve`] offers it over TLS on the loopback, in real
//! time.

mod objects;
mod serve;
mod service;
mod stand_in;
mod state;

pub use serve::Served;
pub use stand_in::StandIn;
pub use state::{Leases, MemberState, Property};

#[cfg(test)]
mod tests;
