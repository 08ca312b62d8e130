//! A world to test the suite in: hubs that it starts, and a cluster manager, a scheduler, a consumer and member clusters in
//! this process.

mod client;
pub mod consumer;
pub mod crd;
pub mod driver;
pub mod fault;
pub mod hub;
pub mod manager;
pub mod member;
mod mirror;
pub mod scheduler;
pub mod testbed;

use evidence::api::Role;

/// A reference implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Its user on the hub, and its field manager.
    pub name: &'static str,
    /// The namespace of what it does when it is driven.
    pub namespace: &'static str,
}

/// The reference implementation of a role.
pub fn reference(role: Role) -> Reference {
    let (name, namespace) = match role {
        Role::Manager => (manager::Manager::NAME, manager::Manager::NAMESPACE),
        Role::Scheduler => (scheduler::Scheduler::NAME, scheduler::Scheduler::NAMESPACE),
        Role::Consumer => (consumer::Consumer::NAME, consumer::Consumer::NAMESPACE),
    };
    Reference { name, namespace }
}

/// An API server in this process that takes its time from `clock`.
fn server(clock: collect::clock::Clock) -> apiserver::ApiServer {
    apiserver::ApiServer::new(apiserver::ServerClock::new(move || clock.now()))
}
