//! What several tests share.

pub mod command;
pub mod reference_runs;
pub mod served_lab;
pub mod trials;
