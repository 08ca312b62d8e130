//! Runs real clients on this server over TLS, and on a real API server where possible: kubectl, kube-rs, and a program
//! with client-go and controller-runtime (`ci/clients`).
//!
//! Each file of command lines under `fixtures/kubectl/` has one subject and is one trial. `divergences.yaml` lists the
//! known differences in kubectl's output and why they are accepted. One that no longer exists fails the trial. Set
//! `CLIENTS_SHOW` in the environment to print all output.

mod compare;
mod hubs;
mod kube_rs;
mod script;
mod shell;

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use compare::Table;
use hubs::{Hub, RUNTIME};
use libtest_mimic::{Completion, Failed, Trial};
use script::Script;

use crate::assets;

/// Why what needs kubectl is ignored.
const NO_KUBECTL: &str = "there is no kubectl beside kube-apiserver";

/// Both hubs. The first trial that needs them starts them.
static OURS: OnceLock<Hub> = OnceLock::new();
static REAL: OnceLock<Result<Hub, String>> = OnceLock::new();
/// The number of compared command lines.
static COMPARED: AtomicUsize = AtomicUsize::new(0);

pub fn trials() -> Vec<Trial> {
    let scripts = Script::all();
    let table = Arc::new(Table::read(&scripts));
    let mut trials: Vec<Trial> = scripts
        .into_iter()
        .map(|script| {
            let table = table.clone();
            Trial::ignorable_test(format!("kubectl::{}", script.name), move || {
                compare_kubectl(&script, &table)
            })
        })
        .collect();
    trials.extend([
        Trial::test("kube_rs::controls::ours", || {
            RUNTIME.block_on(kube_rs::controls(ours()));
            Ok(())
        }),
        Trial::ignorable_test("kube_rs::controls::real", || {
            real().map_or_else(ignore, |real| {
                RUNTIME.block_on(kube_rs::controls(real));
                Ok(Completion::Completed)
            })
        }),
        Trial::test("kube_rs::controls_while_the_server_fails::ours", || {
            RUNTIME.block_on(kube_rs::controls_while_the_server_fails());
            Ok(())
        }),
        Trial::ignorable_test("client_go::ours", || {
            go_program().map_or_else(ignore, |program| run_go(&program, ours()))
        }),
        Trial::ignorable_test("client_go::real", || {
            go_program()
                .and_then(|program| Ok((program, real()?)))
                .map_or_else(ignore, |(program, real)| run_go(&program, real))
        }),
    ]);
    trials
}

/// Stops both hubs, as statics are not dropped, and prints how many command lines were compared.
pub fn stop() {
    let real = REAL.get().and_then(|real| real.as_ref().ok());
    OURS.get().into_iter().chain(real).for_each(Hub::stop);
    let compared = COMPARED.load(Ordering::Relaxed);
    if compared > 0 {
        println!("kubectl: {compared} command lines compared");
    }
}

fn ours() -> &'static Hub {
    OURS.get_or_init(|| RUNTIME.block_on(Hub::ours()))
}

/// The real hub, or the reason why it is missing.
fn real() -> Result<&'static Hub, String> {
    let start = || Ok(RUNTIME.block_on(Hub::real(&assets()?)));
    REAL.get_or_init(start).as_ref().map_err(Clone::clone)
}

fn compare_kubectl(script: &Script, table: &Table) -> Result<Completion, Failed> {
    let tools = real().and_then(|real| {
        let kubectl = real.kubectl.clone();
        Ok((real, kubectl.ok_or(NO_KUBECTL)?))
    });
    let (real, kubectl) = match tools {
        Ok(tools) => tools,
        Err(reason) => return Ok(Completion::ignored_with(reason)),
    };
    let ours = ours();
    let (ours, theirs) = RUNTIME.block_on(async {
        tokio::join!(
            shell::play(script, ours, &kubectl),
            shell::play(script, real, &kubectl)
        )
    });
    COMPARED.fetch_add(theirs.len(), Ordering::Relaxed);
    if std::env::var_os("CLIENTS_SHOW").is_some() {
        for (theirs, ours) in theirs.iter().zip(&ours) {
            println!(
                "{} › {}\n--- ours {ours}--- real {theirs}",
                script.name, theirs.command
            );
        }
    }
    let complaints = compare::complaints(script, table, &ours, &theirs);
    if complaints.is_empty() {
        Ok(Completion::Completed)
    } else {
        Err(complaints.join("\n").into())
    }
}

fn ignore(reason: String) -> Result<Completion, Failed> {
    Ok(Completion::ignored_with(reason))
}

/// Environment variable with the path of the Go program, if `ci/clients/build` did not put it in its place.
const PROGRAM: &str = "GO_CLIENTS";

/// The program of `ci/clients`, or the reason why it is missing.
fn go_program() -> Result<PathBuf, String> {
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
fn run_go(program: &Path, hub: &Hub) -> Result<Completion, Failed> {
    let kubeconfig = hub.folder("client-go", "default").join("config");
    let output = Command::new(program).arg(kubeconfig).output()?;
    if output.status.success() {
        Ok(Completion::Completed)
    } else {
        let output = [output.stdout, output.stderr].concat();
        Err(String::from_utf8_lossy(&output).into_owned().into())
    }
}
