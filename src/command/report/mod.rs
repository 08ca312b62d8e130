//! `report`: what can be done with reports that are submitted.

mod diff;
mod merge;
mod read;
mod subcommands;
mod verify;

pub use subcommands::Report;
