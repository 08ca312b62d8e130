//! `report verify`: judge the evidence of a report, or of every report in a folder, again.

use std::path::{Path, PathBuf};

use clap::Args;
use evidence::Limits;
use report::{
    escape,
    page::Page,
    submitted::{Change, Check, Document, Fitness, Proof, Submission, Unreadable, comment},
};

use super::folder::{Folders, held, read, read_all};
use crate::command::{
    flags::input::InputFlags,
    terminal::{
        exit::{Exit, Failure},
        print, width,
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

const SHOWN: usize = 40;

impl Verify {
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
    let holds = check.fitness == Fitness::Holds;
    let result = match differences.len() {
        _ if holds => {
            let (decision, edition) = (document.decision.name(), document.edition);
            format!("the evidence reproduces this report: {decision} for edition {edition}")
        }
        0 => check.reason.to_owned(),
        number => format!("the evidence does not reproduce this report; {number} of its parts differ"),
    };
    page.marked(0, if holds { "holds:" } else { "does not hold:" }, &result);
    if !differences.is_empty() {
        page.gap();
    }
    for change in differences.iter().take(SHOWN) {
        show(&mut page, change);
    }
    if differences.len() > SHOWN {
        page.paragraph(2, &format!("… and {} more", differences.len() - SHOWN));
    }
    for note in &check.notes {
        page.marked(0, "note:", &escape::line(note));
    }
    let unfit = (!holds).then(|| format!("the report does not hold: {}", check.reason));
    for obstacle in check.obstacles.iter().chain(&unfit) {
        page.marked(0, "not submittable:", &escape::line(obstacle));
    }
    if holds && check.obstacles.is_empty() {
        page.marked(0, "submittable:", "nothing missing");
    }
    page.into_text()
}

fn show(page: &mut Page, change: &Change) {
    page.paragraph(2, &escape::line(&change.at));
    page.field(4, "report", &escape::line(&change.old_text()));
    page.field(4, "evidence", &escape::line(&change.new_text()));
}

fn verify_all(root: &Path, markdown: bool, limits: &Limits) -> Result<Exit, Failure> {
    let Folders {
        reports, unreadable, ..
    } = read_all(root, limits)?;
    let submissions: Vec<Submission> = reports
        .into_iter()
        .map(|found| Submission {
            check: Check::of(&found.document, &mut found.proof(limits), |_| {}),
            folder: found.name,
            document: found.document,
        })
        .collect();
    let text = if markdown {
        comment(&submissions, &unreadable)
    } else {
        describe_all(&submissions, &unreadable)
    };
    print(&text)?;
    let is_forged = |one: &Submission| one.check.fitness == Fitness::DoesNotHold;
    Ok(if submissions.iter().any(is_forged) {
        Exit::NotConformant
    } else if unreadable.is_empty() {
        Exit::Success
    } else {
        Exit::Usage
    })
}

fn describe_all(submissions: &[Submission], unreadable: &[Unreadable]) -> String {
    let mut page = Page::new(width());
    for submission in submissions {
        let name = submission.check.fitness.name();
        page.marked(0, &format!("{name}:"), &escape::line(&submission.folder));
        for item in submission.to_do() {
            page.paragraph(2, &escape::line(&item));
        }
    }
    for one in unreadable {
        page.marked(0, "cannot be read:", &escape::line(&one.folder));
        page.paragraph(2, &escape::line(&one.reason));
    }
    page.into_text()
}
