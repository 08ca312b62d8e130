//! From a hub or a file to reports.

mod clean;
pub mod command;
mod conclude;
mod observe;
mod progress;
mod recording;
