//! A world to try the suite in: hubs that we start, a cluster manager and member clusters that live in this process.

pub mod crd;
pub mod driver;
pub mod hub;
pub mod manager;
pub mod member;
