//! `doctor`: the preflight check of a run.
//!
//! The hub and the members are asked side by side, within a limit. What is found becomes a list of checks, each with what
//! to do about it.

mod audit_log;
mod check;
mod command;
mod conclude;
mod document;
mod driver;
mod examine;
mod gain;
mod hub;
mod kinds;
mod members;
mod outputs;
mod writers;

pub use command::Doctor;
