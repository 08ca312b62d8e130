//! Runs real clients on this server over TLS, and on a real API server where possible: kubectl, kube-rs, and a program
//! with client-go and controller-runtime (`ci/clients`).
//!
//! Each file of command lines under `fixtures/kubectl/` has one subject and is one trial. `divergences.yaml` lists the
//! known differences in kubectl's output and why they are accepted. One that no longer exists fails the trial.

mod compare;
mod hubs;
mod kube_rs;
mod script;
mod shell;

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, OnceLock},
};

use compare::Table;
use hubs::{Hub, RUNTIME};
use libtest_mimic::{Completion, Failed, Trial};
use script::Script;

use crate::{assets, outcome};

/// Both hubs. The first trial that needs them starts them.
static OURS: OnceLock<Hub> = OnceLock::new();
static REAL: OnceLock<Result<Hub, String>> = OnceLock::new();

pub fn trials() -> Vec<Trial> {
    let scripts = Script::all();
    let table = Arc::new(Table::read(&scripts));
    let scripts = scripts.into_iter().map(|script| {
        let table = Arc::clone(&table);
        Trial::ignorable_test(format!("kubectl::{}", script.name), move || {
            with(kubectl(), |(real, kubectl)| {
                compare_kubectl(&script, &table, real, &kubectl)
            })
        })
    });
    let others = [
        Trial::test("kube_rs::controls::ours", || {
            RUNTIME.block_on(kube_rs::controls(ours()));
            Ok(())
        }),
        Trial::ignorable_test("kube_rs::controls::real", || {
            with(real(), |real| {
                RUNTIME.block_on(kube_rs::controls(real));
                Ok(())
            })
        }),
        Trial::test("kube_rs::controls_while_the_server_fails::ours", || {
            RUNTIME.block_on(kube_rs::controls_while_the_server_fails());
            Ok(())
        }),
        Trial::ignorable_test("client_go::ours", || {
            with(go_program(), |program| run_go(&program, ours()))
        }),
        Trial::ignorable_test("client_go::real", || {
            let tools = go_program().and_then(|program| Ok((program, real()?)));
            with(tools, |(program, real)| run_go(&program, real))
        }),
    ];
    scripts.chain(others).collect()
}

/// Runs a trial with what it needs, or ignores it with the reason why that is missing.
fn with<T>(
    needed: Result<T, String>,
    test: impl FnOnce(T) -> Result<(), Failed>,
) -> Result<Completion, Failed> {
    match needed {
        Ok(needed) => test(needed).map(|()| Completion::Completed),
        Err(reason) => Ok(Completion::ignored_with(reason)),
    }
}

/// Stops both hubs, as statics are not dropped.
pub fn stop() {
    let real = REAL.get().and_then(|real| real.as_ref().ok());
    OURS.get().into_iter().chain(real).for_each(Hub::stop);
}

fn ours() -> &'static Hub {
    OURS.get_or_init(|| RUNTIME.block_on(Hub::ours()))
}

fn real() -> Result<&'static Hub, String> {
    let start = || Ok(RUNTIME.block_on(Hub::real(&assets()?)));
    REAL.get_or_init(start).as_ref().map_err(Clone::clone)
}

fn kubectl() -> Result<(&'static Hub, PathBuf), String> {
    let real = real()?;
    let kubectl = real.kubectl.clone();
    Ok((real, kubectl.ok_or("there is no kubectl next to kube-apiserver")?))
}

fn compare_kubectl(script: &Script, table: &Table, real: &Hub, kubectl: &Path) -> Result<(), Failed> {
    let ours = ours();
    let play = |hub| shell::play(script, hub, kubectl);
    let (ours, theirs) = RUNTIME.block_on(async { tokio::join!(play(ours), play(real)) });
    outcome(compare::complaints(script, table, &ours, &theirs))
}

/// Environment variable with the path of the Go program, if `ci/clients/build` did not put it in its place.
const PROGRAM: &str = "GO_CLIENTS";

fn go_program() -> Result<PathBuf, String> {
    let named = std::env::var_os(PROGRAM).map(PathBuf::from);
    let built = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci/clients/.cache/clients");
    let program = named.unwrap_or_else(built);
    if program.is_file() {
        return Ok(program);
    }
    let path = program.display();
    Err(format!("there is no {path}: build it with ci/clients/build"))
}

/// Runs all of its parts on a hub.
fn run_go(program: &Path, hub: &Hub) -> Result<(), Failed> {
    let kubeconfig = hub.folder("client-go", "default").join("config");
    let output = Command::new(program).arg(kubeconfig).output()?;
    if output.status.success() {
        return Ok(());
    }
    let output = [output.stdout, output.stderr].concat();
    Err(String::from_utf8_lossy(&output).into_owned().into())
}
