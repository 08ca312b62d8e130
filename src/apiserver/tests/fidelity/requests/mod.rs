//! Plays scripts of requests on this server and on a real API server, and compares the answers.
//!
//! Each script under `fixtures/fidelity/` has one subject and is one trial. One more trial plays random sequences (see
//! `random.rs`). `divergences.yaml` lists the known differences and why they are accepted. A new difference fails the
//! trial; so does a listed one that no longer exists. Set `FIDELITY_SHOW` in the environment to print all answers.
//!
//! Without a real API server, the scripts are played on this server alone, and their status codes are checked.

mod compare;
mod hubs;
mod normal;
mod player;
mod random;
mod script;

use std::{
    collections::{BTreeSet, HashSet},
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use compare::{Table, differences};
use hubs::{Hub, Real};
use libtest_mimic::{Completion, Failed, Trial};
use player::{Answer, play};
use random::{RANDOM, play_random};
use script::Script;

use crate::assets;

/// The real server, the known differences, and the totals of the comparison.
#[derive(Clone)]
pub struct Requests(Arc<Shared>);

struct Shared {
    table: Table,
    tally: Mutex<Tally>,
    /// The first trial starts it.
    real: OnceLock<Result<Real, String>>,
}

/// Totals of the comparison.
#[derive(Default)]
struct Tally {
    requests: usize,
    /// The requests of random sequences.
    random: usize,
    /// Indexes of the divergences of played scripts.
    divergences: BTreeSet<usize>,
}

impl Requests {
    pub fn new() -> Self {
        Self(Arc::new(Shared {
            table: Table::read(&Script::all()),
            tally: Mutex::default(),
            real: OnceLock::new(),
        }))
    }

    pub fn trials(&self) -> Vec<Trial> {
        let scripts = Script::all().into_iter().map(|script| {
            let requests = self.clone();
            Trial::test(format!("requests::{}", script.name), move || {
                requests.try_script(&script)
            })
        });
        let requests = self.clone();
        let random = Trial::ignorable_test(format!("requests::{RANDOM}"), move || {
            requests.try_random_sequences()
        });
        scripts.chain([random]).collect()
    }

    /// Prints what was compared. A real server that was started stops when this is dropped.
    pub fn print_summary(&self) {
        match self.0.real.get() {
            None => {}
            Some(Err(reason)) => println!("requests: compared status codes only: {reason}"),
            Some(Ok(_)) => {
                let tally = self.tally();
                println!(
                    "requests: {} compared ({} of them random), {} known divergences",
                    tally.requests,
                    tally.random,
                    tally.divergences.len()
                );
            }
        }
    }

    fn tally(&self) -> std::sync::MutexGuard<'_, Tally> {
        self.0.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn real(&self) -> Result<&Real, String> {
        let start = || Ok(Real::start(&assets()?));
        self.0.real.get_or_init(start).as_ref().map_err(Clone::clone)
    }

    fn try_script(&self, script: &Script) -> Result<(), Failed> {
        match self.real() {
            Ok(real) => self.compare(script, real),
            Err(_) => self.check_codes(script),
        }
    }

    fn try_random_sequences(&self) -> Result<Completion, Failed> {
        let real = match self.real() {
            Ok(real) => real,
            Err(reason) => return Ok(Completion::ignored_with(reason)),
        };
        let compare = |script: &Script| {
            let outcome = self.compare(script, real);
            outcome.map_err(|failed| failed.message().unwrap_or_default().to_owned())
        };
        play_random(compare)?;
        Ok(Completion::Completed)
    }

    /// Checks the status codes of this server, except where they are known to differ from those of a real one.
    fn check_codes(&self, script: &Script) -> Result<(), Failed> {
        let table = &self.0.table;
        let answers = play_on_ours(script)?.into_iter();
        let unexpected = answers
            .filter(|answer| answer.expected != 0 && answer.code != answer.expected)
            .filter(|answer| !table.has_other_code(&script.name, &answer.step));
        let complaints = unexpected.map(|answer| {
            let Answer {
                step,
                expected,
                code,
                value,
            } = answer;
            format!("{step}: got {code}, want {expected}: {value}")
        });
        outcome(complaints.collect())
    }

    fn compare(&self, script: &Script, real: &Real) -> Result<(), Failed> {
        let theirs = real.runtime.block_on(play(script, &real.hub));
        let ours = play_on_ours(script)?;
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
        let refused_by_ours: HashSet<&str> = ours
            .iter()
            .filter(refused)
            .map(|answer| answer.step.as_str())
            .collect();
        let table = &self.0.table;
        for answer in theirs.iter().filter(refused) {
            let step = answer.step.as_str();
            if !refused_by_ours.contains(step) && !table.is_accepted(&script.name, step) {
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
        let mut tally = self.tally();
        tally.requests += theirs.len();
        if script.name.starts_with(RANDOM) {
            tally.random += theirs.len();
        }
        tally.divergences.extend(table.entries(&script.name));
        outcome(complaints)
    }
}

/// Plays a script on this server, by a paused clock: minutes pass immediately.
fn play_on_ours(script: &Script) -> Result<Vec<Answer>, Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()?;
    Ok(runtime.block_on(async { play(script, &Hub::ours().await).await }))
}

fn outcome(complaints: Vec<String>) -> Result<(), Failed> {
    if complaints.is_empty() {
        Ok(())
    } else {
        Err(complaints.join("\n").into())
    }
}
