//! The README's example of kubectl: runs its program, and then its command lines in a shell.

use std::{
    env,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio, exit},
};

use libtest_mimic::Failed;

use super::shell::Shell;

const README: &str = include_str!("../../../README.md");
const PROGRAM: &str = include_str!("serve.rs");

/// Set for a copy of this test that is the README's program.
const SERVE: &str = "CLIENTS_README_PROGRAM";

mod serve {
    include!("serve.rs");

    pub fn run() {
        main().expect("the program serves");
    }
}

/// Runs the program instead of the trials, if this process was started for that.
pub fn serve_if_asked() {
    if env::var_os(SERVE).is_some() {
        serve::run();
        exit(0);
    }
}

pub fn has_the_program() {
    let block = format!("```rust,no_run\n{PROGRAM}```\n");
    assert!(
        README.contains(&block),
        "the README has not tests/fidelity/clients/serve.rs"
    );
}

pub fn names_this_version() {
    let version = concat!(
        env!("CARGO_PKG_VERSION_MAJOR"),
        ".",
        env!("CARGO_PKG_VERSION_MINOR")
    );
    assert!(
        README.contains(&format!("in-process-apiserver = \"{version}\"")),
        "the README has not {version}"
    );
}

/// Runs the command lines of the README's console, and compares what they print.
pub async fn kubectl_works(kubectl: &Path) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let mut serving = Serving(
        Command::new(env::current_exe()?)
            .env(SERVE, "")
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .spawn()?,
    );
    let output = serving.0.stdout.take().ok_or("the program prints nothing")?;
    BufReader::new(output).read_line(&mut String::new())?;

    let console = README
        .split_once("```console\n")
        .ok_or("the README has no console")?;
    let console = console.1.split("```").next().unwrap_or_default();
    let (typed, printed): (Vec<&str>, Vec<&str>) = console.lines().partition(|line| line.starts_with("$ "));
    let script: Vec<&str> = typed.iter().map(|line| &line[2..]).collect();
    let shell = Shell::new(folder.path(), kubectl, "default");
    let (_, out, err) = shell.run(&script.join("\n")).await;
    if out.lines().eq(printed) && err.is_empty() {
        Ok(())
    } else {
        Err(format!("{}\nprinted:\n{out}{err}", script.join("\n")).into())
    }
}

/// Stops the program when it is dropped.
struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        // Each fails only if the program has ended, as wanted.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
