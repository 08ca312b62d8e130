//! Runs the Go program of `ci/clients`, which uses client-go and controller-runtime.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use libtest_mimic::{Completion, Failed};

use super::hubs::Hub;

/// Environment variable with the program's path, if `ci/clients/build` did not put it in its place.
const PROGRAM: &str = "GO_CLIENTS";

/// The program, or the reason why it is missing.
pub fn program() -> Result<PathBuf, String> {
    let named = std::env::var_os(PROGRAM).map(PathBuf::from);
    let built = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci/clients/.cache/clients");
    let program = named.unwrap_or_else(built);
    if program.is_file() {
        Ok(program)
    } else {
        Err(format!(
            "there is no {}: build it with ci/clients/build",
            program.display()
        ))
    }
}

/// Runs all of its parts on a hub.
pub fn run(program: &Path, hub: &Hub) -> Result<Completion, Failed> {
    let kubeconfig = hub.folder("client-go", "default").join("config");
    let output = Command::new(program).arg(kubeconfig).output()?;
    if output.status.success() {
        Ok(Completion::Completed)
    } else {
        let told = [output.stdout, output.stderr].concat();
        Err(String::from_utf8_lossy(&told).into_owned().into())
    }
}
