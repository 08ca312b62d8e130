//! `report diff`: what changed between two reports.

use std::path::PathBuf;

use clap::Args;
use judge::Verdict;
use report::{
    escape,
    page::Page,
    submitted::{self, Change, RuleChange, diff},
};

use super::folder::read;
use crate::command::{
    flags::{input::InputFlags, output::PrintFormat},
    terminal::{
        exit::{Exit, Failure},
        print, width,
    },
};

/// List the changes between two reports
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 nothing got worse, 1 the decision or a rule did, 2 a file cannot be used, or the reports are on different roles. A rule got worse if it \
                        newly fails, is inconclusive, is waived or warns, or is no longer judged."
)]
pub struct Diff {
    /// The earlier report
    old: PathBuf,
    /// The later report
    new: PathBuf,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: PrintFormat,
    #[command(flatten)]
    input: InputFlags,
}

impl Diff {
    pub fn execute(self) -> Result<Exit, Failure> {
        let limits = self.input.limits();
        let changed = diff(&read(&self.old, &limits)?, &read(&self.new, &limits)?).map_err(Failure::usage)?;
        let text = match self.format {
            PrintFormat::Pretty => describe(&changed),
            PrintFormat::Json => {
                let json = serde_json::to_string_pretty(&changed).map_err(Failure::could_not_run)?;
                format!("{json}\n")
            }
        };
        print(&text)?;
        Ok(if changed.worse {
            Exit::NotConformant
        } else {
            Exit::Success
        })
    }
}

fn describe(changed: &submitted::Diff) -> String {
    let mut page = Page::new(width());
    if changed.head.is_empty() && changed.rules.is_empty() {
        page.paragraph(0, "nothing changed");
        return page.into_text();
    }
    if !changed.head.is_empty() {
        page.heading("report");
        for change in &changed.head {
            show(&mut page, 2, change);
        }
        page.gap();
    }
    for (heading, worse) in [("worse", true), ("other changes", false)] {
        let mut rules = changed.rules.iter().filter(|rule| rule.worse == worse).peekable();
        if rules.peek().is_none() {
            continue;
        }
        page.heading(heading);
        for rule in rules {
            show_rule(&mut page, rule);
        }
        page.gap();
    }
    page.paragraph(
        0,
        if changed.worse {
            "something got worse"
        } else {
            "nothing got worse"
        },
    );
    page.into_text()
}

fn show_rule(page: &mut Page, rule: &RuleChange) {
    let name = |verdict: Option<Verdict>| verdict.map_or("not in the edition", Verdict::name);
    let verdicts = if rule.old == rule.new {
        name(rule.new).to_owned()
    } else {
        format!("{} → {}", name(rule.old), name(rule.new))
    };
    page.paragraph(2, &format!("{}: {verdicts}", escape::line(&rule.rule)));
    for change in &rule.details {
        show(page, 4, change);
    }
}

fn show(page: &mut Page, indent: usize, change: &Change) {
    let text = format!("{}: {} → {}", change.at, change.old_text(), change.new_text());
    page.paragraph(indent, &escape::line(&text));
}
