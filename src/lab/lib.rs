//! A world to test the suite in: hubs that it starts, and a cluster manager and member clusters in this process.

pub mod crd;
pub mod driver;
pub mod hub;
pub mod manager;
pub mod member;
mod server;
