//! `doctor`: what a run with the same flags would collect, which rules that judges, and what is in its way.

mod check;
mod command;
mod document;
mod evidence;
mod examine;
mod hub;
mod sources;

pub use command::Doctor;
