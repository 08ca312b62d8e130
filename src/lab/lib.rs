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
mod reference;
pub mod scheduler;
mod server;
pub mod testbed;

pub use reference::{Reference, reference};
