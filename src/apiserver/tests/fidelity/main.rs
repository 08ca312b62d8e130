//! Proves that this API server answers like a real one: plays scripts of requests on both and compares the answers.
//!
//! Each script under `fixtures/fidelity/` has one subject and is one trial. One more trial plays random sequences (see
//! `fidelity/random.rs`). `divergences.yaml` lists the known differences and why they are accepted. A new difference
//! fails the trial; so does a listed one that no longer exists. Set `FIDELITY_SHOW` in the environment to print all
//! answers.

mod compare;
#[path = "../support/divergences.rs"]
mod divergences;
mod hubs;
mod limits;
mod normal;
mod player;
mod random;
mod script;
#[path = "../support/scripts.rs"]
mod scripts;
mod table;
mod texts;

use std::{
    collections::{BTreeSet, HashSet},
    path::Path,
    process::ExitCode,
    sync::{Arc, Mutex, PoisonError},
};

use compare::differences;
use envtest::Assets;
use hubs::{Hub, Real};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use player::{Answer, play};
use random::{RANDOM, play_random};
use script::Script;
use table::Table;

/// Where `ci/envtest/build` puts the API server's programs.
const BUILDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ci/envtest/.cache");

/// Totals of the comparison.
#[derive(Default)]
struct Tally {
    requests: usize,
    /// The requests of random sequences.
    random: usize,
    /// Indexes of the divergences of played scripts.
    divergences: BTreeSet<usize>,
}

/// A trial.
type Check = Box<dyn Fn(&Real, &Table, &Mutex<Tally>) -> Result<(), Failed> + Send>;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let scripts = Script::all();
    let table = Arc::new(Table::read(&scripts));
    let tally = Arc::new(Mutex::new(Tally::default()));
    let real = if arguments.list {
        Err("only listed".to_owned())
    } else {
        Assets::find(Some(Path::new(BUILDS)))
            .map_err(|error| format!("{error}, or build them with `ci/envtest/build` (it needs Go)"))
            .map(|assets| Arc::new(Real::start(&assets)))
    };
    let trial = |name: String, check: Check| {
        let (table, tally, real) = (table.clone(), tally.clone(), real.clone());
        Trial::ignorable_test(name, move || match real {
            Ok(real) => check(&real, &table, &tally).map(|()| Completion::Completed),
            Err(reason) => Ok(Completion::ignored_with(reason)),
        })
    };
    let mut trials: Vec<Trial> = scripts
        .into_iter()
        .map(|script| {
            let name = script.name.clone();
            trial(
                name,
                Box::new(move |real, table, tally| compare(&script, real, table, tally)),
            )
        })
        .collect();
    let random = |real: &Real, table: &Table, tally: &Mutex<Tally>| {
        let compare = |script: &Script| {
            compare(script, real, table, tally)
                .map_err(|failed| failed.message().unwrap_or_default().to_owned())
        };
        play_random(compare).map_err(Failed::from)
    };
    trials.push(trial(RANDOM.to_owned(), Box::new(random)));
    let conclusion = libtest_mimic::run(&arguments, trials);
    if real.is_ok() {
        let tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
        let (requests, random, divergences) = (tally.requests, tally.random, tally.divergences.len());
        println!(
            "fidelity: {requests} requests compared ({random} of them random), {divergences} known divergences"
        );
    }
    conclusion.exit_code()
}

fn compare(script: &Script, real: &Real, table: &Table, tally: &Mutex<Tally>) -> Result<(), Failed> {
    let theirs = real.runtime.block_on(play(script, &real.hub));
    // Our clock is paused: minutes pass immediately.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()?;
    let ours = runtime.block_on(async { play(script, &Hub::ours().await).await });

    if std::env::var_os("FIDELITY_SHOW").is_some() {
        for (theirs, ours) in theirs.iter().zip(&ours) {
            println!(
                "{} › {}\n  ours:  {}\n  real: {}",
                script.name, theirs.step, ours.value, theirs.value
            );
        }
    }

    let mut complaints: Vec<String> = Vec::new();
    let unexpected = |answer: &&Answer| answer.expected != 0 && answer.code != answer.expected;
    for answer in theirs.iter().filter(unexpected) {
        complaints.push(format!(
            "{}: the real API server answers {}, not {}: {}",
            answer.step, answer.code, answer.expected, answer.value
        ));
    }
    let found = differences(&ours, &theirs);
    let refused = |answer: &&Answer| answer.code >= 400;
    let refused_by_lab: HashSet<&str> = ours
        .iter()
        .filter(refused)
        .map(|answer| answer.step.as_str())
        .collect();
    for answer in theirs.iter().filter(refused) {
        if !refused_by_lab.contains(answer.step.as_str()) {
            complaints.push(format!(
                "{}: this server accepts what a real API server refuses",
                answer.step
            ));
        }
    }
    let (new, stale) = table.split(&script.name, found);
    complaints.extend(new.iter().map(|difference| format!("differs: {difference}")));
    complaints.extend(
        stale
            .iter()
            .map(|gone| format!("no longer differs, take it from the table: {gone}")),
    );
    let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
    tally.requests += theirs.len();
    if script.name.starts_with(RANDOM) {
        tally.random += theirs.len();
    }
    tally.divergences.extend(table.entries(&script.name));
    if complaints.is_empty() {
        Ok(())
    } else {
        Err(complaints.join("\n").into())
    }
}
