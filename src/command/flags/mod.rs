//! The flags that several subcommands share, and what they lead to.

pub mod audit;
pub mod claim;
pub mod driver;
pub mod input;
pub mod members;
pub mod output;
pub mod plan;
pub mod roles;
pub mod rule;
pub mod scope;
pub mod selection;
pub mod target;
pub mod values;
pub mod waivers;
