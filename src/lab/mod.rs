//! A world to try the suite in: a hub, a cluster manager and member clusters that live in this process.

pub mod apiserver;
pub mod loopback;
pub mod manager;
pub mod member;
mod token;
