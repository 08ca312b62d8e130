//! The list of rules, as `cargo test` lists tests.
//!
//! libtest-mimic is the face only: everything has been judged when it starts, and a trial just tells its verdict. It
//! knows three outcomes, so a warning is `ignored (warn: 3)`, and what was not judged is `ignored` with one word
//! for the reason; the parts that follow the list have the rest.

use std::panic;

use anstream::adapter::strip_str;
use libtest_mimic::{Arguments, Completion, Failed, FormatSetting, Trial};

use super::{Report, failure};
use crate::judge::{RuleVerdict, Verdict};

/// How the list is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// One line per rule.
    #[default]
    Pretty,
    /// One character per rule.
    Terse,
    /// One JSON object per line, of the shape that libtest prints.
    Json,
}

/// Standard output went away while the list was printed: whoever read it has read enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("failed to print the list of rules: standard output is closed")]
pub struct Closed;

/// Prints the list, and the broken rules with their findings, to standard output.
pub fn print(report: &Report, format: Format) -> Result<(), Closed> {
    let verdicts = &report.judgement.verdicts;
    let trials: Vec<Trial> = verdicts.iter().map(|verdict| trial(verdict, format)).collect();
    // Handing over what was deselected, rather than leaving it out, makes the list count it as filtered out.
    let deselected = verdicts
        .iter()
        .map(|verdict| verdict.rule.id)
        .filter(|id| !report.selection.holds(id));
    let arguments = Arguments {
        exact: true,
        skip: deselected.map(str::to_owned).collect(),
        // In order, and on this thread.
        test_threads: Some(1),
        format: Some(match format {
            Format::Pretty => FormatSetting::Pretty,
            Format::Terse => FormatSetting::Terse,
            Format::Json => FormatSetting::Json,
        }),
        ..Arguments::default()
    };
    // It panics when it cannot print, as when standard output is a pipe to `head`. The hook would print that.
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let printed = panic::catch_unwind(panic::AssertUnwindSafe(|| libtest_mimic::run(&arguments, trials)));
    panic::set_hook(hook);
    // Its own count of outcomes is of no use to us: the tally has it by level.
    printed.map(drop).map_err(|_| Closed)
}

fn trial(verdict: &RuleVerdict, format: Format) -> Trial {
    let outcome = match verdict.verdict {
        Verdict::Pass => Ok(Completion::Completed),
        Verdict::Fail => {
            let told = failure::in_full(verdict);
            // The JSON printer escapes the colours rather than taking them out.
            Err(Failed::from(match format {
                Format::Json => strip_str(&told).to_string(),
                Format::Pretty | Format::Terse => told,
            }))
        }
        Verdict::Warn => Ok(Completion::ignored_with(format_args!(
            "warn: {}",
            verdict.findings.len()
        ))),
        Verdict::Waived => Ok(Completion::ignored_with(format_args!(
            "waived: {}",
            verdict.waived.len()
        ))),
        // Short words: with the longest rule id they just fit 80 columns.
        Verdict::Inconclusive => Ok(Completion::ignored_with("unclear")),
        Verdict::NotApplicable => Ok(Completion::ignored_with("n/a")),
        Verdict::Skipped => Ok(Completion::ignored_with("skipped")),
    };
    Trial::ignorable_test(verdict.rule.id, move || outcome).with_kind(verdict.rule.facts.level.name())
}
