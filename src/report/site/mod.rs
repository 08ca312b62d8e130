//! The board: one HTML page that compares implementations by their submitted reports.
//!
//! Reports and evidence come from other people. The page escapes and shortens their text, runs no script, and shows a
//! pass in green only if judging the evidence again reproduced the report.

mod board;
#[cfg(test)]
mod tests;

pub use board::{BoardEntry, EditionResult, write};
