//! `run` and `replay`: from a hub, or a file with its state, to reports.

mod clean;
pub mod command;
mod conclude;
mod first_sight;
mod observe;
mod progress;
mod recording;
pub mod replay;
