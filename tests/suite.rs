//! The command line, and runs on the lab and on files, where everything that happens is known.
//!
//! One program, since each links the whole suite: `cargo test --test suite chaos::` runs some of its tests.

mod cli;
#[path = "../src/report/tests/formats/support/hostile.rs"]
mod hostile;
mod lab;
#[path = "../src/judge/tests/support/seeds.rs"]
mod seeds;
#[path = "../src/collect/tests/send.rs"]
mod send;
// Some of it is for the trials.
#[allow(dead_code)]
mod support;

use support::{command, reference_runs, served_lab};
