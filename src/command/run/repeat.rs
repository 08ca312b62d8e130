//! `--repeat`: several runs, one after the other, and one report.

use evidence::Evidence;
use judge::{Judgement, Selection, judge, repeated, unsteady};

use crate::command::terminal::exit::Failure;

/// Runs of which at least one came to its end.
pub struct Repeated {
    /// All of them as one.
    pub judgement: Judgement,
    /// That of the run that decides.
    pub evidence: Evidence,
}

/// Observes so many times. A run that is stopped is the last one; so is one that fails, and those before it are reported.
///
/// # Errors
/// When the first run fails.
pub fn repeat(
    times: u8,
    mut observe: impl FnMut() -> Result<Evidence, Failure>,
    selection: &Selection,
) -> Result<Repeated, Failure> {
    let (mut seen, mut judgements): (Vec<Evidence>, Vec<Judgement>) = Default::default();
    for number in 1..=times {
        if times > 1 {
            anstream::eprintln!("run {number} of {times}");
        }
        match observe() {
            Ok(evidence) => {
                judgements.push(judge(&evidence, selection));
                let is_stopped = evidence.header.cut_short.is_some();
                seen.push(evidence);
                if is_stopped {
                    break;
                }
            }
            Err(failure) => {
                let Some(last) = judgements.last_mut() else {
                    return Err(failure);
                };
                anstream::eprintln!(
                    "warning: run {number} of {times} failed: the report has those before it"
                );
                failure.print();
                last.partial = true;
                break;
            }
        }
    }
    match judgements.len() {
        _ if times == 1 => {}
        1 => anstream::eprintln!("ended after run 1 of {times}: there is nothing to compare"),
        _ => tell(&judgements),
    }
    // The first run has come to its end.
    let (judgement, deciding) = repeated(&judgements).expect("at least one run");
    Ok(Repeated {
        judgement,
        evidence: seen.swap_remove(deciding),
    })
}

/// Says which verdicts changed.
fn tell(judgements: &[Judgement]) {
    let runs = judgements.len();
    let changed = unsteady(judgements);
    if changed.is_empty() {
        anstream::eprintln!("each rule has the same verdict in {runs} of {runs} runs");
    }
    for (rule, how) in changed {
        anstream::eprintln!("{rule} changes its verdict: {how}");
    }
}
