//! Test hubs, and the reference implementations on them.

pub mod serve;
pub mod start;
