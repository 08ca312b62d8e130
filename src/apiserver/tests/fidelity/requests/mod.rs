//! Plays scripts of requests on this server and on a real API server, and compares the answers.
//!
//! Each script under `fixtures/fidelity/` has one subject and is one trial. One more trial plays random sequences (see
//! `random.rs`). `divergences.yaml` lists the known differences and why they are accepted. A new difference fails the
//! trial; so does a listed one that no longer exists.
//!
//! Without a real API server, the scripts are played on this server alone, and their status codes are checked.

mod compare;
mod hubs;
mod normal;
mod player;
mod random;
mod script;

use std::{
    collections::HashSet,
    sync::{Arc, OnceLock},
};

use compare::{Table, differences};
use hubs::{Hub, Real};
use libtest_mimic::{Completion, Trial};
use player::{Answer, play};
use random::{RANDOM, play_random};
use script::Script;

use crate::{assets, outcome};

/// The real server, or why it is missing. The first trial starts it.
static REAL: OnceLock<Result<Real, String>> = OnceLock::new();

pub fn trials() -> Vec<Trial> {
    let table = Arc::new(Table::read(&Script::all()));
    let scripts = Script::all().into_iter().map(|script| {
        let table = Arc::clone(&table);
        Trial::test(format!("requests::{}", script.name), move || match real() {
            Ok(real) => outcome(compare(&script, &table, real)),
            Err(_) => outcome(unexpected_codes(&script, &table)),
        })
    });
    let table = Arc::clone(&table);
    let random = Trial::ignorable_test(format!("requests::{RANDOM}"), move || match real() {
        Ok(real) => {
            play_random(|script| compare(script, &table, real))?;
            Ok(Completion::Completed)
        }
        Err(reason) => Ok(Completion::ignored_with(reason)),
    });
    scripts.chain([random]).collect()
}

fn real() -> Result<&'static Real, &'static String> {
    REAL.get_or_init(|| Ok(Real::start(&assets()?))).as_ref()
}

/// Stops the real server, as statics are not dropped, or says why there is none.
pub fn stop() {
    match REAL.get() {
        Some(Ok(real)) => real.stop(),
        Some(Err(reason)) => println!("requests: compared status codes only: {reason}"),
        None => {}
    }
}

/// Complains of the status codes of this server, except where they are known to differ from those of a real one.
fn unexpected_codes(script: &Script, table: &Table) -> Vec<String> {
    let mut answers = play_on_ours(script);
    answers.retain(|answer| answer.is_unexpected() && !table.has_other_code(&script.name, &answer.step));
    answers.iter().map(Answer::complaint).collect()
}

/// Complains of answers that differ between this server and the real one.
fn compare(script: &Script, table: &Table, real: &Real) -> Vec<String> {
    let theirs = real.runtime.block_on(play(script, &real.hub));
    let ours = play_on_ours(script);
    let unexpected = theirs.iter().filter(|answer| answer.is_unexpected());
    let mut complaints: Vec<String> = unexpected
        .map(|answer| format!("on the real API server: {}", answer.complaint()))
        .collect();
    let refused = |answer: &&Answer| answer.code >= 400;
    let refused_by_ours: HashSet<&str> = ours.iter().filter(refused).map(|answer| &*answer.step).collect();
    for Answer { step, .. } in theirs.iter().filter(refused) {
        if !refused_by_ours.contains(&**step) && !table.is_accepted(&script.name, step) {
            complaints.push(format!(
                "{step}: this server accepts what a real API server refuses"
            ));
        }
    }
    let (new, stale) = table.split(&script.name, differences(&ours, &theirs));
    complaints.extend(new.iter().map(|difference| format!("differs: {difference}")));
    let gone = stale
        .iter()
        .map(|gone| format!("no longer differs, take it from the table: {gone}"));
    complaints.extend(gone);
    complaints
}

/// Plays a script on this server, by a paused clock: minutes pass immediately.
fn play_on_ours(script: &Script) -> Vec<Answer> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(async { play(script, &Hub::ours().await).await })
}
