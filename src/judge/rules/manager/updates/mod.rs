//! The suite `updates`: the load that a manager puts on the hub.

mod budget;
mod burst;
mod data;
mod empty;
mod log;
mod publishers;
mod spans;
mod spendable;
mod spending;
mod subresources;
mod writers;

pub(in crate::rules) use budget::status_writes_within_budget;
pub(in crate::rules) use burst::writes_within_burst;
pub(in crate::rules) use data::no_dynamic_data;
pub(in crate::rules) use empty::no_empty_writes;
pub use spending::{Draw, Source, Spending, Spendings};
pub(in crate::rules) use subresources::status_by_subresource;
pub(in crate::rules) use writers::distinct_appliers;
