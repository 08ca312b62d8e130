//! The command line: a folder for each group of subcommands, and one for the flags that several of them share.

mod cli;
mod config;
mod doctor;
mod flags;
mod hub;
mod manifests;
mod monitor;
mod report;
mod rules;
mod run;
mod sonobuoy;
mod terminal;

pub use cli::merge::merged;
pub use terminal::exit::{Exit, Failure};
