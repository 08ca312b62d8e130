//! Compares this server with a real kube-apiserver, and tries it with real clients.
//!
//! - `requests`: scripts of HTTP requests, played on both servers. Without a real one, only status codes are checked.
//! - `clients`: kubectl, a controller of kube-rs, and client-go.
//!
//! Trials that need a program which is missing are ignored, with the reason.

mod clients;
mod requests;
mod scripts;

use std::{path::Path, process::ExitCode};

use envtest::Assets;
use libtest_mimic::{Arguments, Failed};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trials = requests::trials().into_iter().chain(clients::trials());
    let conclusion = libtest_mimic::run(&arguments, trials.collect());
    requests::stop();
    clients::stop();
    conclusion.exit_code()
}

/// The programs of a real API server, or the reason why they are missing.
fn assets() -> Result<Assets, String> {
    let builds = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ci/envtest/.cache");
    Assets::find(Some(Path::new(builds)))
        .map_err(|error| format!("{error}, or build them with `ci/envtest/build` (it needs Go)"))
}

fn outcome(complaints: Vec<String>) -> Result<(), Failed> {
    if complaints.is_empty() {
        return Ok(());
    }
    Err(complaints.join("\n").into())
}
