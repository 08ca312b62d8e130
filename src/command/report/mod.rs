//! `report`: verify, compare and publish reports to submit.

mod comment;
mod diff;
mod folder;
mod held;
mod read;
mod site;
mod subcommands;
mod verify;

pub use subcommands::Report;
