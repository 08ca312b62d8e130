//! `report`: sign, verify, compare, merge and publish reports to submit.

mod comment;
mod diff;
mod folder;
mod held;
mod keys;
mod merge;
mod read;
mod sign;
mod signature;
mod site;
mod subcommands;
mod verify;

pub use subcommands::Report;
