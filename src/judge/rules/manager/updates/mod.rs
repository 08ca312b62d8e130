//! The suite `updates`: the load that a manager puts on the hub.

mod budget;
mod subresources;
mod writers;

pub(in crate::rules) use budget::{
    no_dynamic_data, no_empty_writes, refused_writes_within_budget, shows_effect,
    status_writes_within_budget, writes_within_burst,
};
pub(in crate::rules) use subresources::{shows_body, status_by_subresource};
pub(in crate::rules) use writers::distinct_appliers;
