//! What every subcommand shares at the terminal: how it is called, colors, signals, errors and exit codes.

pub mod advice;
pub mod called;
pub mod color;
pub mod exit;
pub mod print;
pub mod signals;
