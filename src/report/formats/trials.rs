//! The list of rules, as `cargo test` lists tests.
//!
//! For machines, libtest-mimic prints it: everything is judged before, and a trial just returns its verdict. As it has
//! only three outcomes and prints failures first, this module lays out the list for people, in the same form.

use std::{fmt::Write, panic};

use anstream::adapter::strip_str;
use judge::{Count, RuleVerdict, Verdict};
use libtest_mimic::{Arguments, Completion, Failed, FormatSetting, Trial};
use owo_colors::{OwoColorize, Style};

use crate::{
    COMMAND, Report,
    summary::{decision, findings},
    text::{number::count, page::Page},
};

/// The line width of the short list, in characters.
const WIDTH: usize = 80;

/// Ids of up to this many characters are aligned: with any outcome behind them they fit 80 columns. Longer ones push their
/// outcome to the right.
const ALIGNED: usize = 38;

/// Standard output was closed while the list was printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("failed to print the list of rules: standard output is closed")]
pub struct Closed;

/// The list, a rule on each line. Colours are in it.
pub fn list(report: &Report) -> String {
    let picked = picked(report);
    let longest = picked.iter().map(|verdict| verdict.rule.id.len()).max();
    let longest = longest.unwrap_or_default().min(ALIGNED);
    let mut text = title(&picked);
    for verdict in &picked {
        let weight = format!("[{}]", verdict.applies.weight());
        let id = verdict.rule.id;
        let _ = writeln!(
            text,
            "test {weight:<17} {id:<longest$} ... {}",
            describe(verdict).style(style(verdict.verdict))
        );
    }
    text + &counts(report, &picked)
}

/// The list, a character for each rule: `.` for one that is kept, `F` for one that is broken, `w` for a warning, `i` for
/// what was not judged or is waived. Colours are in it.
pub fn short_list(report: &Report) -> String {
    let picked = picked(report);
    let mut text = title(&picked);
    for line in picked.chunks(WIDTH) {
        for verdict in line {
            let mark = match verdict.verdict {
                Verdict::Pass => ".",
                Verdict::Fail => "F",
                Verdict::Warn => "w",
                _ => "i",
            };
            let _ = write!(text, "{}", mark.style(style(verdict.verdict)));
        }
        text.push('\n');
    }
    text + &counts(report, &picked)
}

/// Prints the list to standard output in the JSON that libtest prints.
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
    let outcome = match verdict.verdict {
        Verdict::Pass => Ok(Completion::Completed),
        Verdict::Fail => {
            let mut page = Page::new(None);
            findings::in_full(&mut page, verdict, COMMAND);
            // The printer escapes colours rather than taking them out.
            Err(Failed::from(strip_str(page.into_text().trim_end()).to_string()))
        }
        _ => Ok(Completion::ignored_with(describe(verdict))),
    };
    Trial::ignorable_test(verdict.rule.id, move || outcome).with_kind(verdict.level().name())
}

/// Returns the verdicts on the selected rules.
fn picked<'a>(report: &Report<'a>) -> Vec<&'a RuleVerdict> {
    let verdicts = report.judgement.verdicts.iter();
    verdicts.filter(|verdict| !verdict.is_deselected()).collect()
}

fn title(picked: &[&RuleVerdict]) -> String {
    format!("\nrunning {}\n", count(picked.len(), "test"))
}

/// In few words.
fn describe(verdict: &RuleVerdict) -> String {
    match verdict.verdict {
        Verdict::Pass => "ok".to_owned(),
        Verdict::Fail => "FAILED".to_owned(),
        Verdict::Warn => format!("warn: {}", verdict.found()),
        Verdict::Waived => format!("waived: {}", verdict.waived.len()),
        other => other.words().to_owned(),
    }
}

fn style(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Pass => Style::new().green(),
        Verdict::Fail => Style::new().red().bold(),
        Verdict::Warn | Verdict::Waived | Verdict::Inconclusive => Style::new().yellow(),
        Verdict::NotApplicable | Verdict::Skipped => Style::new().dimmed(),
    }
}

/// Counts the rules of each verdict that occurs.
fn counts(report: &Report, picked: &[&RuleVerdict]) -> String {
    let mut count = Count::default();
    for verdict in picked {
        count.add(verdict.verdict);
    }
    let mut parts = vec![decision::counts(&count)];
    match report.judgement.verdicts.len() - picked.len() {
        0 => {}
        number => parts.push(format!("{number} filtered out")),
    }
    parts.retain(|part| !part.is_empty());
    format!("\n{}\n\n", parts.join(", "))
}
