//! `report`: sign, verify, compare and publish reports to submit.

mod comment;
mod diff;
mod folder;
mod held;
mod keys;
mod read;
mod sign;
mod signature;
mod site;
mod subcommands;
mod verify;

pub use subcommands::Report;
