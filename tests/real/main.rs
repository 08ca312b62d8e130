//! The suite on real parts: kube-apiserver, kubectl, credential plugins, a cluster, and implementations that run as
//! programs. A trial whose part is missing is ignored, with the reason.
//!
//! One program, since each links the whole suite: `cargo test --test real driver::` runs some of its trials.

mod admission;
mod cluster;
// Some of it is for the tests of the command line.
#[allow(dead_code)]
#[path = "../support/command.rs"]
mod command;
mod driver;
mod envtest;
mod plugins;
mod readme;
#[path = "../../src/collect/tests/send.rs"]
mod send;
#[path = "../support/trials.rs"]
mod trials;

use std::process::ExitCode;

use libtest_mimic::Arguments;

/// Most trials wait for a program or for a deadline of the machine's clock, and do so together.
const THREADS: usize = 4;

fn main() -> ExitCode {
    let trials = [
        admission::trials(),
        cluster::trials(),
        driver::trials(),
        envtest::trials(),
        plugins::trials(),
        readme::trials(),
    ];
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(THREADS);
    libtest_mimic::run(&arguments, trials.into_iter().flatten().collect()).exit_code()
}
