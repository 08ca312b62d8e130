//! `report verify`: judge a report's evidence again.

use std::path::PathBuf;

use clap::Args;
use report::{
    escape,
    page::Page,
    submitted::{Change, Document, Obstacle, Verified, obstacles, verify},
};

use super::{comment::verify_all, held::held, read::read};
use crate::command::{
    flags::input::InputFlags,
    terminal::{
        exit::{Exit, Failure},
        print::{print, width},
    },
};

/// Judge a report's evidence again and compare
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 the report holds, 1 it does not, 2 a file cannot be used. Obstacles to submitting it are \
                        listed and do not change the code. With --dir: 1 a report does not hold; 2 one cannot be read, and \
                        none is found that does not hold. A report without evidence is listed as not verified and does not \
                        change the code."
)]
pub struct Verify {
    /// The report, as `run --report` wrote it
    #[arg(required_unless_present = "dir")]
    report: Option<PathBuf>,
    /// Its evidence, as `run --record` wrote it
    #[arg(required_unless_present = "dir")]
    evidence: Option<PathBuf>,
    /// Verify every `report.yaml` below this folder against the evidence beside it
    #[arg(long, conflicts_with_all = ["report", "evidence"])]
    dir: Option<PathBuf>,
    /// Print Markdown, for a comment on a pull request
    #[arg(long, requires = "dir", conflicts_with_all = ["report", "evidence"])]
    markdown: bool,
    #[command(flatten)]
    input: InputFlags,
}

/// How many differences are shown.
const SHOWN: usize = 40;

impl Verify {
    /// Judges again.
    ///
    /// # Errors
    /// When a file cannot be used.
    pub fn execute(self) -> Result<Exit, Failure> {
        let limits = self.input.limits_of_submitted();
        if let Some(dir) = &self.dir {
            return verify_all(dir, self.markdown, &limits);
        }
        // Without --dir, the command line requires it.
        let report = self.report.unwrap_or_default();
        let document = read(&report, &limits)?;
        let evidence = self.evidence.unwrap_or_default();
        let verified = verify(&document, held(&evidence, &limits)?);
        print(&describe(&document, &verified))?;
        Ok(if verified.differences.is_empty() {
            Exit::Success
        } else {
            Exit::NotConformant
        })
    }
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
    let mut obstacles = obstacles(document);
    obstacles.extend(verified.obstacles.iter().cloned());
    if obstacles.is_empty() {
        page.marked(0, "submittable:", "nothing missing");
    }
    for obstacle in obstacles {
        let advice = match obstacle {
            Obstacle::NoEvidence => ": add --record FILE to the run",
            _ => "",
        };
        let text = format!("{obstacle}{advice}");
        page.marked(0, "not submittable:", &escape::line(&text));
    }
    page.into_text()
}

fn show(page: &mut Page, change: &Change) {
    page.paragraph(2, &escape::line(&change.at));
    page.field(4, "report", &escape::line(&change.old_text()));
    page.field(4, "evidence", &escape::line(&change.new_text()));
}
