//! `report site`: one HTML page that compares implementations.

use std::path::PathBuf;

use clap::Args;
use evidence::{Limits, api::Role};
use report::{
    Output,
    site::{self, BoardEntry, EditionResult},
    submitted::{Document, Fitness, Proof, Submission, judge_again},
};

use super::folder::{Found, read_all};
use crate::command::{
    flags::input::InputFlags,
    terminal::{
        exit::{Exit, Failure},
        print,
    },
};

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
        let output = Output::open("--out", self.out).map_err(Failure::usage)?;
        let folders = read_all(&self.reports, &limits)?;
        let reports = folders.reports.into_iter();
        let entries = Vec::from_iter(reports.map(|found| board_entry(found, &limits)));
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
fn board_entry(found: Found, limits: &Limits) -> BoardEntry {
    let mut proof = found.proof(limits);
    let rules_as_of = found.document.rules_as_of;
    let mut editions = Vec::new();
    let submission = Submission::of(found.name, found.document, &mut proof, |report| {
        editions.push(EditionResult::judged(
            report,
            &report.judgement.waivers,
            rules_as_of,
        ));
    });
    let document = &submission.document;
    if editions.is_empty() {
        editions.push(EditionResult::claimed(document));
    }
    let role = document.edition.role();
    if let Proof::Held(held) = &mut proof
        && submission.check.fitness == Fitness::Holds
        && document.is_whole_run()
        && role != Role::Consumer
    {
        for edition in role.editions().filter(|edition| *edition != document.edition) {
            let other = Document {
                edition,
                editions: Vec::new(),
                ..document.clone()
            };
            editions.push(judge_again(&other, held, |report| {
                EditionResult::judged(report, &[], rules_as_of)
            }));
        }
    }
    BoardEntry { submission, editions }
}
