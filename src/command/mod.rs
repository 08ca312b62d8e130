//! The command line: a module for each group of subcommands, and one for the flags that several of them share.
//!
//! - `terminal`: how the command is called, signals, errors and exit codes;
//! - `rules`: `list` and `explain`;
//! - `flags`: what several subcommands take, and what it leads to;
//! - `hub`: test hubs and the reference implementations on them, and `hub`;
//! - `report`, `doctor`: the subcommands of these names;
//! - `run`: `run` and `replay`, from a hub or a file to reports;
//! - `config`: settings from flags, variables and the configuration file;
//! - `consumer_plugin`: `plugin`, which a consumer runs;
//! - `manifests`: `crd`, `rbac` and `schema`, which print files for users;
//! - `cli`: the command line as a whole, with `completions` and `version`.

mod cli;
mod config;
mod consumer_plugin;
mod doctor;
mod flags;
mod hub;
mod manifests;
mod report;
mod rules;
mod run;
mod terminal;

pub use cli::parse;
use flags::{
    JudgeFlags, RunFlags, RunPlan,
    claim::{ClaimFlags, role_parser},
    driver::Driving,
    files::{FileFlags, InputFlags, OutputFlags, PrintFormat},
    target::{ReferenceImplementations, Target, TestHub},
};
use hub::runtime;
use run::RunCommand;
pub use terminal::exit::{Exit, Failure};
use terminal::{called, exit::bail_usage, print, width};
