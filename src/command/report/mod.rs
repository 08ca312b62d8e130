//! `report`: verify, compare and publish reports to submit.

mod folder;
mod verify;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use evidence::{Limits, api::Role};
use judge::Verdict;
use report::{
    OutputFile, escape,
    page::Page,
    site::{self, BoardEntry, EditionResult},
    submitted::{
        self, Check, ConformanceReport, FieldDifference, Fitness, Proof, RuleChange, diff, judge_again,
    },
};

use self::folder::{ReportFolder, read, read_all};
use crate::command::{Exit, Failure, InputFlags, PrintFormat, print, width};

/// Verify, compare and publish reports that were written with `run --report`
#[derive(Debug, Args)]
pub struct ReportCommand {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Verify(verify::Verify),
    Diff(DiffCommand),
    Site(Site),
}

impl ReportCommand {
    pub fn execute(self) -> Result<Exit, Failure> {
        match self.command {
            Command::Verify(verify) => verify.execute(),
            Command::Diff(diff) => diff.execute(),
            Command::Site(site) => site.execute(),
        }
    }
}

/// List the changes between two reports
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 nothing got worse, 1 the decision or a rule did, 2 a file cannot be used, or the reports are on different roles. A rule got worse if it \
                        newly fails, is inconclusive, is waived or warns, or is no longer judged."
)]
pub struct DiffCommand {
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

impl DiffCommand {
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
    let something = if changed.worse { "something" } else { "nothing" };
    page.paragraph(0, &format!("{something} got worse"));
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

fn show(page: &mut Page, indent: usize, change: &FieldDifference) {
    let text = format!("{}: {} → {}", change.at, change.old_text(), change.new_text());
    page.paragraph(indent, &escape::line(&text));
}

/// Write an HTML page that compares implementations by their submitted reports
#[derive(Debug, Args)]
#[command(
    after_help = "Each report is in its own folder as `report.yaml`, with its evidence. The page needs no network and no \
                        script.\n\nExit codes: 0 written, 2 the folder or a file cannot be used. The page names reports that do \
                        not hold or cannot be read; they do not change the code."
)]
pub struct Site {
    /// The folder of the reports, for example reports/
    #[arg(value_name = "FOLDER")]
    reports: PathBuf,
    /// The HTML file to write
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    #[command(flatten)]
    input: InputFlags,
}

impl Site {
    pub fn execute(self) -> Result<Exit, Failure> {
        let limits = self.input.limits_of_submitted();
        let output = OutputFile::open("--out", self.out).map_err(Failure::usage)?;
        let folders = read_all(&self.reports, &limits)?;
        let reports = folders.reports.into_iter();
        let entries = Vec::from_iter(reports.map(|report| board_entry(report, &limits)));
        let path = output.path().display().to_string();
        output
            .write(|into| site::write(&entries, &folders.unreadable, into))
            .map_err(Failure::could_not_run)?;
        let reports = report::count(entries.len(), "report");
        let unreadable = report::count(folders.unreadable.len(), "unreadable folder");
        print(&format!("{reports}, {unreadable}: open {path}\n"))?;
        Ok(Exit::Success)
    }
}

/// Judges the evidence of a report again. If the report holds and is about a whole run, judges it by the other
/// editions of the role, too. A consumer's testbed played one edition only.
fn board_entry(entry: ReportFolder, limits: &Limits) -> BoardEntry {
    let mut proof = entry.proof(limits);
    let ReportFolder { name, document, .. } = entry;
    let rules_as_of = document.rules_as_of;
    let mut editions = Vec::new();
    let check = Check::of(&document, Some(&name), &mut proof, |report| {
        editions.push(EditionResult::judged(
            report,
            &report.judgement.waivers,
            rules_as_of,
        ));
    });
    if editions.is_empty() {
        editions.push(EditionResult::claimed(&document));
    }
    let role = document.edition.role();
    if let Proof::Held(held) = &mut proof
        && check.fitness == Fitness::Holds
        && document.is_whole_run()
        && role != Role::Consumer
    {
        for edition in role.editions().filter(|edition| *edition != document.edition) {
            let of_edition = ConformanceReport {
                edition,
                editions: Vec::new(),
                ..document.clone()
            };
            editions.push(judge_again(&of_edition, held, |report| {
                EditionResult::judged(report, &[], rules_as_of)
            }));
        }
    }
    BoardEntry {
        folder: name,
        document,
        check,
        editions,
    }
}
