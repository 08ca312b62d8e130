//! `report`: verify, compare and merge reports to submit.

mod diff;
mod merge;
mod read;
mod subcommands;
mod verify;

pub use subcommands::Report;
