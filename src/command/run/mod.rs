//! `run` and `replay`: from a hub, or a file with its state, to reports.

pub mod clean;
pub mod command;
pub mod conclude;
pub mod observe;
pub mod progress;
pub mod recording;
pub mod replay;
