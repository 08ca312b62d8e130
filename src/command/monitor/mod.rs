//! `monitor`: judge a hub for as long as the process lives, and serve the verdicts.

mod bench;
mod exposition;
mod figures;
mod flags;
mod grants;
mod judging;
mod observing;
mod serve;
mod status;
#[cfg(test)]
mod tests;
mod verdicts;

pub use flags::Monitor;
