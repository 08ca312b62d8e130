//! `monitor`: judge a hub for as long as the process lives, and serve the verdicts.

mod exposition;
mod figures;
mod flags;
mod grants;
mod hosts;
mod judgement_loop;
mod observation;
mod observing;
mod serve;
mod status;
mod status_writes;
#[cfg(test)]
mod tests;
mod verdicts;

pub use flags::Monitor;
