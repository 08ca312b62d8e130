//! `report verify`: judge a report's evidence again.

use std::path::PathBuf;

use clap::Args;
use report::{
    escape,
    page::Page,
    submitted::{Change, Check, Document, Fitness, Proof},
};

use super::{
    comment::verify_all,
    read::{held, read},
};
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
        let mut proof = Proof::Held(Box::new(held(&evidence, &limits)?));
        let check = Check::of(&document, &mut proof, |_| {});
        print(&describe(&document, &check))?;
        Ok(match check.fitness {
            Fitness::Holds => Exit::Success,
            _ => Exit::NotConformant,
        })
    }
}

fn describe(document: &Document, check: &Check) -> String {
    let mut page = Page::new(width());
    let differences = &check.differences;
    if check.fitness == Fitness::Holds {
        let (decision, edition) = (document.decision.name(), document.edition);
        page.marked(
            0,
            "holds:",
            &format!("the evidence reproduces this report: {decision} for edition {edition}"),
        );
    } else if differences.is_empty() {
        page.marked(0, "does not hold:", check.reason);
    } else {
        let number = differences.len();
        page.marked(
            0,
            "does not hold:",
            &format!("the evidence does not reproduce this report; {number} of its parts differ"),
        );
        page.gap();
        for change in differences.iter().take(SHOWN) {
            show(&mut page, change);
        }
        if number > SHOWN {
            page.paragraph(2, &format!("… and {} more", number - SHOWN));
        }
    }
    for note in &check.notes {
        page.marked(0, "note:", &escape::line(note));
    }
    for obstacle in &check.obstacles {
        page.marked(0, "not submittable:", &escape::line(obstacle));
    }
    match (check.fitness, &check.obstacles[..]) {
        (Fitness::Holds, []) => page.marked(0, "submittable:", "nothing missing"),
        (Fitness::Holds, _) => {}
        _ => page.marked(
            0,
            "not submittable:",
            &format!("the report does not hold: {}", check.reason),
        ),
    }
    page.into_text()
}

fn show(page: &mut Page, change: &Change) {
    page.paragraph(2, &escape::line(&change.at));
    page.field(4, "report", &escape::line(&change.old_text()));
    page.field(4, "evidence", &escape::line(&change.new_text()));
}
