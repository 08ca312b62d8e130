//! A run: the steps from a plan to evidence.

pub(crate) mod after_window;
pub(crate) mod consumers;
pub(crate) mod header;
pub(crate) mod patience;
pub mod plan;
pub mod profiles;
pub(crate) mod scope_check;
pub(crate) mod settle;
pub(crate) mod share;
pub(crate) mod slices;
pub mod survey;
pub(crate) mod workloads;
