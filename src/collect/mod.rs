//! From a hub to evidence.

pub mod requests;
