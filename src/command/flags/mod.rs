//! The flags that several subcommands share, and what they lead to.

pub mod audit;
pub mod claim;
pub mod config;
pub mod driver;
pub mod duration;
pub mod input;
mod inputs;
pub mod members;
pub mod output;
pub mod plan;
pub mod roles;
pub mod rule;
pub mod scope;
pub mod selection;
mod size;
pub mod target;
pub mod waivers;
