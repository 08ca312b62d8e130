//! The verdicts as tests in the JSON that libtest prints, for programs that read the results of `cargo test`.
//!
//! libtest-mimic prints it: everything is judged before, and a trial only returns its verdict.

use std::panic;

use anstream::adapter::strip_str;
use judge::{RuleVerdict, Verdict};
use libtest_mimic::{Arguments, Completion, Failed, FormatSetting, Trial};

use super::terminal::outcome;
use crate::{COMMAND, Report, summary::findings, text::page::Page};

/// Standard output was closed while the list was printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("failed to print the list of rules: standard output is closed")]
pub struct Closed;

/// Prints the list to standard output.
///
/// # Errors
/// When standard output is closed.
pub fn print_json(report: &Report) -> Result<(), Closed> {
    let verdicts = &report.judgement.verdicts;
    let trials: Vec<Trial> = verdicts.iter().map(trial).collect();
    // Deselected rules are passed too, so that the list counts them as filtered out.
    let deselected = verdicts
        .iter()
        .filter(|verdict| verdict.is_deselected())
        .map(|verdict| verdict.rule.id);
    let arguments = Arguments {
        exact: true,
        skip: deselected.map(str::to_owned).collect(),
        // In order, and on this thread.
        test_threads: Some(1),
        format: Some(FormatSetting::Json),
        ..Arguments::default()
    };
    // It panics when it cannot print, as when standard output is a pipe to `head`. The hook would print that.
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let printed = panic::catch_unwind(panic::AssertUnwindSafe(|| libtest_mimic::run(&arguments, trials)));
    panic::set_hook(hook);
    // Ignores its count of outcomes: the tally has it by level.
    printed.map(drop).map_err(|_| Closed)
}

fn trial(verdict: &RuleVerdict) -> Trial {
    let result = match verdict.verdict {
        Verdict::Pass => Ok(Completion::Completed),
        Verdict::Fail => {
            let mut page = Page::new(None);
            findings::in_full(&mut page, verdict, COMMAND);
            // The printer escapes colours instead of removing them.
            Err(Failed::from(strip_str(page.into_text().trim_end()).to_string()))
        }
        _ => Ok(Completion::ignored_with(outcome(verdict))),
    };
    Trial::ignorable_test(verdict.rule.id, move || result).with_kind(verdict.level().name())
}
