//! `report verify`: judge a report's evidence again.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use clap::Args;
use evidence::Checksum;
use report::{
    escape,
    page::Page,
    submitted::{Change, Document, Held, Obstacle, Verified, disagreements, obstacles, verify},
};

use super::read::read;
use crate::command::{
    Exit, Failure,
    evidence_files::read_evidence,
    print::{print, width},
};

/// Judge a report's evidence again and compare
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 the report holds, 1 it does not, 2 a file cannot be used. Obstacles to \
                        submitting it are listed and do not change the code."
)]
pub struct Verify {
    /// The report, as `run --report` wrote it
    report: PathBuf,
    /// Its evidence, as `run --record` wrote it; for a merged report, that of each shard
    #[arg(required = true)]
    evidence: Vec<PathBuf>,
}

/// How many differences are shown.
const SHOWN: usize = 40;

impl Verify {
    /// Judges again.
    ///
    /// # Errors
    /// When a file cannot be used.
    pub fn execute(self) -> Result<Exit, Failure> {
        let document = read(&self.report)?;
        if document.shards.is_empty() && self.evidence.len() > 1 {
            return Err(Failure::usage(anyhow!(
                "{} comes from one run: name its single evidence file",
                self.report.display()
            )));
        }
        let mut files = self.evidence.iter();
        let verified = verify(&document, || files.next().map(|path| held(path)))?;
        print(&describe(&document, &verified))?;
        match verified.differences.as_slice() {
            [] => Ok(Exit::Success),
            _ => Ok(Exit::NotConformant),
        }
    }
}

fn held(path: &Path) -> Result<Held, Failure> {
    let sum = Checksum::of_file(path)
        .with_context(|| format!("failed to read the evidence {}", path.display()))
        .map_err(Failure::usage)?
        .ok_or_else(|| {
            Failure::usage(anyhow!(
                "{} is no file: name the file that `run --record` wrote",
                path.display()
            ))
        })?;
    let input = read_evidence(path).map_err(Failure::usage)?;
    Ok(Held {
        evidence: input.evidence,
        sum,
    })
}

fn describe(document: &Document, verified: &Verified) -> String {
    let mut page = Page::new(width());
    match verified.differences.len() {
        0 => page.marked(
            0,
            "holds:",
            &format!(
                "the evidence reproduces this report: {} for edition {}",
                document.decision.name(),
                document.edition
            ),
        ),
        number => {
            page.marked(
                0,
                "does not hold:",
                &format!(
                    "the evidence does not reproduce this report; {} of its parts differ",
                    number
                ),
            );
            page.gap();
            let mut differences: Vec<&Change> = verified.differences.iter().collect();
            // Verdicts first: the counts follow from them.
            differences.sort_by_key(|change| !change.at.contains('/'));
            for change in differences.iter().take(SHOWN) {
                show(&mut page, change);
            }
            if number > SHOWN {
                page.paragraph(2, &format!("… and {} more", number - SHOWN));
            }
        }
    }
    for note in &verified.notes {
        page.marked(0, "note:", &escape::line(note));
    }
    for disagreement in disagreements(document) {
        page.marked(0, "note:", &disagreement);
    }
    let obstacles = obstacles(document);
    if obstacles.is_empty() {
        page.marked(0, "fit:", "it says all that a submitted report has to say");
    }
    for obstacle in obstacles {
        let advice = match obstacle {
            Obstacle::NoEvidence => ": add --record FILE to the run",
            _ => "",
        };
        let text = format!("{obstacle}{advice}");
        page.marked(0, "not fit to be submitted:", &escape::line(&text));
    }
    page.into_text()
}

fn show(page: &mut Page, change: &Change) {
    page.paragraph(2, &escape::line(&change.at));
    page.field(4, "report", &escape::line(&change.old_text()));
    page.field(4, "evidence", &escape::line(&change.new_text()));
}
