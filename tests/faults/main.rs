//! The fault matrices: a reference implementation breaks one rule at a time, and the suite says so of that rule alone.
//!
//! One program, since each links the whole suite: `cargo test --test faults schedulers::` tries all faults of schedulers.

mod broken;
mod consumers;
mod managers;
mod matrix;
// Adverse conditions are for the tests of the lab.
#[allow(dead_code)]
#[path = "../support/observed_consumer.rs"]
mod observed_consumer;
#[path = "../support/observed_scheduler.rs"]
mod observed_scheduler;
mod one_each;
#[path = "../support/paused.rs"]
mod paused;
#[path = "../support/played_manager.rs"]
mod played_manager;
mod schedulers;

use std::process::ExitCode;

use libtest_mimic::Arguments;

fn main() -> ExitCode {
    let args = Arguments::from_args();
    let trials = [
        managers::trials(&args),
        schedulers::trials(&args),
        consumers::trials(&args),
    ];
    libtest_mimic::run(&args, trials.into_iter().flatten().collect()).exit_code()
}
