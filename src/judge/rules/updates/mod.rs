//! The suite `updates`: the load that a manager puts on the hub.

mod average;
mod budget;
mod burst;
mod data;
mod doors;
mod driven;
mod empty;
mod log;
mod publishers;
mod spans;
mod spending;
mod writers;

pub(super) use average::average_rate;
pub(super) use budget::status_writes_within_budget;
pub(super) use burst::writes_within_burst;
pub(super) use data::no_dynamic_data;
pub(super) use doors::status_by_subresource;
pub(super) use driven::{restart_within_burst, scale_within_budget};
pub(super) use empty::no_empty_writes;
pub use spending::{Draw, Source, Spending, Spendings};
pub(super) use writers::distinct_appliers;
