//! `report verify`: judge the evidence of a report, or of every report in a folder, again.

use std::path::{Path, PathBuf};

use clap::Args;
use evidence::Limits;
use report::{
    escape,
    page::Page,
    submitted::{Check, ConformanceReport, Fitness, Proof},
};

use super::folder::{Folders, read, read_all, read_evidence};
use crate::command::{Exit, Failure, InputFlags, print, width};

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
    /// Verify every `report.yaml` below this folder against the evidence next to it
    #[arg(long, conflicts_with_all = ["report", "evidence"])]
    dir: Option<PathBuf>,
    #[command(flatten)]
    input: InputFlags,
}

const SHOWN: usize = 40;

impl Verify {
    pub fn execute(self) -> Result<Exit, Failure> {
        let limits = self.input.limits_of_submitted();
        if let Some(dir) = &self.dir {
            return verify_all(dir, &limits);
        }
        // Without --dir, the command line requires it.
        let report = self.report.unwrap_or_default();
        let document = read(&report, &limits)?;
        let evidence = self.evidence.unwrap_or_default();
        let mut proof = Proof::Held(Box::new(read_evidence(&evidence, &limits)?));
        let check = Check::of(&document, None, &mut proof, |_| {});
        let mut page = Page::new(width());
        describe(&mut page, "this report", &document, &check);
        print(&page.into_text())?;
        Ok(match check.fitness {
            Fitness::Holds => Exit::Success,
            _ => Exit::NotConformant,
        })
    }
}

fn describe(page: &mut Page, name: &str, document: &ConformanceReport, check: &Check) {
    let decided = format!("{} for edition {}", document.decision, document.edition);
    let differences = &check.differences;
    let result = match check.fitness {
        Fitness::Holds => format!("the evidence reproduces {name}: {decided}"),
        Fitness::NotVerified => format!("{name}: {decided}"),
        Fitness::DoesNotHold if differences.is_empty() => format!("{name} contradicts itself: {decided}"),
        Fitness::DoesNotHold => format!(
            "the evidence does not reproduce {name}; {} of its parts differ",
            differences.len()
        ),
    };
    page.marked(0, &format!("{}:", check.fitness.name()), &escape::line(&result));
    for change in differences.iter().take(SHOWN) {
        page.paragraph(2, &escape::line(&change.at));
        page.field(4, "report", &escape::line(&change.old_text()));
        page.field(4, "evidence", &escape::line(&change.new_text()));
    }
    if differences.len() > SHOWN {
        page.paragraph(2, &format!("… and {} more", differences.len() - SHOWN));
    }
    for note in &check.notes {
        page.marked(0, "note:", &escape::line(note));
    }
    for obstacle in &check.obstacles {
        page.marked(0, "not submittable:", &escape::line(obstacle));
    }
    if check.obstacles.is_empty() {
        page.marked(0, "submittable:", "nothing missing");
    }
}

fn verify_all(root: &Path, limits: &Limits) -> Result<Exit, Failure> {
    let Folders { reports, unreadable } = read_all(root, limits)?;
    let all = reports.len() + unreadable.len();
    let (mut hold, mut forged) = (0, 0);
    let mut page = Page::new(width());
    for report in reports {
        let mut proof = report.proof(limits);
        let check = Check::of(&report.document, Some(&report.name), &mut proof, |_| {});
        match check.fitness {
            Fitness::Holds => hold += 1,
            Fitness::NotVerified => {}
            Fitness::DoesNotHold => forged += 1,
        }
        describe(&mut page, &report.name, &report.document, &check);
        page.gap();
    }
    for one in &unreadable {
        page.marked(0, "cannot be read:", &escape::line(&one.folder));
        page.marked(0, "not submittable:", &escape::line(&one.reason));
        page.gap();
    }
    let (unverified, unreadable) = (all - hold - forged - unreadable.len(), unreadable.len());
    let counts = format!("{hold} of {all} reports hold, {forged} do not hold");
    page.paragraph(
        0,
        &format!("{counts}, {unverified} are not verified, {unreadable} cannot be read"),
    );
    print(&page.into_text())?;
    Ok(match (forged, unreadable) {
        (0, 0) => Exit::Success,
        (0, _) => Exit::Usage,
        _ => Exit::NotConformant,
    })
}
