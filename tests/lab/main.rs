//! The suite on its lab and on files, where everything that happens is known.
//!
//! One program, since each links the whole suite: `cargo test --test lab chaos::` runs some of its tests.

mod chaos;
// Some of it is for the tests of the command line.
#[allow(dead_code)]
#[path = "../support/command.rs"]
mod command;
mod consumers;
mod degraded;
mod hostile_inputs;
#[path = "../support/observed_consumer.rs"]
mod observed_consumer;
#[path = "../support/reference_runs.rs"]
mod reference_runs;
mod reports;
#[path = "../../src/judge/tests/support/seeds.rs"]
mod seeds;
#[path = "../../src/collect/tests/send.rs"]
mod send;
// Some of it is for the tests of the command line.
#[allow(dead_code)]
#[path = "../support/served_lab.rs"]
mod served_lab;
// Some of it is for the tests of the report's own crate.
#[allow(dead_code)]
#[path = "../../src/report/tests/formats/support/mod.rs"]
mod support;
mod trust;

/// The repository.
const ROOT: &str = env!("CARGO_MANIFEST_DIR");
