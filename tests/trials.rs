//! Trials that are made when the program runs: one for each fault, and those on real parts, which are ignored with the
//! reason where a part is missing.
//!
//! One program, since each links the whole suite: `cargo test --test trials real::driver` runs some of its trials.

mod faults;
#[cfg(feature = "k3s")]
mod k3s;
mod real;
#[path = "../src/collect/tests/send.rs"]
mod send;
// Some of it is for the tests of the command line.
#[allow(dead_code)]
mod support;

use std::process::ExitCode;

use libtest_mimic::Arguments;
use support::{command, reference_runs, trials};

/// Many trials wait for a program or for a deadline of the machine's clock, and do so together.
const THREADS: usize = 4;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(THREADS);
    let mut trials = real::trials();
    #[cfg(feature = "k3s")]
    trials.extend(k3s::trials());
    trials.extend(faults::trials(&arguments));
    libtest_mimic::run(&arguments, trials).exit_code()
}
