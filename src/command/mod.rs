//! The command line: one file per subcommand, and one per group of flags that several of them share.

mod advice;
mod audit;
mod claim;
mod clean;
mod cli;
mod completions;
mod conclude;
mod config;
mod crd;
mod driver;
mod exit;
mod explain;
mod hub;
mod ledger;
mod list;
mod members;
mod observe;
mod output;
mod plan;
mod print;
mod progress;
mod rbac;
mod replay;
mod report;
mod rule;
mod run;
mod schema;
mod scope;
mod selection;
mod signals;
mod sonobuoy;
mod target;
mod waivers;

pub use cli::Cli;
pub use config::merged;
pub use exit::{Exit, Failure};
